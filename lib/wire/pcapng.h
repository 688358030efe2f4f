/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PCAPNG_H
#define WEFT_PCAPNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * @file
 * Blocks of a capture file: what Wireshark and tcpdump read, with the direction of each packet and
 * the name of its interface. Times are nanoseconds since 1970, or of a laboratory since its begin.
 * Numbers have this machine's byte order, as the format allows. Source: draft-ietf-opsawg-pcapng.
 *
 * DPDK's rte_pcapng (22.11) writes the same, but knows interfaces of ethdev only: it has no call to
 * add another, and takes names and addresses from rte_eth_dev_info_get. Rings and links are none.
 *
 * Each function writes a whole block and returns its length; the buffer has room for what is said.
 */

/** Of a section header, or of an interface whose name has up to 64 bytes. */
#define PCAPNG_BLOCK_MAX 256
/** What a packet's block has beside its bytes and up to 3 of padding. */
#define PCAPNG_PACKET_EXTRA 44

/** The begin of a file. */
size_t pcapng_section(uint8_t *buf, const char *application);

/** An Ethernet interface; they are numbered from 0 on. @param snaplen  0 = packets are whole. */
size_t pcapng_interface(uint8_t *buf, const char *name, uint32_t snaplen);

/** A packet. @param len  on the wire; cap_len of these bytes are there. */
size_t pcapng_packet(uint8_t *buf, uint32_t interface, bool is_out, uint64_t time_ns,
                     const uint8_t *data, uint32_t cap_len, uint32_t len);

/** The end: what an interface saw, and what of it is not in the file. */
size_t pcapng_stats(uint8_t *buf, uint32_t interface, uint64_t time_ns, uint64_t nb_seen,
                    uint64_t nb_dropped);

#endif
