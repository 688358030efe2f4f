/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_EAL_H
#define WEFT_EAL_H

#include <stdbool.h>
#include <stdint.h>

/**
 * @file
 * DPDK's environment, as an ordinary user has it: no device and no hugepages unless asked for, no
 * thread bound to a core, no file left behind.
 */

#define EAL_DEVICES_MAX 32

struct eal_conf {
	const char *devices[EAL_DEVICES_MAX]; /**< PCI addresses that drivers may take */
	uint32_t nb_devices;
	uint32_t memory_mb; /**< that pools will need */
	bool hugepages;
	bool verbose; /**< let EAL say what it does */
	/**
	 * DPDK's telemetry: its socket is DIR/dpdk/NAME/dpdk_telemetry.v2. NAME is held by this
	 * process alone, so that what lies there is a dead one's. NULL = no telemetry.
	 */
	const char *telemetry_dir, *telemetry_name;
};

/** Once per process; threads that are started later may use pools. @return 0 or a negative errno.
 */
int eal_start(const struct eal_conf *conf);
void eal_stop(void);

/** For a thread that allocates packets: a cache of its own. @return 0 or a negative errno. */
int eal_thread_start(void);
void eal_thread_end(void);

#endif
