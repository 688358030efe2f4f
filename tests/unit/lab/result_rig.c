/* SPDX-License-Identifier: BSD-3-Clause */
#include "result_rig.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define US UINT64_C(1000000) /* ps */

static const struct stat_desc gbn_stats[] = {{"gbn_rewinds", 0}, {"gbn_naks_ignored", 8}, {NULL}};
static const struct stat_desc cc_stats[] = {{"cc_cuts", 0}, {NULL}};
static const struct stat_desc *const engine_stats[] = {gbn_stats, cc_stats};

static void
make_plan(struct plan *plan)
{
	struct plan_params params;
	const char *key;
	char why[256];

	param_defaults(plan_param_descs, &params);
	params.hosts = RIG_HOSTS;
	cr_assert_eq(plan_create(plan, PLAN_STAR, &params, &key, why, sizeof(why)), 0);
}

static void
make_flows(struct rig *rig)
{
	static const struct flow flows[RIG_FLOWS] = {
		{{0, 2, 1000000, 65536, 0, 0, FLOW_WRITE, 0},
	         US,
	         161 * US,
	         165 * US,
	         82 * US,
	         1000000,
	         FLOW_DONE,
	         0},
		{{1, 2, 1000000, 65536, 0, 0, FLOW_WRITE, 0},
	         US,
	         161 * US,
	         169 * US,
	         82 * US,
	         1000000,
	         FLOW_DONE,
	         0},
		{{0, 1, 500, 500, 1, 1, FLOW_SEND, 0},
	         10 * US,
	         14 * US,
	         16 * US,
	         3 * US,
	         500,
	         FLOW_DONE,
	         0},
		{{1, 0, 20000, 20000, 1, 1, FLOW_READ, 0},
	         20 * US,
	         NEVER_PS,
	         100 * US,
	         5 * US,
	         4096,
	         FLOW_FAILED,
	         2},
		{{2, 0, 300, 300, 1, FLOW_QP_FRESH, FLOW_SEND, 0},
	         150 * US,
	         NEVER_PS,
	         NEVER_PS,
	         3 * US,
	         0,
	         FLOW_RUNS,
	         0},
	};

	memcpy(rig->flows, flows, sizeof(flows));
	rig->workloads[0] = (struct workload_result){"in", "incast", 2, 2, 0, 169 * US, 1};
	rig->workloads[1] = (struct workload_result){"web, \"b\"", "cdf", 3, 1, 1, 0, 0};
}

static void
make_hosts(struct rig *rig)
{
	static const uint64_t delivered[RIG_HOSTS] = {4096, 500, 2000000};

	for (uint32_t h = 0; h < RIG_HOSTS; h++) {
		rig->nics[h].tx_packets = 1000 + h;
		rig->nics[h].local_ack_timeout_err = 1;
		rig->nics[h].packet_seq_err = 2;
		rig->nics[h].rnr_nak_retry_err = 3;
		rig->nics[h].np_cnp_sent = 4;
		rig->nics[h].drop[DROP_GAP] = 5;
		rig->nics[h].bad[WIRE_BAD_SHORT] = 1;
		rig->nics[h].pfc.duration_us[3] = 7;
		rig->engines[h].engine[0][0] = 11 + h;
		rig->engines[h].engine[1][0] = 22;
		rig->hosts[h] = (struct host_result){
			.nic = &rig->nics[h],
			.engines = &rig->engines[h],
			.tx_data_pkts = 1000,
			.delivered_bytes = delivered[h],
			.retransmitted_pkts = 30,
			.spurious_pkts = 3,
			.nb_qps = 2,
			.nb_failed_qps = h == 0,
		};
	}
}

static void
make_fabric(struct rig *rig)
{
	for (uint32_t p = 0; p < RIG_HOSTS; p++) {
		rig->port_stats[p].q[0].full = 10;
		rig->port_stats[p].q[3].headroom = 1;
		rig->port_stats[p].tx_link_down = 2;
		rig->port_stats[p].q[1].trimmed = 4;
		rig->port_stats[p].q[0].marked = 100;
		rig->port_stats[p].tx_pause[3] = 6;
		rig->port_stats[p].q[0].bytes_max = p == 2 ? 5000 : 100;
		rig->ports[p] = &rig->port_stats[p];
		rig->links[p][0] = (struct link_result){
			.pkts = 500, .bytes = 600000, .busy_ps = 50 * US, .lost_pkts = 9};
		rig->links[p][1] = (struct link_result){.pkts = 400, .bytes = 40000};
		rig->links[p][0].faults.tx[FAULT_LOSS] = 9;
		rig->links[p][0].faults.rx[FAULT_TRIM] = 1;
	}
	rig->switches[0].stats.buffer_used_bytes_max = 7000;
	rig->switches[0].ports = rig->ports;
	rig->queues.count[0] = 90;
	rig->queues.count[11] = 9;
	rig->queues.count[13] = 1;
	rig->queues.nb = 100;
}

static void
make_series(struct rig *rig)
{
	static const struct {
		const char *name, *unit;
		double begin, step;
	} rows[] = {{"goodput", "bps", 0, 4.75e9},
	            {"buffer:s0", "B", 7000, -350.5},
	            {"drops", "pkt", 0, 3}};

	for (uint32_t i = 0; i < 3; i++) {
		for (uint32_t k = 0; k < RIG_SAMPLES; k++)
			rig->samples[i][k] = rows[i].begin + rows[i].step * k;
		rig->series[i] = (struct series){
			.unit = rows[i].unit, .nb = RIG_SAMPLES, .values = rig->samples[i]};
		strcpy(rig->series[i].name, rows[i].name);
	}
}

struct rig *
rig_create(void)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	cr_assert(rig);
	make_plan(&rig->plan);
	make_flows(rig);
	make_hosts(rig);
	make_fabric(rig);
	make_series(rig);
	rig->result = (struct result){
		.scenario = "/home/of/somebody/incast.scenario",
		.seed = 7,
		.end_ps = 200 * US,
		.nb_events = 123456,
		.cpu_s = 0.25,
		.wall_s = 0.5,
		.data_pkts = 2000,
		.plan = &rig->plan,
		.nb_flows = RIG_FLOWS,
		.flows = rig->flows,
		.nb_workloads = 2,
		.workloads = rig->workloads,
		.hosts = rig->hosts,
		.engine_stats = engine_stats,
		.nb_engine_stats = 2,
		.switches = rig->switches,
		.links = (const struct link_result(*)[2])rig->links,
		.sample_ps = 10 * US,
		.nb_series = 3,
		.series = rig->series,
		.queues = &rig->queues,
	};
	return rig;
}

void
rig_free(struct rig *rig)
{
	plan_free(&rig->plan);
	free(rig);
}

/* ---- files ---- */

static char folder[64];

const char *
rig_folder(void)
{
	strcpy(folder, "/tmp/weft-test-lab-XXXXXX");
	cr_assert(mkdtemp(folder));
	return folder;
}

void
rig_remove_folder(void)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;

	cr_assert(dir);
	while ((entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			unlinkat(dirfd(dir), entry->d_name, 0);
	}
	closedir(dir);
	cr_assert_eq(rmdir(folder), 0);
}

char *
rig_read(const char *name, size_t *len)
{
	char path[512], *text;
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	cr_assert_eq(fstat(fd, &st), 0);
	text = malloc((size_t)st.st_size + 1);
	cr_assert(text);
	cr_assert_eq(read(fd, text, (size_t)st.st_size), st.st_size);
	close(fd);
	text[st.st_size] = 0;
	if (len)
		*len = (size_t)st.st_size;
	return text;
}

/* ---- the log ---- */

static int nb_lines;
static char last_line[LOG_LINE_MAX];

static void
keep(enum log_level level, const char *line)
{
	(void)level;
	nb_lines++;
	snprintf(last_line, sizeof(last_line), "%s", line);
}

void
rig_listen(void)
{
	log_fn = keep;
	nb_lines = 0;
}

int
rig_logged(char last[LOG_LINE_MAX])
{
	int nb = nb_lines;

	strcpy(last, last_line);
	nb_lines = 0;
	return nb;
}
