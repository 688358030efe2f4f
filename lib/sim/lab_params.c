/* SPDX-License-Identifier: BSD-3-Clause */
#include "lab.h"
#include "pause.h"

/* What a scenario can say of all hosts. */

#define ROW(name, type, member, def, min, max, unit, source)                                       \
	{                                                                                          \
		name, type, offsetof(struct lab_host_params, member), def, min, max, unit, source  \
	}

const struct param_desc lab_host_param_descs[] = {
	ROW("mtu", PARAM_U32, ip_mtu_bytes, 4200, 576, 9216, "B",
            "our choice: a path MTU of 4096 and its headers"),
	ROW("path_mtu", PARAM_U32, path_mtu_bytes, 1024, 256, 4096, "B",
            "our choice: that of the papers' simulators"),
	/* 100 Gb/s x 12 us, the papers' fabric, are 137 packets of 1 KB. */
	ROW("window", PARAM_U32, window_pkts, 256, 1, 1 << 22, "pkt",
            "our choice: nearly two round trips at 100 Gb/s"),
	ROW("base_rtt", PARAM_U64, base_rtt_ns, 0, 0, 1e9, "ns", "0: of the longest path"),
	ROW("traffic_class", PARAM_U32, traffic_class, 0, 0, 255, "1", "RFC 2474"),
	ROW("timeout", PARAM_U32, timeout, 14, 0, 31, "1", "perftest: 14, 67 ms"),
	ROW("retry_cnt", PARAM_U32, retry_cnt, 7, 0, 7, "1", "perftest: 7"),
	ROW("rnr_retry", PARAM_U32, rnr_retry, 7, 0, 7, "1", "IBA vol. 1, ch. 9: 7 is for ever"),
	ROW("min_rnr_timer", PARAM_U32, min_rnr_timer, 1, 0, 31, "1",
            "IBA vol. 1, table 45: 10 us"),
	ROW("depth", PARAM_U32, depth, 128, 1, 16384, "1", "perftest: 128"),
	ROW("rd_atomic", PARAM_U32, rd_atomic, 16, 1, 16, "1", "ConnectX: 16"),
	ROW("obeys_pfc", PARAM_YES_NO, obeys_pfc, 1, 0, 1, "1", "IEEE 802.1Q: 36"),
	ROW("pfc_watchdog", PARAM_U64, pfc_watchdog_ns, PAUSE_WATCHDOG_NS, 0, 10e9, "ns",
            "our choice"),
	{NULL},
};
