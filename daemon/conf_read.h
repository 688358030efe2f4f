/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_CONF_READ_H
#define WEFT_CONF_READ_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "conf.h"
#include "nearest.h"
#include "param.h"

/*
 * Between the files of the reader: conf.c (lines, sections, keys), conf_text.c (how values are
 * written), conf_port.c (ports), conf_daemon.c, conf_nic.c, conf_switch.c, conf_queue.c,
 * conf_port_section.c and conf_engine.c (a section each), conf_route.c (a key), conf_check.c,
 * conf_rings.c, conf_fabric.c, conf_graph.c (what the sections mean together), conf_doubts.c (what
 * is hardly meant) and conf_machine.c (what this machine must have).
 */

struct conf_reader;

/** A key whose value is not a plain number. */
struct conf_key {
	const char *name;
	void (*read)(struct conf_reader *r, const struct conf_key *key, void *obj,
	             const char *value);
	size_t offset;      /**< for read: of the member of obj that the key sets */
	int arg;            /**< for read */
	bool is_list;       /**< may come again in its section: the list goes on */
	size_t line_offset; /**< of a uint32_t of obj that gets its line; 0 = none */
};

/** A kind of section. */
struct conf_section {
	const char *name;
	const char *title;           /**< what stands behind the name, "NAME"; NULL = nothing */
	const struct conf_key *keys; /**< ends with a NULL name */
	/** A section begins: what do its keys set? NULL after conf_error. */
	void *(*begin)(struct conf_reader *r, const char *title);
	bool is_node; /**< others refer to what it begins */
};

extern const struct conf_section conf_daemon_section, conf_nic_section, conf_peer_section,
	conf_switch_section, conf_queue_section, conf_port_section, conf_engine_section;

/** All of them; ends with NULL. */
extern const struct conf_section *const conf_sections[];

/** Tables of numbers of one section: [nic] has its own and those of the faults. */
#define CONF_MAX_TABLES 4
/** Keys of one section. */
#define CONF_MAX_KEYS 128

/** Where a number is said. */
struct conf_said {
	const void *params;
	const char *name;
	uint32_t line;
};

struct conf_reader {
	struct conf *conf;
	const char *path;
	FILE *errors;
	char *next, *end; /**< what is left of the file; one byte behind it may be written */
	uint32_t line;
	uint32_t nb_errors;
	uint32_t nb_bad_sections;                  /**< skipped, which may have begun a node */
	bool told_nics, told_switches, told_peers; /**< that there are too many */
	bool in_section;
	const struct conf_section *section; /**< NULL: its header was wrong, skip its keys */
	void *obj;
	struct {
		const struct param_desc *descs;
		void *params;
	} tables[CONF_MAX_TABLES];
	uint32_t nb_tables;
	struct {
		const char *name; /**< as the table has it */
		uint32_t line;
	} seen[CONF_MAX_KEYS];
	uint32_t nb_seen;
	struct conf_said *said; /**< every number of the file */
	uint32_t nb_said, said_size;
};

/** Whether sections were skipped, and that was told: what refers to them is no mistake of its own.
 */
static inline bool
conf_is_partial(const struct conf_reader *r)
{
	return r->nb_bad_sections != 0 && r->nb_errors != 0;
}

/** Tell of one mistake. line 0: of the file as a whole. */
__attribute__((format(printf, 3, 4))) void conf_error(struct conf_reader *r, uint32_t line,
                                                      const char *fmt, ...);

/** Tell of what is allowed and yet hardly meant. */
__attribute__((format(printf, 3, 4))) void conf_warning(struct conf_reader *r, uint32_t line,
                                                        const char *fmt, ...);

/** Tell that there are more of a kind than max, once; is_told is of the reader. */
void conf_too_many(struct conf_reader *r, bool *is_told, uint32_t max, const char *what);

/** The line of a number of these params, by the name of its key; 0 = not said. */
uint32_t conf_line_of(const struct conf_reader *r, const void *params, const char *name);

/** The line of a queue's or port's number, or of the section that it is from. */
uint32_t conf_queue_line(const struct conf_reader *r, const struct conf_switch *sw, uint32_t queue,
                         const char *key);
uint32_t conf_port_line(const struct conf_reader *r, const struct conf_switch *sw, uint32_t port,
                        const char *key);

/** For begin: the section also has these numbers. */
void conf_add_table(struct conf_reader *r, const struct param_desc *descs, void *params);

/** Read a number as a table describes it; false after conf_error. */
bool conf_number(struct conf_reader *r, const struct param_desc *descs, void *params,
                 const char *name, const char *value);

/** Fill in what no section says, before reading: false without memory. */
bool conf_defaults(struct conf *conf);
void conf_daemon_defaults(struct conf_daemon *daemon);
bool conf_engine_defaults(struct conf *conf);

/** Weight of a queue for header-only packets that no [queue] has said, while reading. */
#define CONF_WEIGHT_UNSAID (-1.0)

/** Look at the whole, after reading; fill in what follows from it. */
void conf_check(struct conf_reader *r);
void conf_check_interfaces(struct conf_reader *r);
void conf_check_pci(struct conf_reader *r);
void conf_check_rings(struct conf_reader *r);
void conf_check_port_sections(struct conf_reader *r);
void conf_check_fabric(struct conf_reader *r);
void conf_check_graph(struct conf_reader *r);
void conf_check_doubts(struct conf_reader *r);
void conf_check_machine(struct conf_reader *r);

/* ---- values; false or NULL after conf_error ---- */

/** What stands between the words of a list. */
#define CONF_BETWEEN ", \t"
/** Bytes of a conf file. Source: our choice, ten times what the largest conf needs. */
#define CONF_FILE_MAX (1u << 20)
/** A line of a conf file, with its end. Source: libinih's INI_MAX_LINE, and some. */
#define CONF_LINE_MAX 256

/** A name of a device, daemon, switch or ring: also part of a file's name. */
bool conf_name(struct conf_reader *r, const char *what, const char *text, char name[WEFT_NAME_LEN]);
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
/** The path MTU that a NIC finds on a link of this MTU. */
uint32_t conf_path_mtu(uint32_t ip_mtu);
/** A number from 0 to max, without a unit; false without conf_error. */
bool conf_small(const char *text, uint32_t max, uint8_t *n);
/** For conf_switch: `route = PREFIX PORT...`. */
void conf_read_route(struct conf_reader *r, const struct conf_key *key, void *obj,
                     const char *value);
/** An engine of this build. */
const struct engine_info *conf_engine(struct conf_reader *r, enum conf_engine_kind kind,
                                      const char *name);

/** For conf_key: a name; yes or no. */
void conf_read_name(struct conf_reader *r, const struct conf_key *key, void *obj,
                    const char *value);
void conf_read_yes_no(struct conf_reader *r, const struct conf_key *key, void *obj,
                      const char *value);

#endif
