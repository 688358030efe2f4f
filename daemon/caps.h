/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_CAPS_H
#define WEFT_CAPS_H

#include <stdbool.h>

/** Whether this process has a capability (linux/capability.h), in its user namespace. */
bool caps_have(unsigned int capability);

#endif
