/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf_reader.h"

/* A small program's conf: one section with a number and a list, one with a title. */
struct conf {
	uint32_t mtu;
	uint8_t classes;
	uint32_t limits[8];
};

static const struct param_desc mtu_descs[] = {
	{"mtu", PARAM_U32, offsetof(struct conf, mtu), 1024, 256, 4096, "B", "test"},
	{NULL},
};
static const struct param_desc limit_descs[] = {
	{"limit", PARAM_U32, 0, 10, 0, 100, "1", "test"},
	{NULL},
};

static const struct conf_key host_keys[] = {
	{"pfc", conf_read_lossless, offsetof(struct conf, classes), .is_list = true},
	{NULL},
};

static void *
begin_host(struct conf_reader *r, const char *title)
{
	(void)title;
	conf_add_table(r, mtu_descs, r->conf);
	return r->conf;
}

static void *
begin_queue(struct conf_reader *r, const char *title)
{
	uint8_t n;

	if (!conf_small(title, 7, &n)) {
		conf_error(r, r->line, "no queue '%s'", title);
		return NULL;
	}
	conf_add_table(r, limit_descs, &r->conf->limits[n]);
	return &r->conf->limits[n];
}

static const struct conf_key queue_keys[] = {{NULL}};
static const struct conf_section host_section = {"host", NULL, host_keys, begin_host};
static const struct conf_section queue_section = {"queue", "N", queue_keys, begin_queue};
static const struct conf_section *const sections[] = {&host_section, &queue_section, NULL};

#define NB_MAX 3

struct row {
	const char *text;
	struct conf_override overrides[NB_MAX];
	const char *want; /* of errors */
	struct conf conf;
};

static void
try(const struct row *row, size_t i)
{
	struct conf_override overrides[NB_MAX];
	struct conf_reader r = {.path = "f", .sections = sections, .overrides = overrides};
	struct conf conf = {.mtu = 1024};
	char *errors;
	size_t size;
	FILE *in = fmemopen((void *)row->text, strlen(row->text), "r");

	memcpy(overrides, row->overrides, sizeof(overrides));
	while (r.nb_overrides < NB_MAX && overrides[r.nb_overrides].text)
		r.nb_overrides++;
	r.conf = &conf;
	r.errors = open_memstream(&errors, &size);
	cr_assert(conf_read_sections(&r, in));
	fclose(in);
	fclose(r.errors);
	cr_expect_str_eq(errors, row->want, "row %zu: %s", i, errors);
	cr_expect_eq(r.nb_errors != 0, row->want[0] != '\0', "row %zu", i);
	cr_expect_arr_eq(&conf, &row->conf, sizeof(conf), "row %zu: mtu %u classes %x", i, conf.mtu,
	                 conf.classes);
	free(errors);
	conf_reader_free(&r);
}

Test(conf_override, stands_in_place_of_the_files_lines_or_behind_them)
{
	static const struct row rows[] = {
		{"[host]\nmtu = 512\n", {{"host.mtu", "2K", "host", "mtu"}}, "", {.mtu = 2048}},
		/* Also of a wrong line, and of two. */
		{"[host]\nmtu = x\nmtu = 7\n", {{"host.mtu", "2K", "host", "mtu"}}, "", {2048}},
		{"[host]\n[queue 3]\nlimit = 7\n",
	         {{"host.mtu", "2K", "host", "mtu"}},
	         "",
	         {2048, 0, {[3] = 7}}},
		/* The last counts. */
		{"[host]\n",
	         {{"host.mtu", "2K", "host", "mtu"}, {"host.mtu", "4K", "host", "mtu"}},
	         "",
	         {4096}},
		/* A list is another. */
		{"[host]\npfc = 1\npfc = 2\n",
	         {{"host.pfc", "3", "host", "pfc"}, {"host.pfc", "4", "host", "pfc"}},
	         "",
	         {1024, 0x18}},
		/* A section that is not there. */
		{"[host]\n",
	         {{"queue.3.limit", "7", "queue 3", "limit"},
	          {"queue.4.limit", "8", "queue 4", "limit"}},
	         "",
	         {1024, 0, {[3] = 7, [4] = 8}}},
		{"[queue 3]\nlimit = 5\n",
	         {{"queue.3.limit", "7", "queue 3", "limit"}},
	         "",
	         {1024, 0, {[3] = 7}}},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		try(&rows[i], i);
}

Test(conf_override, mistakes_name_the_command_line)
{
	static const struct row rows[] = {
		{"[host]\nmtu = 512\n",
	         {{"host.mtu", "2", "host", "mtu"}},
	         "command line: host.mtu: mtu = 2: out of range (256 to 4K)\n",
	         {1024}},
		{"[host]\nmtu = 512\n",
	         {{"host.mut", "2K", "host", "mut"}},
	         "command line: host.mut: unknown key 'mut' (nearest: 'mtu')\n",
	         {512}},
		{"[host]\n",
	         {{"hst.mtu", "2K", "hst", "mtu"}},
	         "command line: hst.mtu: unknown section 'hst' (nearest: 'host')\n",
	         {1024}},
		{"[host]\n",
	         {{"queue.limit", "2", "queue", "limit"}},
	         "command line: queue.limit: the section is written [queue N]\n",
	         {1024}},
		{"[host]\n",
	         {{"queue.9.limit", "2", "queue 9", "limit"}},
	         "command line: queue.9.limit: no queue '9'\n",
	         {1024}},
		/* What the file says wrongly is told with its line. */
		{"[host]\nmtv = 512\n",
	         {{"host.mtu", "2K", "host", "mtu"}},
	         "f:2: unknown key 'mtv' (nearest: 'mtu')\n",
	         {2048}},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		try(&rows[i], i);
}

Test(conf_override, is_read_from_section_title_and_key)
{
	static const struct {
		const char *text, *section, *key, *value; /* section NULL: refused */
	} rows[] = {
		{"seed=7", "lab", "seed", "7"},
		{"host.mtu=", "host", "mtu", ""},
		{"queue.3.limit=5K", "queue 3", "limit", "5K"},
		{"workload.a.b.bytes=a=b.c", "workload a.b", "bytes", "a=b.c"},
		{"seed", NULL, NULL, NULL},
		{"=7", NULL, NULL, NULL},
		{".seed=7", NULL, NULL, NULL},
		{"host.=7", NULL, NULL, NULL},
		{"host..mtu=7", NULL, NULL, NULL},
		{"host.a b.mtu=7", NULL, NULL, NULL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct conf_override o;
		char text[64];
		bool ok;

		snprintf(text, sizeof(text), "%s", rows[i].text);
		ok = conf_override_parse(&o, text, "lab");
		cr_assert_eq(ok, rows[i].section != NULL, "row %zu", i);
		if (!ok) {
			cr_expect_str_eq(text, rows[i].text, "row %zu", i);
			continue;
		}
		cr_expect_str_eq(o.section, rows[i].section, "row %zu", i);
		cr_expect_str_eq(o.key, rows[i].key, "row %zu", i);
		cr_expect_str_eq(o.value, rows[i].value, "row %zu", i);
		cr_expect_not(o.is_done);
	}
}
