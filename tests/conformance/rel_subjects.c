/* SPDX-License-Identifier: BSD-3-Clause */
#include "rel_subjects.h"

#include <assert.h>
#include <stdio.h>

#include "bind.h"
#include "sr.h"

#define SUBJECTS_MAX 64

extern const struct reliability_ops gbn_ops;

/* gbn under a second name: nothing may depend on the first. */
static struct reliability_ops gbn_two;

static struct rel_subject subjects[SUBJECTS_MAX + 1];
static char names[SUBJECTS_MAX][48];
static uint32_t nb_subjects;

static void
add(const struct reliability_ops *ops, enum framing framing)
{
	assert(nb_subjects < SUBJECTS_MAX);
	snprintf(names[nb_subjects], sizeof(names[0]), "%s over %s", ops->info.name,
	         framing_name(framing));
	subjects[nb_subjects] = (struct rel_subject){names[nb_subjects], ops, framing};
	nb_subjects++;
}

/* What UC and UD run on repeats nothing. */
static bool
is_reliable(const struct reliability_ops *ops)
{
	return strcmp(ops->info.name, "none") != 0;
}

const struct rel_subject *
rel_subjects(void)
{
	if (nb_subjects)
		return subjects;
	for (const struct reliability_ops *const *e = reliability_engines; *e; e++) {
		if (!is_reliable(*e))
			continue;
		if (!((*e)->info.needs & TRAIT_WEFT))
			add(*e, FRAMING_ROCEV2);
		add(*e, FRAMING_WEFT);
	}
	gbn_two = gbn_ops;
	gbn_two.info.name = "gbn-two";
	add(&gbn_two, FRAMING_WEFT);
	add(&sr_ops, FRAMING_WEFT);
	add(&sr_all_ops, FRAMING_WEFT);
	return subjects;
}
