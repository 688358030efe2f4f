/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_CONF_READ_H
#define WEFT_CONF_READ_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "conf.h"
#include "conf_reader.h"
#include "nearest.h"
#include "param.h"

/*
 * Between the files that say what is in a conf of the daemon: conf.c (all of it), conf_text.c (how
 * addresses are written), conf_port.c (ports), conf_daemon.c, conf_nic.c, conf_switch.c,
 * conf_queue.c and conf_port_section.c (a section each), conf_route.c (a key), conf_check.c,
 * conf_bind.c, conf_rings.c, conf_fabric.c, conf_graph.c (what the sections mean together),
 * conf_doubts.c (what is hardly meant) and conf_machine.c (what this machine must have).
 */

extern const struct conf_section conf_daemon_section, conf_nic_section, conf_peer_section,
	conf_switch_section, conf_queue_section, conf_port_section;

/** All of them; ends with NULL. */
extern const struct conf_section *const conf_sections[];

/** Fill in what no section says, before reading: false without memory. */
bool conf_defaults(struct conf *conf);
/** A reader of these, which fills in what there is by default; false without memory. */
bool conf_reader_init(struct conf_reader *r, struct conf *conf, const char *path, FILE *errors);

/** The line of a queue's or port's number, or of the section that it is from. */
uint32_t conf_queue_line(const struct conf_reader *r, const struct conf_switch *sw, uint32_t queue,
                         const char *key);
uint32_t conf_port_line(const struct conf_reader *r, const struct conf_switch *sw, uint32_t port,
                        const char *key);

void conf_daemon_defaults(struct conf_daemon *daemon);

/** Weight of a queue for header-only packets that no [queue] has said, while reading. */
#define CONF_WEIGHT_UNSAID (-1.0)

/** Look at the whole, after reading; fill in what follows from it. */
void conf_check(struct conf_reader *r);
void conf_check_binds(struct conf_reader *r);
void conf_check_interfaces(struct conf_reader *r);
void conf_check_pci(struct conf_reader *r);
void conf_check_rings(struct conf_reader *r);
void conf_check_port_sections(struct conf_reader *r);
void conf_check_fabric(struct conf_reader *r);
void conf_check_graph(struct conf_reader *r);
void conf_check_doubts(struct conf_reader *r);
void conf_check_machine(struct conf_reader *r);

/* ---- values; false or NULL after conf_error ---- */

static_assert(CONF_NAME_LEN == WEFT_NAME_LEN, "names of devices, daemons, switches");

/** 10.77.0.1 or fd00::1, as a host may call itself; IPv4 becomes ::ffff:10.77.0.1. */
bool conf_host_ip(struct conf_reader *r, const char *text, struct ip_addr *ip);
/** 10.0.0.0/8, fd00::/16, or one address. */
bool conf_prefix(struct conf_reader *r, const char *text, struct ip_prefix *prefix);
bool conf_mac(struct conf_reader *r, const char *text, uint8_t mac[6]);
bool conf_port(struct conf_reader *r, const char *text, struct conf_port *port);
/** Bytes of the longest port as a list has it: kind, ':', argument, role of a memif. */
#define CONF_PORT_TEXT (CONF_PORT_ARG_LEN + 32)
/** As a list of ports has it. @return text. */
const char *conf_port_text(const struct conf_port *port, char text[CONF_PORT_TEXT]);
/** The next of a list of ports; as strtok_r. */
char *conf_next_port(char *text, char **rest);
/** Offer a switch's ports by their texts; best keeps the nearest. */
void conf_offer_ports(struct nearest *near, const struct conf_switch *sw,
                      char best[CONF_PORT_TEXT]);
/** For port kinds: the ADDR of pci:ADDR. */
bool conf_read_pci(struct conf_reader *r, const char *text, struct conf_port *port);
/** What holds for a switch's port without a [port]. */
void conf_port_defaults(struct conf_port_settings *settings);
/** Whether it is an interface of the kernel, whose MAC, addresses and MTU the NIC shares. */
bool conf_port_is_interface(const struct conf_port *port);
/** Largest IP packet that it can carry. */
uint32_t conf_port_mtu_max(const struct conf_port *port);
/** For conf_switch: `route = PREFIX PORT...`. */
void conf_read_route(struct conf_reader *r, const struct conf_key *key, void *obj,
                     const char *value);

#endif
