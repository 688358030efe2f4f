/* SPDX-License-Identifier: BSD-3-Clause */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "units.h"

static const char usage[] =
	"usage: weft-perf [OPTION...] PORT [SERVER]\n"
	"\n"
	"Measures RDMA between two hosts, with a stack of its own and without a daemon. PORT is "
	"where\n"
	"this end is attached, as in weft.conf(5): af_xdp:eth0, af_packet:eth0, link:/run/x.sock,\n"
	"pci:0000:01:00.0. Without SERVER it waits for a client; SERVER is the host (TCP) where\n"
	"another weft-perf waits.\n"
	"\n"
	"what (said by the client):\n"
	"  -O, --op OP          write (default), read, send or atomic\n"
	"  -l, --lat            latency, one message at a time, instead of bandwidth\n"
	"  -s, --size BYTES     of a message, 1 to 1G; default: 64K, with --lat 8; atomic: 8\n"
	"  -n, --iters N        messages per QP, 1 to 1000000000; default: 5000\n"
	"  -D, --duration SEC   as many as go in so many seconds, 1 to 86400\n"
	"  -q, --qp N           QPs, 1 to 16384; default: 1\n"
	"  -m, --mtu BYTES      path MTU, 256 to 4096; default: the largest that both ends can\n"
	"  -t, --tx-depth N     messages outstanding per QP, 1 to 8192; default: 128\n"
	"  -c, --check          compare every byte at its destination (not with --lat or -D)\n"
	"\n"
	"where:\n"
	"  -o, --nic KEY=VALUE  any key of [nic] in weft.conf(5), such as ip=10.0.0.1; repeatable\n"
	"  -M, --max-memory N   most that a server takes for a client's test, 1M to 64G; default:\n"
	"                       512M\n"
	"  -H, --hugepages      take the memory of packets from hugepages\n"
	"  -x, --gid-index N    own GID; default: that of the TCP connection's address, else the\n"
	"                       first that is not link-local\n"
	"  -p, --tcp-port N     for the agreement with the other end; default: 18515\n"
	"\n"
	"output:\n"
	"      --report_gbits   Gb/s instead of MB/s (2^20 bytes)\n"
	"  -j, --json           one JSON object instead of the table\n"
	"  -v, --verbose        say more\n"
	"  -h, --help           this text\n"
	"  -V, --version        the version\n";

enum { GBITS = 256 };

static const struct option longs[] = {
	{"op", required_argument, NULL, 'O'},
	{"lat", no_argument, NULL, 'l'},
	{"size", required_argument, NULL, 's'},
	{"iters", required_argument, NULL, 'n'},
	{"duration", required_argument, NULL, 'D'},
	{"qp", required_argument, NULL, 'q'},
	{"mtu", required_argument, NULL, 'm'},
	{"tx-depth", required_argument, NULL, 't'},
	{"check", no_argument, NULL, 'c'},
	{"nic", required_argument, NULL, 'o'},
	{"max-memory", required_argument, NULL, 'M'},
	{"hugepages", no_argument, NULL, 'H'},
	{"gid-index", required_argument, NULL, 'x'},
	{"tcp-port", required_argument, NULL, 'p'},
	{"report_gbits", no_argument, NULL, GBITS},
	{"json", no_argument, NULL, 'j'},
	{"verbose", no_argument, NULL, 'v'},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{0},
};

/* The conf file that PORT and the -o options make. */
struct conf_text {
	FILE *out;
	char *text;
	size_t size;
};

static bool
number(const char *name, const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	enum units units = max >= PERF_MAX_BYTES ? UNITS_SIZE : UNITS_COUNT;
	const char *why;

	if (units_parse(units, text, value, &why) == 0 && *value >= min && *value <= max)
		return true;
	fprintf(stderr, "weft-perf: %s '%s' is not in %llu to %llu\n", name, text,
	        (unsigned long long)min, (unsigned long long)max);
	return false;
}

static bool
add_key(struct conf_text *conf, const char *text)
{
	if (!strchr(text, '=') || strpbrk(text, "\r\n[")) {
		fprintf(stderr, "weft-perf: --nic '%s' is not KEY=VALUE\n", text);
		return false;
	}
	fprintf(conf->out, "%s\n", text);
	return true;
}

static bool
parse_op(const char *text, enum perf_op *op)
{
	*op = perf_op_find(text);
	if (*op == PERF_OP_NB)
		fprintf(stderr, "weft-perf: --op '%s' is none of write, read, send, atomic\n",
		        text);
	return *op != PERF_OP_NB;
}

/* Values that are not said are 0. */
static bool
parse_one(struct options *opt, struct conf_text *nic, bool *hugepages, int c)
{
	struct perf_test *t = &opt->test;
	uint64_t n = 0;
	bool ok = true;

	switch (c) {
	case 'O':
		return parse_op(optarg, &t->op);
	case 'l':
		t->is_lat = true;
		break;
	case 's':
		ok = number("--size", optarg, 1, PERF_MAX_BYTES, &n);
		t->size = (uint32_t)n;
		break;
	case 'n':
		return number("--iters", optarg, 1, PERF_MAX_ITERS, &t->iters);
	case 'D':
		ok = number("--duration", optarg, 1, PERF_MAX_SECONDS, &n);
		t->seconds = (uint32_t)n;
		break;
	case 'q':
		ok = number("--qp", optarg, 1, PERF_MAX_QPS, &n);
		t->nb_qps = (uint32_t)n;
		break;
	case 'm':
		ok = number("--mtu", optarg, 256, 4096, &n) && (n & (n - 1)) == 0;
		if (!ok)
			fputs("weft-perf: --mtu is 256, 512, 1024, 2048 or 4096\n", stderr);
		t->mtu = (uint32_t)n;
		break;
	case 't':
		ok = number("--tx-depth", optarg, 1, PERF_MAX_DEPTH, &n);
		t->depth = (uint32_t)n;
		break;
	case 'c':
		t->is_checked = true;
		break;
	case 'o':
		return add_key(nic, optarg);
	case 'M':
		return number("--max-memory", optarg, PERF_SERVER_MEMORY_MIN,
		              PERF_SERVER_MEMORY_MAX, &opt->max_memory);
	case 'H':
		*hugepages = true;
		break;
	case 'x':
		ok = number("--gid-index", optarg, 0, GID_TABLE_MAX - 1, &n);
		opt->gid_index = (int)n;
		break;
	case 'p':
		ok = number("--tcp-port", optarg, 1, 65535, &n);
		opt->tcp_port = (uint16_t)n;
		break;
	case GBITS:
		opt->gbits = true;
		break;
	case 'j':
		opt->json = true;
		break;
	case 'v':
		opt->verbose = true;
		break;
	}
	return ok;
}

static bool
complete(struct perf_test *t)
{
	if (t->op == PERF_ATOMIC && t->size && t->size != 8) {
		fputs("weft-perf: an atomic has 8 bytes\n", stderr);
		return false;
	}
	if (t->is_checked && (t->is_lat || t->seconds)) {
		fputs("weft-perf: --check goes with a number of messages, --iters, and without "
		      "--lat\n",
		      stderr);
		return false;
	}
	if (t->iters && t->seconds) {
		fputs("weft-perf: either --iters or --duration\n", stderr);
		return false;
	}
	if (t->is_lat && t->nb_qps > 1) {
		fputs("weft-perf: --lat has one QP\n", stderr);
		return false;
	}
	if (!t->size)
		t->size = t->is_lat || t->op == PERF_ATOMIC ? 8 : 65536;
	if (!t->iters && !t->seconds)
		t->iters = 5000;
	if (!t->nb_qps)
		t->nb_qps = 1;
	/* Of a latency test the answer may come before the acknowledgement of what it answers. */
	if (t->is_lat)
		t->depth = 16;
	else if (!t->depth)
		t->depth = 128;
	return true;
}

/* What the conf reader says of a file that nobody wrote: the first mistake, without its line. */
static void
tell_mistake(char *said)
{
	static const struct {
		const char *of_conf, *of_ours;
	} words[] = {
		{"[nic perf] has no ip", "this port has no address of its own: -o ip=ADDRESS"},
		{"has only one end", "a ring has both ends in one weftd: use link:/PATH"},
	};

	said[strcspn(said, "\n")] = '\0';
	said += strcspn(said, ":") + 1;
	said += strspn(said, "0123456789: ");
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strstr(said, words[i].of_conf)) {
			fprintf(stderr, "weft-perf: %s\n", words[i].of_ours);
			return;
		}
	}
	fprintf(stderr, "weft-perf: %s\n", said);
}

/* The conf reader tells of what is wrong with PORT and the keys. */
static struct conf *
make_conf(const char *keys, const char *port, bool hugepages)
{
	struct conf_text all = {0}, said = {0};
	struct conf *conf = NULL;
	FILE *in;

	all.out = open_memstream(&all.text, &all.size);
	if (!all.out)
		return NULL;
	fprintf(all.out, "[daemon]\nname = perf-%d\nhugepages = %s\n[nic perf]\nport = %s\n%s",
	        (int)getpid(), hugepages ? "yes" : "no", port, keys);
	fclose(all.out);
	in = fmemopen(all.text, strlen(all.text), "r");
	said.out = open_memstream(&said.text, &said.size);
	if (in && said.out)
		conf = conf_read_stream(in, "weft-perf", said.out);
	if (in)
		fclose(in);
	if (said.out)
		fclose(said.out);
	if (said.size)
		tell_mistake(said.text);
	free(said.text);
	free(all.text);
	return conf;
}

int
options_parse(struct options *opt, int argc, char **argv)
{
	struct conf_text nic = {0};
	bool hugepages = false, ok = true;
	int c, code = 2;

	*opt = (struct options){
		.tcp_port = 18515, .gid_index = -1, .max_memory = PERF_SERVER_MEMORY};
	nic.out = open_memstream(&nic.text, &nic.size);
	if (!nic.out)
		return EXIT_FAILURE;
	while (ok &&
	       (c = getopt_long(argc, argv, "O:ls:n:D:q:m:t:co:M:Hx:p:jvhV", longs, NULL)) != -1) {
		if (c == 'h' || c == 'V') {
			fputs(c == 'h' ? usage : "weft-perf " WEFT_VERSION "\n", stdout);
			code = EXIT_SUCCESS;
			ok = false;
		} else if (c == '?') {
			fputs("weft-perf: try --help\n", stderr);
			ok = false;
		} else {
			ok = parse_one(opt, &nic, &hugepages, c);
		}
	}
	fclose(nic.out);
	if (ok && (argc - optind < 1 || argc - optind > 2)) {
		fputs("weft-perf: a PORT and, for a client, a SERVER, please: try --help\n",
		      stderr);
		ok = false;
	}
	if (ok && complete(&opt->test)) {
		opt->server = argv[optind + 1];
		opt->conf = make_conf(nic.text, argv[optind], hugepages);
		code = opt->conf ? -1 : EXIT_FAILURE;
	}
	free(nic.text);
	return code;
}
