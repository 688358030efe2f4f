/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TESTS_BAD_GBN_H
#define WEFT_TESTS_BAD_GBN_H

#include "reliability.h"

/*
 * gbn with one mistake in it, as a new engine might have, for tests of those who look on. Its name
 * is "bad".
 */

enum bad_gbn {
	BAD_NOTHING,
	BAD_WRAP,      /* takes the PSN behind 0xffffff for 1: believes that 0 has come with it */
	BAD_ACK,       /* acknowledges one packet more than it has */
	BAD_SWALLOW,   /* accepts the fourth packet, and its payload is not placed */
	BAD_UNORDERED, /* accepts what comes behind a gap as if there were none */
	BAD_WINDOW,    /* keeps one packet more on the way than it may */
	BAD_SKIP,      /* leaves one packet out */
	BAD_MUTE,      /* has nothing more to say when all before the wrap is acknowledged */
	BAD_CRASH,     /* does not survive the wrap */
};

/** The mistake; the same for all QPs. */
extern enum bad_gbn bad_gbn;
extern const struct reliability_ops bad_gbn_ops;

#endif
