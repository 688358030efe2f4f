/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any file may be called a conf file: none crashes the reader; it gives a conf that holds what it
 * promises, or at least one line that says what is wrong, each with file and line.
 *
 * Inputs are lines of the shipped files and words out of place, mutated.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf.h"
#include "fuzz.h"

static uint64_t nb_inputs, nb_good;

static void
check_fabric(const struct conf_switch *sw)
{
	uint64_t all = sw->nb_ports == 64 ? UINT64_MAX : (UINT64_C(1) << sw->nb_ports) - 1;
	struct switch_port_params ports[CONF_MAX_PORTS];
	struct switch_conf fabric = conf_switch_fabric(sw, ports);
	struct switch_mistake mistakes[SWITCH_MISTAKES_MAX];

	FUZZ_CHECK(switch_conf_check(&fabric, mistakes) == 0);
	FUZZ_CHECK(fabric.lb && fabric.lb->where == LB_SWITCH);
	for (int i = 0; i < QUEUES_NB; i++)
		FUZZ_CHECK(fabric.queues[i].weight >= 0 && isfinite(fabric.queues[i].weight));
	for (int i = 0; i < 64; i++)
		FUZZ_CHECK(fabric.class_of_dscp[i] < QUEUES_NB);
	for (uint32_t i = 0; i < sw->nb_routes; i++)
		FUZZ_CHECK(sw->routes[i].ports != 0 && (sw->routes[i].ports & ~all) == 0 &&
		           sw->routes[i].prefix.bits <= 128);
}

/* What the rest of the daemon relies on. */
static void
check_conf(const struct conf *conf)
{
	FUZZ_CHECK(conf->nb_nics + conf->nb_switches > 0);
	FUZZ_CHECK(conf->nb_nics <= CONF_MAX_NICS && conf->nb_switches <= CONF_MAX_SWITCHES);
	FUZZ_CHECK(conf->daemon.name[0] && !memchr(conf->daemon.name, '/', WEFT_NAME_LEN));
	FUZZ_CHECK(memchr(conf->daemon.name, '\0', WEFT_NAME_LEN));
	for (uint32_t i = 0; i < conf->nb_nics; i++) {
		const struct conf_nic *nic = &conf->nics[i];

		FUZZ_CHECK(nic->name[0] && !memchr(nic->name, '/', WEFT_NAME_LEN));
		FUZZ_CHECK(memchr(nic->name, '\0', WEFT_NAME_LEN));
		FUZZ_CHECK(nic->port.arg[0] && nic->nb_ips >= 1 && nic->nb_ips <= CONF_MAX_IPS);
		FUZZ_CHECK(nic->bind.set.rel && nic->bind.set.cc && nic->bind.set.lb);
		FUZZ_CHECK(nic->num.mtu >= 576 && nic->num.mtu <= 9216 && nic->num.rate_bps > 0);
		FUZZ_CHECK(!(nic->mac[0] & 1));
	}
	for (uint32_t i = 0; i < conf->nb_switches; i++) {
		const struct conf_switch *sw = &conf->switches[i];

		FUZZ_CHECK(sw->nb_ports >= 1 && sw->nb_ports <= CONF_MAX_PORTS);
		for (uint32_t p = 0; p < sw->nb_ports; p++) {
			const struct fault_params *fault = &sw->settings[p].fault;

			FUZZ_CHECK(fault->tx.reorder_pkts >= 1 &&
			           fault->tx.reorder_pkts <= FAULT_REORDER_MAX_PKTS &&
			           fault->tx.pattern.nb_bits <= 64);
			FUZZ_CHECK(sw->settings[p].has_fault == fault_any(fault));
		}
		check_fabric(sw);
	}
}

/* Whether one of the lines is more than a warning; each begins with the file's name. */
static bool
has_errors(const char *lines_out)
{
	bool found = false;

	for (const char *p = lines_out, *end; *p; p = end + 1) {
		const char *warning = strstr(p, ": warning: ");

		end = strchr(p, '\n');
		FUZZ_CHECK(strncmp(p, "fuzz:", 5) == 0 && end);
		found |= !warning || warning > end;
	}
	return found;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	size_t size;
	char *errors;
	FILE *in, *out = open_memstream(&errors, &size);
	struct conf *conf;

	nb_inputs++;
	in = len > 0 ? fmemopen((void *)data, len, "r") : fopen("/dev/null", "r");
	if (!in || !out)
		abort();
	conf = conf_read_stream(in, "fuzz", out);
	fclose(in);
	fclose(out);
	FUZZ_CHECK((conf == NULL) == has_errors(errors));
	if (conf) {
		nb_good++;
		check_conf(conf);
	}
	conf_free(conf);
	free(errors);
	return 0;
}

#ifndef FUZZ_LIBFUZZER
#define MAX_LINES 512
#define MAX_LEN 8192

static struct prng *prng;
static char *lines[MAX_LINES];
static uint32_t nb_lines;
/* Where each shipped file begins in lines. */
static uint32_t begins[5], nb_files;

static uint32_t
below(uint32_t n)
{
	return prng_below(prng, n);
}

static void
read_lines(const char *name)
{
	char path[512], *line = NULL;
	size_t room = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/conf/%s.conf", getenv("WEFT_SOURCE_ROOT"), name);
	f = fopen(path, "r");
	if (!f) {
		perror(path);
		exit(1);
	}
	/* Comments are most of these files, and the least interesting. */
	while (getline(&line, &room, f) > 0 && nb_lines < MAX_LINES) {
		if (line[0] != '#' && line[0] != '\n')
			lines[nb_lines++] = strdup(line);
	}
	free(line);
	fclose(f);
	begins[++nb_files] = nb_lines;
}

static size_t
add(char *buf, size_t len, const char *text)
{
	size_t n = strlen(text);

	if (len + n > MAX_LEN)
		return len;
	memcpy(buf + len, text, n);
	return len + n;
}

/* Shipped files or parts of them, some lines out of place; then a few bytes of it changed. */
static size_t
make(struct prng *rng, uint8_t *data)
{
	static const char odd[] = "[]=:#; \t\n\r\0%.,/0189GKaz_-\xff\xef";
	uint32_t start, nb, whole, nb_flips;
	char *buf = (char *)data;
	size_t len = 0;

	prng = rng;
	start = below(nb_lines);
	nb = 1 + below(40);
	whole = below(2 * nb_files);
	nb_flips = below(3) ? below(4) : below(60);

	if (whole < nb_files) {
		start = begins[whole];
		nb = begins[whole + 1] - start;
	}
	for (uint32_t i = 0; i < nb; i++)
		len = add(buf, len, lines[below(24) ? (start + i) % nb_lines : below(nb_lines)]);
	for (uint32_t i = 0; i < nb_flips && len > 0; i++) {
		uint32_t at = below((uint32_t)len);

		if (below(4) == 0) {
			memmove(buf + at, buf + at + 1, len - at - 1);
			len--;
		} else {
			buf[at] = odd[below(sizeof(odd))];
		}
	}
	return len;
}

int
main(int argc, char **argv)
{
	static const struct fuzz fuzz = {
		.name = "conf",
		.unit = "files",
		.max_len = MAX_LEN,
		.make = make,
		.nb_done = &nb_inputs,
	};
	int code;

	read_lines("loopback");
	read_lines("switch");
	read_lines("daemon");
	read_lines("topo/leaf-spine");
	code = fuzz_main(argc, argv, &fuzz);
	printf("%llu of them good\n", (unsigned long long)nb_good);
	for (uint32_t i = 0; i < nb_lines; i++)
		free(lines[i]);
	/* Mutants that nobody accepts would test nothing but the first check. */
	return code ? code : nb_good < nb_inputs / 1000;
}
#endif
