/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes that are killed at any moment: applications, and the daemon itself. Run by weft-run
 * next to a daemon; opens no device itself, its children do. WEFT_SEED repeats a run.
 *
 * crash apps DEVICE DEVICE ROUNDS PID       applications die; the daemon has this PID
 * crash daemon DEVICE DEVICE ROUNDS CONF    a daemon dies that is started here, as $WEFTD CONF
 * crash host DEVICE DEVICE ROUNDS CONF DEVICE
 *     the same, but only the first device is its own; others on a fabric of more processes, between
 *     the second and the third, do not notice
 */
#include "crash.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "prng.h"

struct crash_board *board;
const char *crash_dev[2];
bool crash_dev1_lives;

static struct prng rng;
static pid_t weftd;
static uint32_t nb_rounds;

uint64_t
crash_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void
nap_us(uint32_t us)
{
	nanosleep(&(struct timespec){us / 1000000, us % 1000000 * 1000L}, NULL);
}

/* A child, which ends with this process at the latest. */
static pid_t
start(void)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	must(pid >= 0);
	if (pid == 0)
		must(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
	return pid;
}

static void
wait_ready(uint32_t nb)
{
	uint64_t limit_ns = crash_now_ns() + UINT64_C(60000000000);

	while (atomic_load(&board->nb_ready) < nb) {
		must(crash_now_ns() < limit_ns);
		nap_us(200);
	}
}

static int
reap(pid_t pid)
{
	int status;

	must(waitpid(pid, &status, 0) == pid);
	return status;
}

/* A process that ended by itself and found nothing wrong. */
static bool
is_fine(pid_t pid)
{
	int status = reap(pid);

	if (WIFSIGNALED(status))
		fprintf(stderr, "signal %d\n", WTERMSIG(status));
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* ---- what the daemon holds ---- */

static uint32_t
daemon_nb_fds(void)
{
	char path[64];
	uint32_t n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)weftd);
	d = opendir(path);
	must(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* Mappings of memory that it shares with applications. */
static uint32_t
daemon_nb_maps(void)
{
	char path[64], line[512];
	uint32_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)weftd);
	f = fopen(path, "r");
	must(f);
	while (fgets(line, sizeof(line), f))
		n += strstr(line, "memfd:") != NULL;
	fclose(f);
	return n;
}

static uint64_t
daemon_rss_kb(void)
{
	char path[64], line[256];
	unsigned long kb = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)weftd);
	f = fopen(path, "r");
	must(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "VmRSS: %lu", &kb) == 1)
			break;
	fclose(f);
	return kb;
}

static bool
settles(uint32_t nb_fds, uint32_t nb_maps)
{
	for (int i = 0; i < 2000; i++) {
		if (daemon_nb_fds() == nb_fds && daemon_nb_maps() == nb_maps)
			return true;
		nap_us(10000);
	}
	fprintf(stderr, "the daemon has %u descriptors and %u mappings, before: %u and %u\n",
	        daemon_nb_fds(), daemon_nb_maps(), nb_fds, nb_maps);
	return false;
}

/* ---- applications die ---- */

/* Bytes of the innocent in so many microseconds. */
static uint64_t
bytes_in(uint32_t us)
{
	uint64_t before = atomic_load(&board->nb_bytes);

	nap_us(us);
	return atomic_load(&board->nb_bytes) - before;
}

/* One victim and its peer; killed while it opens and connects, or in the middle of its work. */
static void
kill_one(const struct crash_op *op, double *loss)
{
	uint32_t nb_ready = atomic_load(&board->nb_ready);
	bool early = prng_below(&rng, 4) == 0;
	pid_t victim, peer;
	uint64_t before = 0;
	int pair[2];

	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	victim = start();
	if (victim == 0) {
		close(pair[1]);
		crash_victim(op, pair[0]);
	}
	close(pair[0]);
	peer = start();
	if (peer == 0)
		crash_peer(op, pair[1]);
	close(pair[1]);
	if (!early)
		wait_ready(nb_ready + 1);
	if (loss)
		before = bytes_in(100000);
	nap_us(prng_below(&rng, 15000));
	must(kill(victim, SIGKILL) == 0);
	if (loss)
		*loss = 1 - (double)bytes_in(100000) / (double)(before ? before : 1);
	reap(victim);
	must(is_fine(peer));
}

static int
compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void
applications_die(pid_t daemon_pid)
{
	bool is_long = getenv("WEFT_TEST_LONG") != NULL;
	double *loss = calloc(nb_rounds + 1, sizeof(*loss));
	uint32_t nb_fds, nb_maps;
	uint64_t rss_kb = 0;
	pid_t innocent;

	must(loss);
	weftd = daemon_pid;
	innocent = start();
	if (innocent == 0)
		crash_innocent(crash_dev[0], crash_dev[1]);
	wait_ready(1);
	nap_us(50000);
	nb_fds = daemon_nb_fds();
	nb_maps = daemon_nb_maps();
	for (uint32_t i = 0; i < nb_rounds; i++) {
		const struct crash_op *op = &crash_ops[i % crash_nb_ops];
		uint64_t before = atomic_load(&board->nb_bytes);

		printf("round %u: %s\n", i, op->name);
		kill_one(op, is_long ? &loss[i] : NULL);
		must(settles(nb_fds, nb_maps));
		must(waitpid(innocent, NULL, WNOHANG) == 0);
		must(atomic_load(&board->nb_bytes) > before);
		if (i == nb_rounds / 4)
			rss_kb = daemon_rss_kb();
	}
	atomic_store(&board->stop, true);
	must(is_fine(innocent));
	printf("rss %lu KB after a quarter of the rounds, %lu KB at the end\n",
	       (unsigned long)rss_kb, (unsigned long)daemon_rss_kb());
	qsort(loss, nb_rounds, sizeof(*loss), compare_doubles);
	if (is_long)
		printf("others lost in the 100 ms after a kill: median %.1f %%, 90th percentile "
		       "%.1f %%\n",
		       100 * loss[nb_rounds / 2], 100 * loss[nb_rounds * 9 / 10]);
	free(loss);
}

/* ---- the daemon dies ---- */

static void
start_daemon(const char *conf)
{
	weftd = start();
	if (weftd)
		return;
	unsetenv("LD_PRELOAD");
	execl(getenv("WEFTD"), getenv("WEFTD"), conf, (char *)NULL);
	_exit(127);
}

/* Whether a device is there and can be opened. */
static bool
is_there(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;

	for (uint32_t i = 0; list && list[i] && !context; i++)
		if (strcmp(ibv_get_device_name(list[i]), name) == 0)
			context = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	return context && ibv_close_device(context) == 0;
}

static void
wait_for_devices(void)
{
	uint64_t limit_ns = crash_now_ns() + UINT64_C(60000000000);

	while (!is_there(crash_dev[0]) || !is_there(crash_dev[1])) {
		must(crash_now_ns() < limit_ns);
		nap_us(10000);
	}
}

/* The two devices are there again, and carry data. */
static void
open_again(void)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED};
	struct pair p;

	wait_for_devices();
	pair_open(&p, crash_dev[0], crash_dev[1], IBV_QPT_RC);
	memset(p.a.buffer, 0x77, 5000);
	wr.wr.rdma.remote_addr = (uintptr_t)p.b.buffer;
	wr.wr.rdma.rkey = p.b.mr->rkey;
	end_send(&p.a, wr, 0, 5000);
	end_poll_good(&p.a);
	must(memcmp(p.a.buffer, p.b.buffer, 5000) == 0);
	pair_close(&p);
	exit(0);
}

static void
kill_daemon(const char *conf)
{
	pid_t pids[16];

	must(crash_nb_roles <= 16);
	atomic_store(&board->nb_ready, 0);
	atomic_store(&board->kill_ns, 0);
	for (uint32_t i = 0; i < crash_nb_roles; i++) {
		pids[i] = start();
		if (pids[i] == 0) {
			wait_for_devices();
			crash_roles[i].run();
			open_again();
		}
	}
	wait_ready(crash_nb_roles);
	nap_us(prng_below(&rng, 20000));
	atomic_store(&board->kill_ns, crash_now_ns());
	must(kill(weftd, SIGKILL) == 0);
	reap(weftd);
	start_daemon(conf);
	for (uint32_t i = 0; i < crash_nb_roles; i++) {
		bool fine = is_fine(pids[i]);

		if (!fine)
			fprintf(stderr, "%s: see above\n", crash_roles[i].name);
		must(fine);
	}
}

static void
daemon_dies(const char *conf)
{
	start_daemon(conf);
	for (uint32_t i = 0; i < nb_rounds; i++) {
		printf("round %u\n", i);
		kill_daemon(conf);
	}
	printf("longest time until a program knew: %.1f ms\n",
	       (double)atomic_load(&board->told_ns) / 1e6);
	/* The figure holds on a quiet machine, which only a long run may expect. */
	if (getenv("WEFT_TEST_LONG"))
		must(atomic_load(&board->told_ns) < 1000000000u);
	kill(weftd, SIGTERM);
	must(is_fine(weftd));
}

static void
host_dies(const char *conf, const char *dev2)
{
	pid_t innocent = start();
	uint64_t before;

	if (innocent == 0)
		crash_innocent(crash_dev[1], dev2);
	wait_ready(1);
	crash_dev1_lives = true;
	daemon_dies(conf);
	before = atomic_load(&board->nb_bytes);
	nap_us(100000);
	must(atomic_load(&board->nb_bytes) > before);
	atomic_store(&board->stop, true);
	must(is_fine(innocent));
}

int
main(int argc, char **argv)
{
	const char *seed_text = getenv("WEFT_SEED");
	uint64_t seed = seed_text ? strtoull(seed_text, NULL, 0) : crash_now_ns();

	must(argc >= 6);
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("WEFT_SEED=%llu\n", (unsigned long long)seed);
	prng_seed(&rng, seed);
	crash_dev[0] = argv[2];
	crash_dev[1] = argv[3];
	nb_rounds = (uint32_t)atoi(argv[4]);
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
	             0);
	must(board != MAP_FAILED && nb_rounds > 0);
	if (strcmp(argv[1], "apps") == 0)
		applications_die(atoi(argv[5]));
	else if (argc == 6)
		daemon_dies(argv[5]);
	else
		host_dies(argv[5], argv[6]);
	return 0;
}
