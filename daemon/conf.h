/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_CONF_H
#define WEFT_CONF_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "abi_ctl.h"
#include "account.h"
#include "conf_engine.h"
#include "fault.h"
#include "ip_prefix.h"
#include "nic.h"
#include "switch.h"

/**
 * @file
 * A conf file as a struct: read, checked, also against what this machine has, defaults filled in.
 * Knows no DPDK and changes nothing, so that `weftd --check` tells what a start would.
 */

/** What CTL_LIST can name. */
#define CONF_MAX_NICS 32
#define CONF_MAX_SWITCHES 16
/** Of one switch. */
#define CONF_MAX_PORTS 64
#define CONF_MAX_PEERS 256
/** Ports on hardware. */
#define CONF_MAX_PCI 32
/** Addresses of one NIC: the GID table without the link-local entry. */
#define CONF_MAX_IPS (GID_TABLE_MAX - 1)

/** What a node is attached to. Names: port_kinds in conf_port.c; opened by ports.c. */
enum port_kind {
	PORT_RING,      /**< one of the two ends of a link between nodes of this process */
	PORT_LINK,      /**< the same between processes */
	PORT_AF_PACKET, /**< an interface of the kernel, shared with it, by a packet socket */
	PORT_AF_XDP,    /**< the same by XDP sockets */
	PORT_MEMIF,     /**< shared memory with another program of DPDK or VPP */
	PORT_PCI,       /**< a NIC of its own */
};

/** Bytes of the longest port: those of a path of a socket, and some. */
#define CONF_PORT_ARG_LEN 128

/** `port = KIND:ARG`. */
struct conf_port {
	enum port_kind kind;
	char arg[CONF_PORT_ARG_LEN];
	bool is_server; /**< of a memif: makes the socket */
	uint32_t line;  /**< 0 = not said */
};

/** What [nic] and [peer] have in common, and begin with: how a connection is served. */
struct conf_bind {
	enum framing_wish framing; /**< of a [peer] if has_framing */
	struct engine_set set;     /**< of a [peer] NULL where it says nothing */
	uint32_t fabric;           /**< enum engine_trait; a [nic] that says nothing has them all */
	bool has_framing, has_fabric;
	uint32_t line; /**< of the last of its keys, else of the section; for messages */
};

/** Keys of [nic] that are numbers. Table: nic_numbers in conf_nic.c. */
struct conf_nic_numbers {
	uint32_t mtu;           /**< of the link: bytes of an IP packet */
	uint32_t vlan;          /**< 0 = untagged */
	uint32_t traffic_class; /**< if has_traffic_class */
	uint64_t rate_bps;
	uint64_t base_rtt_ns;
	uint32_t window_pkts;
	uint64_t pfc_watchdog_ns; /**< 0 = none */
};

struct conf_nic {
	struct conf_bind bind;
	char name[WEFT_NAME_LEN]; /**< of the device */
	struct conf_port port;
	struct ip_addr ips[CONF_MAX_IPS];
	uint32_t nb_ips;
	uint8_t mac[6];
	bool has_traffic_class;
	bool pfc;          /**< obey it */
	bool on_interface; /**< of the kernel: mac, ips and mtu are as that had them */
	struct conf_nic_numbers num;
	struct fault_params fault;
	bool has_fault; /**< some fault can happen */
	/* where it is said, for messages; 0 = nowhere */
	uint32_t line, ip_line, mac_line;
	uint32_t ip_lines[CONF_MAX_IPS];
};

struct conf_peer {
	struct conf_bind bind;
	struct ip_prefix prefix;
	uint32_t line;
};

/** Keys of [switch] that are numbers, beside those of the switch itself. */
struct conf_switch_numbers {
	uint32_t mtu; /**< of its links: bytes of an IP packet */
};

/** Of one port of a switch, from its [port PORT]. Tables: conf_port_section.c. */
struct conf_port_settings {
	struct fault_params fault;
	struct switch_port_params link; /**< begins as the switch's port_default */
	bool has_fault;                 /**< some fault can happen */
	uint32_t line;                  /**< of the section; 0 = none */
};

/** Static prefixes of one switch. Our choice: a rack's hosts one by one, and some. */
#define CONF_MAX_ROUTES 1024

/** Prefixes of hosts behind ports, of all switches. Our choice. */
#define CONF_MAX_REMOTES 1024

/** `hosts = PREFIX, ...` of a port. */
struct conf_remote {
	struct ip_prefix prefix;
	uint32_t sw, port; /**< of conf.switches, of its ports */
	uint32_t line;
};

/** `route = PREFIX PORT...`. */
struct conf_route {
	struct ip_prefix prefix;
	uint32_t line;  /**< of the first of its lines */
	uint64_t ports; /**< bit p: port p of the switch */
};

struct conf_switch {
	char name[WEFT_NAME_LEN];
	struct conf_port ports[CONF_MAX_PORTS];
	struct conf_port_settings settings[CONF_MAX_PORTS]; /**< of ports[] */
	uint32_t nb_ports;
	bool has_ports;
	struct switch_conf fabric; /**< ports: conf_switch_fabric fills them in */
	struct switch_queue queue_default;
	struct switch_port_params port_default;
	uint32_t queue_lines[QUEUES_NB]; /**< of its [queue NAME/N]; 0 = none */
	struct conf_route routes[CONF_MAX_ROUTES];
	uint32_t nb_routes;
	struct conf_switch_numbers num;
	uint32_t line, lb_line, trim_line, lossless_line, int_line;
};

/** Keys of [daemon] that are numbers. */
struct conf_daemon_numbers {
	uint32_t packets;             /**< of the process's pool */
	uint64_t drain_ns;            /**< longest that a drain takes */
	struct account_limits limits; /**< memory 0 = half of the machine's */
	uint64_t client_doorbells;    /**< of one application per second; 0 = any */
};

struct conf_daemon {
	char name[WEFT_NAME_LEN]; /**< names the control socket */
	gid_t gid;                /**< who may connect, beside the own user; -1 = everybody */
	gid_t operators_gid;      /**< who may give orders, beside the own user; -1 = nobody */
	bool hugepages;
	bool userfaultfd; /**< lend it to applications */
	bool poll;        /**< never sleep */
	struct conf_daemon_numbers num;
	/* where it is said, for messages; 0 = nowhere */
	uint32_t name_line, hugepages_line, userfaultfd_line, packets_line;
};

/** [nic] traffic_class, in struct conf_nic_numbers. */
extern const struct param_desc conf_traffic_class[];

struct conf {
	struct conf_daemon daemon;
	uint32_t daemon_line; /**< 0 = no section */
	struct conf_nic nics[CONF_MAX_NICS];
	uint32_t nb_nics;
	struct conf_switch switches[CONF_MAX_SWITCHES];
	uint32_t nb_switches;
	struct conf_remote remotes[CONF_MAX_REMOTES];
	uint32_t nb_remotes;
	struct conf_peer peers[CONF_MAX_PEERS];
	uint32_t nb_peers;
	struct conf_engine *engines; /**< all that this build has */
	uint32_t nb_engines;
};

/**
 * Read and check a conf file.
 *
 * @param path    the file; also the default of [daemon] name: its base name without an extension.
 * @param errors  gets one line per mistake: "PATH:LINE: what is wrong".
 * @return        the conf, to be freed by conf_free; NULL if there was any mistake.
 */
struct conf *conf_read(const char *path, FILE *errors);

/** The same of a stream that is open already. */
struct conf *conf_read_stream(FILE *stream, const char *path, FILE *errors);

void conf_free(struct conf *conf);

/** Headers of the longest packets that a NIC may send, as path_mtu_overhead. */
uint32_t conf_overhead_bytes(const struct conf *conf, const struct conf_nic *nic);
/** The path MTU that a NIC finds on its link, in bytes. */
uint32_t conf_path_mtu(const struct conf *conf, const struct conf_nic *nic);

/** Bytes that a packet of this conf needs at most. */
uint32_t conf_packet_bytes(const struct conf *conf);
/** Memory that the pool of packets will need, in MB. */
uint32_t conf_memory_mb(const struct conf *conf);

/** "ring" of "ring:NAME". */
const char *conf_port_kind(const struct conf_port *port);

/** Whether it is one end of a wire, whose other end may be named as well: a ring, a link. */
bool conf_port_has_two_ends(const struct conf_port *port);

/** Whether both name the same wire: its two ends, if it has any. */
bool conf_same_wire(const struct conf_port *a, const struct conf_port *b);

/** Collect the ports of a kind, up to max; returns how many. */
uint32_t conf_ports_of(const struct conf *conf, enum port_kind kind, const struct conf_port **ports,
                       uint32_t max);

/** The switch with its ports, which are written to the array and must live as long. */
struct switch_conf conf_switch_fabric(const struct conf_switch *sw,
                                      struct switch_port_params ports[CONF_MAX_PORTS]);

/** Bytes that conf_trim_text writes at most. */
#define CONF_TRIM_TEXT 160
/** What header-only packets of a switch get of its links, in words; false if it cuts nothing. */
bool conf_trim_text(const struct conf_switch *sw, char *text, size_t size);

/** Parameters for an engine of this build. */
const void *conf_params(const struct conf *conf, const struct engine_info *info);

/** How a NIC serves the peers of a section: what that does not say, the NIC says. NULL = of none.
 */
struct conf_bind conf_bind_of(const struct conf_nic *nic, const struct conf_peer *peer);
/** The same for a struct nic_conf, with the parameters that the engines have now. */
struct nic_bind conf_nic_bind(const struct conf *conf, const struct conf_nic *nic,
                              const struct conf_peer *peer);

#endif
