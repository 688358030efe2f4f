/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_BIND_H
#define WEFT_BIND_H

#include "cc.h"
#include "lb.h"
#include "reliability.h"

#include <stdbool.h>
#include <string.h>

/**
 * @file
 * From names of engines to a QP that runs them: find, check, lay out memory.
 *
 * Host code, at control time; engines do not see it.
 */

/** All engines of a kind, NULL at the end: reliability/engines.c, cc/engines.c, lb/engines.c. */
extern const struct reliability_ops *const reliability_engines[];
extern const struct cc_ops *const cc_engines[];
extern const struct lb_ops *const lb_engines[];

/** How packets look. */
enum framing {
	FRAMING_ROCEV2, /**< the standard, bit for bit */
	FRAMING_WEFT,   /**< ours: placement and message number in every packet */
};

/** What a conf says of the framing of RC connections with some peers. */
enum framing_wish {
	FRAMING_WISH_ROCEV2, /**< plain RoCEv2, whoever the peer is */
	FRAMING_WISH_WEFT,   /**< weft; a peer that does not speak it is refused */
	FRAMING_WISH_AUTO,   /**< weft with peers that speak it, plain RoCEv2 with others */
};
/** Of a NIC whose conf says nothing. Source: our choice. */
#define FRAMING_WISH_DEFAULT FRAMING_WISH_AUTO

/** What one QP runs. No member is NULL. */
struct engine_set {
	const struct reliability_ops *rel;
	const struct cc_ops *cc;
	const struct lb_ops *lb;
};

/** Their parameters, in the same order; NULL for an engine that has none. */
struct engine_set_params {
	const void *rel, *cc, *lb;
};

/** Where the three states lie in one block of memory. */
struct engine_layout {
	size_t rel_offset, cc_offset, lb_offset;
	size_t size; /**< of the block, a multiple of ENGINE_STATE_ALIGN */
};

/** The engine of this name, or NULL. */
static inline const struct reliability_ops *
reliability_find(const char *name)
{
	for (const struct reliability_ops *const *e = reliability_engines; *e; e++) {
		if (!strcmp((*e)->info.name, name))
			return *e;
	}
	return NULL;
}

/** The engine of this name, or NULL. */
static inline const struct cc_ops *
cc_find(const char *name)
{
	for (const struct cc_ops *const *e = cc_engines; *e; e++) {
		if (!strcmp((*e)->info.name, name))
			return *e;
	}
	return NULL;
}

/** The engine of this name at this place, or NULL: a host and a switch may each have a "spray". */
static inline const struct lb_ops *
lb_find(const char *name, enum lb_where where)
{
	for (const struct lb_ops *const *e = lb_engines; *e; e++) {
		if ((*e)->where == where && !strcmp((*e)->info.name, name))
			return *e;
	}
	return NULL;
}

/** Name of a trait as conf files and refusals have it: "flow_ecmp". */
const char *trait_name(enum engine_trait trait);

/** "rocev2" or "weft". */
const char *framing_name(enum framing framing);
/** "rocev2", "weft" or "auto". */
const char *framing_wish_name(enum framing_wish wish);
/** The wish of this name; false if there is none. */
bool framing_wish_find(const char *name, enum framing_wish *wish);

/**
 * Read what a fabric offers from a conf value.
 *
 * @param text         names with commas and blanks between: "ecn, int"; may be empty.
 * @param[out] traits  enum engine_trait, of the fabric only.
 * @param why, size    gets one line on error, with the nearest name.
 * @return             0 or -EINVAL.
 */
int traits_parse(const char *text, uint32_t *traits, char *why, size_t size);

/**
 * Whether three engines can work together, on this framing and fabric.
 *
 * @param fabric     enum engine_trait; TRAITS_FABRIC if nothing is known.
 * @param why, size  gets one line that names the engine and what is missing; "" if all is well.
 * @return           0 or -EINVAL.
 */
int engine_set_check(const struct engine_set *set, enum framing framing, uint32_t fabric, char *why,
                     size_t size);

/**
 * Whether plain RoCEv2 has all that an engine needs of a framing and wants in packets. What it
 * needs of a fabric and of partners is another question.
 */
bool engine_is_plain(const struct engine_info *info);

/**
 * What RC QPs run in plain RoCEv2 whose conf names these engines for a framing: the same if that is
 * the wish. Else the stand-in's reliability, with cc and lb where they are plain too; the
 * stand-in's cc and lb only if the wish is weft, where no RC QP is plain, but UC and UD are.
 */
struct engine_set engine_set_plain(const struct engine_set *set, enum framing_wish wish,
                                   const struct engine_set *stand_in);

/**
 * Whether three engines can work together in each framing that a conf's wish may lead to.
 *
 * @param stand_in   as for engine_set_plain.
 * @param why, size  as of engine_set_check; also what to do about a set that has no plain form.
 * @return           0 or -EINVAL.
 */
int engine_set_check_wish(const struct engine_set *set, enum framing_wish wish,
                          const struct engine_set *stand_in, uint32_t fabric, char *why,
                          size_t size);

/** What the three want in packets together: enum engine_wire. */
uint32_t engine_set_wire(const struct engine_set *set);

/** Ask the three for the sizes of their states and lay them out. */
void engine_set_layout(const struct engine_set *set, const struct engine_set_params *params,
                       const struct engine_env *env, struct engine_layout *layout);

#endif
