/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LAB_PCAP_H
#define WEFT_LAB_PCAP_H

#include "lab.h"

/**
 * @file
 * A capture of all frames of one node, as pcapng (lib/wire/pcapng.h): an interface for each of its
 * ports, "h3/0"; times are those of the run, in nanoseconds since it began. Of frames whose payload
 * is absent the headers are there, and how long the whole was.
 */

struct pcap;

/** @return NULL if it can't be written, which is logged. */
struct pcap *pcap_open(const char *path, const struct plan *plan, uint32_t node);

/** For lab_set_tap; good until the close. */
const struct lab_tap *pcap_tap(const struct pcap *pcap);

/**
 * End the file, and free it. A write that failed was logged once; the file ends there then.
 *
 * @return 0 or -errno.
 */
int pcap_close(struct pcap *pcap);

#endif
