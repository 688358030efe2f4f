/* SPDX-License-Identifier: BSD-3-Clause */
#include "rel_subjects.h"

#include "bind.h"
#include "sr.h"

extern const struct reliability_ops gbn_ops;

/* gbn under a second name: nothing may depend on the first. */
static struct reliability_ops gbn_two;

static const struct rel_subject subjects[] = {
	{"gbn over rocev2", &gbn_ops, FRAMING_ROCEV2},   {"gbn over weft", &gbn_ops, FRAMING_WEFT},
	{"gbn-two over weft", &gbn_two, FRAMING_WEFT},   {"sr over weft", &sr_ops, FRAMING_WEFT},
	{"sr-all over weft", &sr_all_ops, FRAMING_WEFT}, {NULL, NULL, FRAMING_ROCEV2},
};

const struct rel_subject *
rel_subjects(void)
{
	gbn_two = gbn_ops;
	gbn_two.info.name = "gbn-two";
	return subjects;
}
