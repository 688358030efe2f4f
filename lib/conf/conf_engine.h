/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_CONF_ENGINE_H
#define WEFT_CONF_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "bind.h"

/**
 * @file
 * The engines of this build with their parameters, as conf files set them.
 */

enum conf_engine_kind {
	CONF_ENGINE_REL,
	CONF_ENGINE_CC,
	CONF_ENGINE_HOST_LB,
	CONF_ENGINE_SWITCH_LB,
};

/** Parameters of one engine: those of its section, else its defaults. */
struct conf_engine {
	enum conf_engine_kind kind;
	const struct engine_info *info;
	void *params;  /**< info->params_size bytes; NULL if it has none */
	uint32_t line; /**< of its section, 0 = none */
};

/**
 * All engines of this build at their defaults.
 *
 * @param[out] engines, nb  conf_engines_free frees them, also after false.
 * @return                  false without memory.
 */
bool conf_engines_create(struct conf_engine **engines, uint32_t *nb);
void conf_engines_free(struct conf_engine *engines, uint32_t nb);

/** Parameters for one of them; NULL if it has none. */
const void *conf_engine_params(const struct conf_engine *engines, uint32_t nb,
                               const struct engine_info *info);

/** Those of three of them. */
struct engine_set_params conf_set_params(const struct conf_engine *engines, uint32_t nb,
                                         const struct engine_set *set);

/** What hosts run in plain RoCEv2 where what their conf names has no plain form: engine_set_plain.
 */
struct engine_set conf_plain_set(void);

/**
 * Whether a switch's load balancer sends packets of one flow by several ports at a time, so that
 * they overtake each other where there is a choice.
 *
 * @param params  its parameters.
 */
bool conf_lb_mixes(const struct lb_ops *lb, const void *params);

#endif
