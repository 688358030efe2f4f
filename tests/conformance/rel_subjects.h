/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TEST_REL_SUBJECTS_H
#define WEFT_TEST_REL_SUBJECTS_H

#include "rel_world.h"

/**
 * The engines under test, each on each framing that it can have. A new one is a line in
 * rel_subjects.c.
 *
 * @return  ends with one without a name.
 */
const struct rel_subject *rel_subjects(void);

#endif
