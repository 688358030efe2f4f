/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LAB_SCENARIO_READ_H
#define WEFT_LAB_SCENARIO_READ_H

#include "conf_reader.h"
#include "scenario.h"

/*
 * Between the files that read scenarios: scenario.c (all of it, and [lab]), scenario_topology.c,
 * scenario_host.c, scenario_switch.c ([switch], [queue], [port]), scenario_doubts.c (what of these
 * is hardly meant), scenario_link.c and scenario_workload.c.
 */

/** Most sections [link]. Our choice. */
#define SCENARIO_LINKS_MAX 256

/** A section [link WHICH]. */
struct scenario_link {
	char which[2 * PLAN_NAME_LEN];
	uint32_t line;
	struct fault_params params;
};

/** A section [workload NAME], of the workload with the same index. */
struct scenario_workload {
	uint32_t line, kind_line, file_line;
	char file[CONF_LINE_MAX];
	char why[64]; /**< room for what is said of a key */
};

/** What reading knows beside the scenario that it fills in. */
struct conf {
	struct scenario *s;
	/* lines of sections and keys; 0 = not said */
	uint32_t lab_line, topology_line, host_line, switch_line, port_line;
	uint32_t queue_lines[QUEUES_NB];
	uint32_t kind_line, framing_line, rel_line, cc_line, lb_line, switch_lb_line;
	uint32_t trim_line, lossless_line, int_line;
	uint32_t probe_lines[SCENARIO_PROBES_MAX];
	enum plan_kind kind;
	struct plan_params topology;
	bool has_plan;
	struct lab_engines engines;        /**< the three that [host] names */
	struct switch_conf sw;             /**< but ports */
	struct switch_queue queue_default; /**< of [switch], for queues that say nothing else */
	struct switch_port_params port;
	struct scenario_link *links;
	uint32_t nb_links;
	/** Tables without what each switch has of its own, and ports of their links. */
	struct param_desc switch_descs[32], port_descs[32];
	struct scenario_workload workloads[SCENARIO_WORKLOADS_MAX];
};

extern const struct conf_section scenario_lab_section, scenario_topology_section,
	scenario_host_section, scenario_switch_section, scenario_queue_section,
	scenario_port_section, scenario_link_section, scenario_workload_section;

/** For begin: remember the line of a section that may come once; false after conf_error. */
bool scenario_once(struct conf_reader *r, uint32_t *line, const char *header);

/** Most names to choose from. Our choice. */
#define SCENARIO_CHOICES_MAX 64
/** One of so many names; the last, and conf_error, if it is none of them. */
uint32_t scenario_choice(struct conf_reader *r, const char *what, const char *value,
                         const char *const *names, uint32_t nb);

/* What holds without the section. */
void scenario_topology_defaults(struct conf *c);
void scenario_host_defaults(struct conf *c);
void scenario_switch_defaults(struct conf *c);

/* What follows from all of the file, and what is wrong with it; in this order. */
void scenario_topology_finish(struct conf_reader *r);
void scenario_links_finish(struct conf_reader *r);
void scenario_switch_finish(struct conf_reader *r);
void scenario_host_finish(struct conf_reader *r);
void scenario_workloads_finish(struct conf_reader *r);
void scenario_workload_free(struct workload *w);
/** If nothing is wrong: what is hardly meant. */
void scenario_doubts(struct conf_reader *r);

/** Whether no two nodes have a choice of ways. */
bool scenario_has_one_path(const struct plan *plan);
/** What the fabric offers: enum engine_trait. */
uint32_t scenario_traits(const struct scenario *s);
/** The line of a queue's number, or of what it is from. */
uint32_t scenario_queue_line(const struct conf_reader *r, uint32_t queue, const char *key);

#endif
