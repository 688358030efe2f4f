/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_SWITCH_H
#define WEFT_SWITCH_H

#include <stdbool.h>
#include <stdint.h>

#include "lb.h"
#include "param.h"
#include "pause.h"
#include "pkt.h"
#include "queue.h"
#include "routes.h"
#include "stat.h"

/**
 * @file
 * A switch with everything that RDMA transports ask of a fabric. Packets and times go in, packets
 * come out; it knows no clock and no device.
 *
 * The way of a frame: its headers are read; IP packets go by static prefixes, whose groups of
 * equal ports a load balancer chooses from; what no prefix covers goes to the port where its
 * destination MAC was last seen, and if that is not known, or a group, to all others on the flood
 * tree. The shared buffer admits it, trims it or drops it. It waits in the queue of its class at
 * the egress, is marked and written to as it leaves, and takes the time of the port's link.
 *
 * Sizes are those of frames without FCS, except where said. Sources: IEEE 802.1Q, clause 8
 * (forwarding; the reserved group addresses 01-80-c2-00-00-00 to -0f of table 8-1 and MAC control
 * are not forwarded) and 36 (PFC), and as named beside each part.
 */

struct fabric_switch;

/** What tells a frame's class, the PFC priority and the number of its queue. */
enum switch_trust {
	TRUST_DSCP, /**< the DSCP of IP packets; 0 for others */
	TRUST_PCP,  /**< the priority of the VLAN tag; 0 for frames without one */
};

/** Of the whole switch; see switch_param_descs. */
struct switch_params {
	uint32_t macs_max;        /**< addresses it remembers */
	uint64_t mac_age_ns;      /**< for so long after their last frame */
	uint64_t buffer_bytes;    /**< the shared buffer */
	uint32_t buffer_pkts;     /**< most frames held, of any size; shared as the bytes are */
	uint64_t pfc_watchdog_ns; /**< a class paused for longer is freed; 0 = never */
	double alpha_tbo;         /**< telemetry is flagged above this share of buffer_bytes */
	uint64_t seed;            /**< of all that is random, and of the hash of flows */
};

/** Of one queue of each port, 0 to 7, and of the class that uses it; see switch_queue_descs. */
struct switch_queue {
	double weight;          /**< share of what strict queues leave; 0 = strict */
	uint64_t reserve_bytes; /**< of the buffer for each port alone */
	double alpha;           /**< may hold so many times what is free of the shared buffer */
	uint64_t limit_bytes;   /**< and not more than this */
	uint64_t kmin_bytes, kmax_bytes; /**< ECN, mark.h; both 0 = no marks */
	double pmax;
};

/** Of one port; see switch_port_descs. */
struct switch_port_params {
	uint64_t rate_bps;       /**< of the link that it stands for; 0 = as fast as it goes */
	uint64_t delay_ns;       /**< of the link, one way */
	uint64_t catch_up_ns;    /**< what a late driver may send at once, in time of the link */
	uint32_t overhead_bytes; /**< what a frame takes of the link beyond its length */
	uint64_t headroom_bytes; /**< of each lossless class */
	uint32_t beta_dt;        /**< a class pauses at (free shared buffer) / this */
	bool floods;             /**< may be part of the flood tree: else only prefixes lead here */
};

extern const struct param_desc switch_param_descs[];
extern const struct param_desc switch_queue_descs[];
extern const struct param_desc switch_port_descs[];

/** Everything about one switch. */
struct switch_conf {
	uint16_t nb_ports; /**< 1 to 65534 */
	struct switch_params params;
	struct switch_queue queues[QUEUES_NB];
	const struct switch_port_params *ports; /**< nb_ports; copied */
	enum switch_trust trust;
	uint8_t class_of_dscp[64]; /**< 0 to 7 each */
	uint8_t class_of_pcp[8];
	uint8_t lossless;   /**< bit i: class i pauses its senders by PFC, and obeys */
	uint8_t trim_queue; /**< for header-only packets; QUEUE_NONE = no trimming */
	bool has_int;       /**< write telemetry; each rate_bps is one of int.h */
	/**
	 * The driver takes the time of links, frame by frame: what switch_send gives leaves now.
	 * Rates are then what telemetry and pauses go by, and no more.
	 */
	bool driver_has_links;
	uint8_t mac[6];          /**< source of pause frames */
	uint16_t id;             /**< for path ids of telemetry and dice: any, best unique */
	const struct lb_ops *lb; /**< where = LB_SWITCH */
	const void *lb_params;   /**< switch_create reads them, and nobody later */
};

/** Everything at its default, one class for each queue, no feature on; ports is NULL. */
void switch_conf_default(struct switch_conf *conf);

/** What a mistake is of. */
enum switch_part {
	SWITCH_WHOLE,
	SWITCH_QUEUE,
	SWITCH_PORT, /**< the first of them; others may be alike */
};

/** Something in a conf that does not fit. */
struct switch_mistake {
	enum switch_part part;
	uint16_t index;  /**< of the queue or port */
	const char *key; /**< as the tables name it, or "trim_queue" */
	char why[192];   /**< one line that names neither queue nor port */
};

/** Most mistakes of one conf: each queue has one, and each of the other rules. */
#define SWITCH_MISTAKES_MAX (QUEUES_NB + 4)

/**
 * Whether a conf fits together.
 *
 * @param[out] mistakes  all of them.
 * @return               how many; 0 if it does.
 */
uint32_t switch_conf_check(const struct switch_conf *conf,
                           struct switch_mistake mistakes[SWITCH_MISTAKES_MAX]);

/** What a conf promises to queues and classes of all ports; the rest of the buffer is shared. */
uint64_t switch_reserved_bytes(const struct switch_conf *conf);

/** Counters of one queue of a port, or of the class that has its number. */
struct switch_queue_stats {
	uint64_t packets, bytes; /**< sent */
	uint64_t bytes_max;      /**< high-water mark */
	uint64_t full;           /**< dropped: no room in queue or buffer */
	uint64_t headroom;       /**< of the port as ingress: lossless, and its headroom was full */
	uint64_t marked;         /**< got CE */
	uint64_t trimmed;        /**< cut to header-only instead of a drop */
	uint64_t reserved;       /* one line of the cache for what a frame counts */
};

/** Counters of one port. */
struct switch_port_stats {
	uint64_t rx_packets, rx_bytes;
	uint64_t tx_packets, tx_bytes;
	uint64_t rx_flooded;   /**< destination unknown or a group: to all others of the tree */
	uint64_t rx_copies;    /**< outcomes of flooded frames beyond one each */
	uint64_t rx_filtered;  /**< nowhere else to go than where it came from */
	uint64_t rx_control;   /**< for the switch itself, or link-local: not forwarded */
	uint64_t rx_bad;       /**< too short for an Ethernet header */
	uint64_t rx_off_tree;  /**< to be flooded or looked up, but came in beside the flood tree */
	uint64_t tx_no_buffer; /**< flooded frames dropped because the pool was empty */
	uint64_t tx_full_pkts; /**< dropped because the switch held buffer_pkts frames */
	uint64_t tx_link_down; /**< dropped because the link is down, or went down */
	uint64_t tx_late_ns;   /**< of the link's time, lost because nobody asked in time */
	uint64_t int_written, int_full, int_lies; /**< what became of telemetry: int.h */
	uint64_t int_tbo;                         /**< flagged, because the buffer was full */
	uint64_t tx_pause_frames;                 /**< PFC frames sent */
	/* by queue, or class */
	_Alignas(64) struct switch_queue_stats q[QUEUES_NB];
	uint64_t tx_pause[QUEUES_NB];  /**< times that this class was told to pause */
	uint64_t tx_resume[QUEUES_NB]; /**< and to go on */
	struct pause_stats rx_pause;   /**< what the peer asked for */
};

extern const struct stat_desc switch_port_stat_descs[];

/** How full the queues of one port are now. */
struct switch_port_levels {
	uint64_t q_bytes[QUEUES_NB];
};

extern const struct stat_desc switch_port_level_descs[];

/** What the whole switch counts. */
struct switch_stats {
	uint64_t buffer_used_bytes;     /**< now */
	uint64_t buffer_used_bytes_max; /**< high-water mark */
};

extern const struct stat_desc switch_stat_descs[];

/**
 * @param conf  copied; fits together.
 * @param pool  for copies of flooded frames and for pause frames; must live as long as the switch.
 * @return      NULL without memory.
 */
struct fabric_switch *switch_create(const struct switch_conf *conf, struct pkt_pool *pool);

/** Frees the frames that are still held. NULL does nothing. */
void switch_destroy(struct fabric_switch *sw);

/**
 * A link without a rate counts as one of this, for pauses; and they are told in time for a peer
 * that counts in times of this one. Our choice: a NIC's default.
 */
#define SWITCH_PAUSE_RATE_BPS UINT64_C(100000000000)

/** Most static prefixes of one switch. Our choice: a fat tree's hosts. */
#define SWITCH_ROUTES_MAX 4096

/** The static prefixes of a switch: to be filled, also while it runs, on its thread. */
struct routes *switch_routes(struct fabric_switch *sw);

/**
 * Whether a port is part of the flood tree; at first all are that may be, and one whose params say
 * no never is. A change makes the switch forget all addresses.
 */
void switch_set_flood(struct fabric_switch *sw, uint16_t port, bool floods);
bool switch_floods(const struct fabric_switch *sw, uint16_t port);

/** A link went down or came up; at first all are up. What waits for it is dropped. */
void switch_set_link(struct fabric_switch *sw, uint16_t port, bool is_up, uint64_t now_ns);

/** n frames came in on a port, and are the switch's now. */
void switch_receive(struct fabric_switch *sw, uint16_t in_port, struct pkt **pkts, uint32_t n,
                    uint64_t now_ns);

/** Take up to max frames that go out on a port, in order; they are the caller's then. */
uint32_t switch_send(struct fabric_switch *sw, uint16_t port, struct pkt **pkts, uint32_t max,
                     uint64_t now_ns);

/**
 * Ports that may have something to send, 64 from 64 x word on: bit i is port 64 x word + i. Others
 * have nothing before something is received, or a deadline of switch_next_ns has come.
 */
uint64_t switch_ready(const struct fabric_switch *sw, uint16_t word);

/** Deadlines that have come: of load balancers. */
void switch_tick(struct fabric_switch *sw, uint64_t now_ns);

/** When it has something to send or to do: 0 = at once, NEVER_NS = not at all. */
uint64_t switch_next_ns(const struct fabric_switch *sw);

uint16_t switch_nb_ports(const struct fabric_switch *sw);

/* What it counts: on its thread; of each port by switch_port_stat_descs and so on. */

/** The switch's own, and as old as it: they only grow. */
const struct switch_port_stats *switch_port_stats(const struct fabric_switch *sw, uint16_t port);
void switch_port_levels(const struct fabric_switch *sw, uint16_t port,
                        struct switch_port_levels *levels);
/** Classes of a port that its peer has paused, as far as was looked. */
uint32_t switch_nb_paused(const struct fabric_switch *sw, uint16_t port);
/** Frames that it holds. */
uint32_t switch_nb_held(const struct fabric_switch *sw);
void switch_stats(const struct fabric_switch *sw, struct switch_stats *stats);

/** What must always be so: sums of the buffer agree. For tests; aborts if not. */
void switch_check(const struct fabric_switch *sw);

#endif
