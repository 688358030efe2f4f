/* SPDX-License-Identifier: BSD-3-Clause */
#include "bind.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "nearest.h"

/** Who gives a trait. */
enum giver { GIVER_FRAMING, GIVER_FABRIC, GIVER_PARTNER };

static const struct {
	const char *name;
	enum giver giver;
} traits[] = {
	{"weft", GIVER_FRAMING},  {"ecn", GIVER_FABRIC},  {"int", GIVER_FABRIC},
	{"tbo", GIVER_FABRIC},    {"trim", GIVER_FABRIC}, {"flow_ecmp", GIVER_FABRIC},
	{"lanes", GIVER_PARTNER},
};
#define NB_TRAITS (sizeof(traits) / sizeof(traits[0]))
static_assert(TRAIT_LANES == 1u << (NB_TRAITS - 1), "one row per trait, in their order");

static const char *const wires[] = {
	"ect", "ce_echo", "int", "ts", "sack", "path", "trim", "count", "ack_each",
};
static_assert(WIRE_ACK_EACH == 1u << (sizeof(wires) / sizeof(wires[0]) - 1),
              "one name per wire bit, in their order");

/** All that the standard's packets can carry. */
#define WIRE_ROCEV2 WIRE_ECT

const char *
trait_name(enum engine_trait trait)
{
	return traits[__builtin_ctz(trait)].name;
}

const char *
framing_name(enum framing framing)
{
	static const char *const names[] = {
		[FRAMING_ROCEV2] = "rocev2",
		[FRAMING_WEFT] = "weft",
	};

	return names[framing];
}

static const char *const wishes[] = {
	[FRAMING_WISH_ROCEV2] = "rocev2",
	[FRAMING_WISH_WEFT] = "weft",
	[FRAMING_WISH_AUTO] = "auto",
};

const char *
framing_wish_name(enum framing_wish wish)
{
	return wishes[wish];
}

bool
framing_wish_find(const char *name, enum framing_wish *wish)
{
	for (size_t i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++) {
		if (strcmp(wishes[i], name) == 0) {
			*wish = (enum framing_wish)i;
			return true;
		}
	}
	return false;
}

int
traits_parse(const char *text, uint32_t *out, char *why, size_t size)
{
	static const char between[] = ", \t";

	*out = 0;
	for (text += strspn(text, between); *text; text += strspn(text, between)) {
		size_t len = strcspn(text, between);
		struct nearest near;
		char word[64];
		size_t i;

		snprintf(word, sizeof(word), "%.*s", (int)(len < sizeof(word) ? len : 63), text);
		near = nearest_of(word);
		for (i = 0; i < NB_TRAITS; i++) {
			if (traits[i].giver != GIVER_FABRIC)
				continue;
			if (!strcmp(traits[i].name, word))
				break;
			nearest_offer(&near, traits[i].name);
		}
		if (i == NB_TRAITS) {
			nearest_explain(&near, "fabric trait", why, size);
			return -EINVAL;
		}
		*out |= 1u << i;
		text += len;
	}
	return 0;
}

/** One engine against what the rest of the path offers. */
static int
check_engine(const char *kind, const struct engine_info *info, uint32_t offered,
             enum framing framing, const struct engine_set *set, char *why, size_t size)
{
	uint32_t missing = info->needs & ~offered;
	uint32_t unsent = framing == FRAMING_WEFT ? 0 : info->wire & ~(uint32_t)WIRE_ROCEV2;

	if (missing) {
		uint32_t trait = missing & -missing;
		const char *name = trait_name(trait);

		switch (traits[__builtin_ctz(trait)].giver) {
		case GIVER_FRAMING:
			snprintf(why, size, "%s %s needs framing %s, not %s", kind, info->name,
			         name, framing_name(framing));
			break;
		case GIVER_FABRIC:
			snprintf(why, size, "%s %s needs trait %s, which the fabric does not have",
			         kind, info->name, name);
			break;
		case GIVER_PARTNER:
			snprintf(why, size,
			         "%s %s needs trait %s, which none of reliability %s, cc %s and "
			         "lb %s offers",
			         kind, info->name, name, set->rel->info.name, set->cc->info.name,
			         set->lb->info.name);
			break;
		}
		return -EINVAL;
	}
	if (unsent) {
		snprintf(why, size, "%s %s wants %s in packets, which framing %s cannot carry",
		         kind, info->name, wires[__builtin_ctz(unsent)], framing_name(framing));
		return -EINVAL;
	}
	return 0;
}

int
engine_set_check(const struct engine_set *set, enum framing framing, uint32_t fabric, char *why,
                 size_t size)
{
	const struct {
		const char *kind;
		const struct engine_info *info;
	} rows[] = {
		{"reliability", &set->rel->info},
		{"cc", &set->cc->info},
		{"lb", &set->lb->info},
	};
	uint32_t offered = fabric & TRAITS_FABRIC;

	if (size)
		why[0] = '\0';
	if (set->lb->where != LB_HOST) {
		snprintf(why, size, "lb %s runs in switches, not in a host", set->lb->info.name);
		return -EINVAL;
	}
	if (framing == FRAMING_WEFT)
		offered |= TRAIT_WEFT;
	for (size_t i = 0; i < 3; i++)
		offered |= rows[i].info->offers;
	for (size_t i = 0; i < 3; i++) {
		int err =
			check_engine(rows[i].kind, rows[i].info, offered, framing, set, why, size);

		if (err)
			return err;
	}
	return 0;
}

bool
engine_is_plain(const struct engine_info *info)
{
	return !(info->needs & TRAIT_WEFT) && !(info->wire & ~(uint32_t)WIRE_ROCEV2);
}

struct engine_set
engine_set_plain(const struct engine_set *set, enum framing_wish wish,
                 const struct engine_set *stand_in)
{
	if (wish == FRAMING_WISH_ROCEV2)
		return *set;
	return (struct engine_set){
		.rel = stand_in->rel,
		.cc = engine_is_plain(&set->cc->info) ? set->cc : stand_in->cc,
		.lb = engine_is_plain(&set->lb->info) ? set->lb : stand_in->lb,
	};
}

/* Peers that speak RoCEv2 only shall have the same cc and lb. */
static int
check_fallback(const struct engine_set *set, const struct engine_set *stand_in, uint32_t fabric,
               char *why, size_t size)
{
	const struct engine_set plain = {stand_in->rel, set->cc, set->lb};
	char cause[200];

	if (engine_set_check(&plain, FRAMING_ROCEV2, fabric, cause, sizeof(cause)) == 0)
		return 0;
	snprintf(why, size,
	         "%s, and framing auto also serves peers that speak rocev2 only: say framing = "
	         "weft, or other engines here and these in a [peer PREFIX] with framing = weft",
	         cause);
	return -EINVAL;
}

int
engine_set_check_wish(const struct engine_set *set, enum framing_wish wish,
                      const struct engine_set *stand_in, uint32_t fabric, char *why, size_t size)
{
	int err = engine_set_check(set, wish == FRAMING_WISH_ROCEV2 ? FRAMING_ROCEV2 : FRAMING_WEFT,
	                           fabric, why, size);

	if (!err && wish == FRAMING_WISH_AUTO)
		err = check_fallback(set, stand_in, fabric, why, size);
	return err;
}

uint32_t
engine_set_wire(const struct engine_set *set)
{
	return set->rel->info.wire | set->cc->info.wire | set->lb->info.wire;
}

static size_t
next_state(size_t end)
{
	return (end + ENGINE_STATE_ALIGN - 1) / ENGINE_STATE_ALIGN * ENGINE_STATE_ALIGN;
}

void
engine_set_layout(const struct engine_set *set, const struct engine_set_params *params,
                  const struct engine_env *env, struct engine_layout *layout)
{
	layout->rel_offset = 0;
	layout->cc_offset = next_state(set->rel->state_size(params->rel, env));
	layout->lb_offset = next_state(layout->cc_offset + set->cc->state_size(params->cc, env));
	layout->size = next_state(layout->lb_offset + set->lb->state_size(params->lb, env));
}
