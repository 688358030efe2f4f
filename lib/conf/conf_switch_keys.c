/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "conf_reader.h"
#include "switch.h"

/* Keys of a switch that are not numbers, of any struct with a struct switch_conf in it. */

void
conf_read_trust(struct conf_reader *r, const struct conf_key *key, void *obj, const char *value)
{
	enum switch_trust *trust = (void *)((char *)obj + key->offset);

	if (strcmp(value, "dscp") == 0)
		*trust = TRUST_DSCP;
	else if (strcmp(value, "pcp") == 0)
		*trust = TRUST_PCP;
	else
		conf_error(r, r->line, "%s '%s': known are dscp and pcp", key->name, value);
}

void
conf_read_class_map(struct conf_reader *r, const struct conf_key *key, void *obj, const char *value)
{
	uint8_t *class_of = (uint8_t *)obj + key->offset;
	char text[CONF_LINE_MAX], *rest = NULL;

	snprintf(text, sizeof(text), "%s", value);
	for (char *word = strtok_r(text, CONF_BETWEEN, &rest); word;
	     word = strtok_r(NULL, CONF_BETWEEN, &rest)) {
		char *colon = strchr(word, ':');
		uint8_t code, class;

		if (colon)
			*colon = '\0';
		if (!colon || !conf_small(word, (uint32_t)key->arg, &code) ||
		    !conf_small(colon + 1, QUEUES_NB - 1, &class)) {
			conf_error(r, r->line, "%s '%s%s%s': pairs such as 3:5, up to %d:%d",
			           key->name, word, colon ? ":" : "", colon ? colon + 1 : "",
			           key->arg, QUEUES_NB - 1);
			return;
		}
		class_of[code] = class;
	}
}

void
conf_read_lossless(struct conf_reader *r, const struct conf_key *key, void *obj, const char *value)
{
	uint8_t *lossless = (uint8_t *)obj + key->offset;
	char text[CONF_LINE_MAX], *rest = NULL;

	snprintf(text, sizeof(text), "%s", value);
	for (char *word = strtok_r(text, CONF_BETWEEN, &rest); word;
	     word = strtok_r(NULL, CONF_BETWEEN, &rest)) {
		uint8_t class;

		if (!conf_small(word, QUEUES_NB - 1, &class)) {
			conf_error(r, r->line, "%s '%s': classes from 0 to %d", key->name, word,
			           QUEUES_NB - 1);
			return;
		}
		*lossless |= (uint8_t)(1u << class);
	}
}

void
conf_read_trim_queue(struct conf_reader *r, const struct conf_key *key, void *obj,
                     const char *value)
{
	uint8_t *queue = (uint8_t *)obj + key->offset;

	if (!conf_small(value, QUEUES_NB - 1, queue)) {
		conf_error(r, r->line, "%s '%s': a queue from 0 to %d", key->name, value,
		           QUEUES_NB - 1);
		*queue = QUEUE_NONE;
	}
}
