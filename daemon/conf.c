/* SPDX-License-Identifier: BSD-3-Clause */
#include "conf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conf_read.h"

const struct conf_section *const conf_sections[] = {
	&conf_daemon_section, &conf_nic_section,  &conf_peer_section,   &conf_switch_section,
	&conf_queue_section,  &conf_port_section, &conf_engine_section, NULL,
};

bool
conf_defaults(struct conf *conf)
{
	conf_daemon_defaults(&conf->daemon);
	return conf_engines_create(&conf->engines, &conf->nb_engines);
}

bool
conf_reader_init(struct conf_reader *r, struct conf *conf, const char *path, FILE *errors)
{
	if (!conf_defaults(conf))
		return false;
	*r = (struct conf_reader){
		.conf = conf,
		.path = path,
		.errors = errors,
		.sections = conf_sections,
		.engines = conf->engines,
		.nb_engines = conf->nb_engines,
	};
	return true;
}

struct conf *
conf_read_stream(FILE *stream, const char *path, FILE *errors)
{
	struct conf *conf = calloc(1, sizeof(*conf));
	struct conf_reader r;

	if (!conf || !conf_reader_init(&r, conf, path, errors)) {
		fprintf(errors, "%s: %s\n", path, strerror(ENOMEM));
		conf_free(conf);
		return NULL;
	}
	if (conf_read_sections(&r, stream))
		conf_check(&r);
	conf_reader_free(&r);
	if (r.nb_errors == 0)
		return conf;
	conf_free(conf);
	return NULL;
}

struct conf *
conf_read(const char *path, FILE *errors)
{
	FILE *stream = fopen(path, "r");
	struct conf *conf;

	if (!stream) {
		fprintf(errors, "weftd: %s: %s\n", path, strerror(errno));
		return NULL;
	}
	conf = conf_read_stream(stream, path, errors);
	fclose(stream);
	return conf;
}

void
conf_free(struct conf *conf)
{
	if (!conf)
		return;
	conf_engines_free(conf->engines, conf->nb_engines);
	free(conf);
}

const void *
conf_params(const struct conf *conf, const struct engine_info *info)
{
	return conf_engine_params(conf->engines, conf->nb_engines, info);
}
