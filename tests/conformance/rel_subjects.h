/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TEST_REL_SUBJECTS_H
#define WEFT_TEST_REL_SUBJECTS_H

#include "rel_world.h"

/**
 * The engines under test: each of reliability/engines.c that repeats what is lost, on each framing
 * that it can have, and some of the suite's own.
 *
 * @return  ends with one without a name.
 */
const struct rel_subject *rel_subjects(void);

#endif
