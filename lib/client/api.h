/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_API_H
#define WEFT_API_H

/* What the files behind weft.h share. */

#include "abi.h"
#include "weft.h"

/** Part of libweft.so's interface; its version is in libweft.map. */
#define API __attribute__((visibility("default")))

/** The public form of an address. */
void api_av(const struct weft_path *path, struct shm_av *av);

#endif
