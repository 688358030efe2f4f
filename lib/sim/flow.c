/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow.h"

const char *const flow_verb_names[FLOW_NB_VERBS] = {
	[FLOW_WRITE] = "WRITE",
	[FLOW_SEND] = "SEND",
	[FLOW_READ] = "READ",
};
