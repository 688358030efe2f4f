/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_NIC_H
#define WEFT_NIC_H

#include <stdbool.h>
#include <stdint.h>

#include "abi.h"
#include "bind.h"
#include "ip_prefix.h"
#include "keytab.h"
#include "list.h"
#include "neigh.h"
#include "pause.h"
#include "pkt.h"
#include "prng.h"
#include "sched.h"
#include "slab.h"
#include "turns.h"
#include "wheel.h"
#include "wire.h"

struct batch;
struct peers;
struct qp;

/** Neighbours in use at a time. Each QP uses one at most. Source: our choice. */
#define NIC_MAX_NEIGHS 131072

/** Why a packet was dropped; each is a counter, none is logged. */
enum drop {
	DROP_ICRC,
	DROP_NOT_ROCE, /**< whole, but neither RoCE, ARP, ND nor PFC that is obeyed */
	DROP_NO_QP,    /**< no such QPN */
	DROP_QP_TYPE,  /**< opcode of another transport */
	DROP_QP_STATE, /**< QP not ready to receive */
	DROP_ADDRESS,  /**< source is not the QP's peer, or destination not ours */
	DROP_PKEY,
	DROP_QKEY,
	DROP_NO_RECV, /**< UD, UC: no receive WQE */
	DROP_LENGTH,  /**< UD: longer than the receive buffer; UC: packet or message length wrong */
	DROP_GAP,     /**< beyond the expected PSN, or behind a refused SEND */
	DROP_STALE,   /**< old duplicate, or an answer to what was never sent */
	DROP_BUSY,    /**< response queue full */
	DROP_SEQUENCE, /**< UC: opcode out of order */
	DROP_MEMORY,   /**< UC, UD: key, access or memory fault */
	DROP_VLAN,     /**< to one of our addresses, in another VLAN than its */
	DROP_NO_NEIGH, /**< outgoing: next hop's MAC not known */
	DROP_LINK,     /**< outgoing: the link is down */
	DROP_MTU,      /**< outgoing: longer than the link's MTU, which has shrunk */
	DROP_FRAMING,  /**< of another framing than the QP's, or before it has one */
	DROP_PARTS,    /**< weft: not the optional parts that were agreed on */
	DROP_MESSAGE,  /**< weft: does not fit the message that it says it is of */
	DROP_NB,
};

/** Counters of one NIC; names as `rdma statistic` has them where it does. */
struct nic_stats {
	uint64_t rx_packets, rx_bytes, tx_packets, tx_bytes; /**< frames */
	uint64_t rx_write_requests, rx_read_requests, rx_atomic_requests;
	uint64_t out_of_sequence; /**< arrived beyond the expected PSN */
	uint64_t packet_seq_err;  /**< NAK sequence error received */
	uint64_t duplicate_request;
	uint64_t local_ack_timeout_err;
	uint64_t implied_nak_seq_err; /**< response or ACK beyond an unanswered READ or atomic */
	uint64_t rnr_nak_retry_err;   /**< RNR NAK received */
	uint64_t out_of_buffer;       /**< no receive WQE */
	uint64_t no_memory;           /**< the system had none: work waits, an answer is lost */
	uint64_t retransmits;         /**< packets sent again */
	uint64_t rx_trimmed;          /**< weft: packets that came cut to their headers */
	uint64_t np_cnp_sent, rp_cnp_handled, np_ecn_marked_roce_packets;
	/* QPs that failed, by what the peer or we found */
	uint64_t req_remote_invalid_request, req_remote_access_errors;
	uint64_t resp_local_length_error, resp_remote_access_errors;
	uint64_t req_cqe_error, req_cqe_flush_error, resp_cqe_error, resp_cqe_flush_error;
	struct pause_stats pfc;    /**< priority pauses received */
	uint64_t bad[WIRE_BAD_NB]; /**< by enum wire_bad */
	uint64_t drop[DROP_NB];
};

extern const struct stat_desc nic_stat_descs[];

/** Engines with counters that the QPs of one NIC may run, at most. Source: our choice. */
#define NIC_ENGINES_MAX 32
/** Counters of one engine at most. */
#define NIC_ENGINE_STATS_MAX 32

/** Of each such engine the sums of its counters, in the order of their names. */
struct nic_engine_sums {
	uint64_t engine[NIC_ENGINES_MAX][NIC_ENGINE_STATS_MAX];
};

/** What the driver does for a NIC, on its thread and never blocking. */
struct nic_driver {
	/** An armed CQ got an entry. */
	void (*notify)(void *owner, uint32_t channel, uint64_t cookie);
	/** Something happened to an object: type is an enum shm_event_type. */
	void (*event)(void *owner, uint32_t type, uint64_t cookie);
	/** Something happened to the port or GIDs of the NIC with this conf.owner. Optional. */
	void (*port_event)(void *owner, uint32_t type);
	/** Numbers that nobody can guess, for keys and QPNs. NULL: from conf.seed (laboratory). */
	uint64_t (*random)(void);
};

/** What a NIC on an interface of the kernel has in common with it, and takes from it. */
struct nic_iface {
	bool is_up; /**< frames pass */
	uint8_t mac[6];
	uint32_t ip_mtu_bytes;
	const struct gid *gids; /**< the first is the link-local one */
	uint32_t nb_gids;
};

/** What QPs run whose peer has one of these addresses. */
struct nic_bind {
	struct ip_prefix peers;
	enum framing_wish framing;
	/** Of RC in the framing wished; cc and lb also of UC, if they are plain. */
	struct engine_set set;
	struct engine_set_params params;
};

/** How a NIC begins. Pointers, but that of ips, must live as long as it does. */
struct nic_conf {
	const char *name;
	uint8_t mac[6];            /**< this and the next four are an iface's if there is one */
	const struct ip_addr *ips; /**< become GIDs 1, 2, ... */
	uint32_t nb_ips;
	uint16_t vlan;         /**< VLAN ID of all of them; 0 = untagged */
	uint32_t ip_mtu_bytes; /**< of the link; decides active_mtu */
	int traffic_class;     /**< overrides the applications' ToS; -1 = theirs */
	uint8_t ttl;           /**< 0 = the QP's hop limit */
	uint64_t line_rate_bps;
	bool obeys_pfc;           /**< pauses of classes by the other end of the link */
	uint64_t pfc_watchdog_ns; /**< pause.h; 0 = none */
	uint64_t base_rtt_ns;
	uint32_t window_pkts; /**< most PSNs a QP has outstanding */
	/** Payload is counted and not there, nor is an ICRC: pkt.absent. Laboratory; peers too. */
	bool payload_absent;
	uint64_t seed;
	/** Laboratory: no HELLO and no OPEN; who connects two QPs calls open_pair. */
	bool opens_pairs;
	/** Laboratory: MSNs and SSNs of weft begin here, at both ends; 24 bits. 0 = as others do.
	 */
	uint32_t first_msn;
	struct nic_bind bind;         /**< of peers that none of the following holds, and of UD */
	const struct nic_bind *peers; /**< the longest prefix wins */
	uint32_t nb_peers;
	/** Where a QP is plain and what bind or peers name is not: engine_set_plain. */
	struct engine_set plain;
	struct engine_set_params plain_params;
	const struct reliability_ops *rel_dgram; /**< of UC and UD: "none", without parameters */
	const struct nic_driver *driver;
	/** As it is now, copied; nic_follow brings changes. NULL = the NIC has none. */
	const struct nic_iface *iface;
	void *owner;                           /**< for driver->port_event; set before it runs */
	const struct neigh_resolver *resolver; /**< NULL = ARP and ND of our own */
	struct pkt_pool *pool;
};

/**
 * Whoever shares a NIC with others, an application as a rule. Whatever a NIC does in turns, it does
 * by client, then by QP: to have more QPs gives nobody a larger share.
 */
struct nic_client {
	struct sched_group sched;
	struct turn_group resp[PAUSE_CLASSES], cnp, done;
};

void nic_client_init(struct nic_client *client);

/** One host stack: everything between an application's rings and a port. One thread's. */
struct nic {
	struct nic_conf conf;
	struct gid_table gids;
	uint32_t ip_mtu_bytes; /**< of the link, now */
	bool is_up;            /**< the link: both of the following */
	bool port_is_up, iface_is_up;
	uint64_t link_ns;        /**< since when it is so */
	uint32_t overhead_bytes; /**< path_mtu_overhead, the most of all that its QPs may run */
	uint8_t active_mtu;      /**< code, 1 = 256 to 5 = 4096 bytes */
	struct keytab qps;       /**< QPN -> struct qp */
	struct keytab keys;      /**< key >> 8 -> struct mr */
	uint64_t mr_generation;  /**< counts changes that take rights from a key; from 1 on */
	struct sched sched;
	struct wheel wheel;
	struct neigh_table *neigh;
	struct peers *peers; /**< NULL: no bind wishes for weft */
	struct neigh_self self;
	struct cc_nic cc_nic;
	struct prng prng;
	struct nic_client own_client; /**< of QPs for which no other is named */
	struct pause pause;           /**< classes that the other end of the link has paused */
	/** QPs with acknowledgements to send, which no pace holds back; by class. */
	struct turns resp_qps[PAUSE_CLASSES];
	uint8_t resp_mask;        /**< bit per class: has such QPs */
	uint8_t resp_cls;         /**< whose turn was the last */
	struct turns cnp_qps;     /**< QPs with a CNP to send */
	struct turns done_qps;    /**< QPs whose sends may be complete once payload is taken */
	struct pkt_queue bounces; /**< header-only frames that go back, whole */
	struct pkt_queue loop;    /**< frames to the own MAC: received at the next turn */
	struct batch *batch;      /**< packets, copies and completions of the present burst */
	struct nic_stats stats;
	char refusal[248];     /**< of the last change of a QP that was refused: cause and remedy */
	uint64_t now_ns;       /**< of the present turn */
	struct slab_set slabs; /**< what QPs lease, and they themselves */
	uint64_t trim_ns;      /**< when to look for unused memory */
	uint8_t fifo_slab;     /**< of queues of responses */
	uint8_t weft_rx_slab;  /**< of the peers' streams of weft QPs */
	/** Counters of engines that QPs may run. Engines with the same table are counted as one. */
	const struct stat_desc *engine_stats[NIC_ENGINES_MAX];
	uint32_t nb_engine_stats;
	struct nic_engine_sums ended_stats; /**< of QPs that are gone */
};

static inline void
nic_count_tx(struct nic *nic, const struct pkt *p)
{
	nic->stats.tx_packets++;
	nic->stats.tx_bytes += p->len;
}

/** @return NULL and errno: ENOMEM, or EINVAL if of the conf something is one too many. */
struct nic *nic_create(const struct nic_conf *conf, uint64_t now_ns);

/** All QPs and registrations must be gone. */
void nic_destroy(struct nic *nic);

/**
 * The interface has changed: take what is new, and tell applications. QPs in use on an address
 * that is gone fail; all keep their path MTU, and the timers of those that can't send go on.
 * Between two bursts, on the NIC's thread.
 */
struct gid_changes nic_follow(struct nic *nic, const struct nic_iface *iface, uint64_t now_ns);

/** The port says that frames pass, or no longer; what is sent meanwhile is dropped. */
void nic_set_link(struct nic *nic, bool is_up);

/** Code of the largest path MTU whose packets, of all that the NIC may run, fit a link of this MTU.
 */
uint8_t nic_mtu_code(const struct nic *nic, uint32_t ip_mtu_bytes);

/**
 * The congestion control whose QPs share a state, cc_nic.shared: one of a NIC's at most.
 *
 * @param[out] shared  NULL = none does.
 * @return             false: more than one does, and nic_create says EINVAL.
 */
bool nic_find_shared_cc(const struct nic_conf *conf, const struct cc_ops **shared);

/** The bind that holds a peer: that of peers with the longest prefix, else the NIC's own. */
const struct nic_bind *nic_bind_of(const struct nic *nic, const struct ip_addr *peer);

/** Fill in nic.engine_stats from its conf; false if some engine or counter is one too many. */
bool nic_find_engine_stats(struct nic *nic);
/** Sums over all QPs, also those that are gone; by the index in nic.engine_stats. */
void nic_engine_stats(const struct nic *nic, struct nic_engine_sums *sums);
/** Add those of one QP. */
void nic_add_engine_stats(const struct qp *qp, struct nic_engine_sums *sums);

/** Bytes of a path MTU code, 1 to 5. */
static inline uint32_t
mtu_bytes(uint8_t code)
{
	return 128u << code;
}

/** A number for a key or a QPN. */
static inline uint64_t
nic_random(struct nic *nic)
{
	return nic->conf.driver->random ? nic->conf.driver->random() : prng_next(&nic->prng);
}

/** Count one dropped packet. */
static inline void
nic_drop(struct nic *nic, enum drop why)
{
	nic->stats.drop[why]++;
}

#endif
