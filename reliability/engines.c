/* SPDX-License-Identifier: BSD-3-Clause */
/* The reliability engines. A new one is a file here and two lines below. */
#include "bind.h"

extern const struct reliability_ops gbn_ops;
extern const struct reliability_ops none_ops;

const struct reliability_ops *const reliability_engines[] = {
	&gbn_ops,
	&none_ops,
	NULL,
};
