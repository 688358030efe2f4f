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

/* More than this in half of the rounds would be a leak. Source: our choice, see the figures. */
#define CRASH_RSS_KB 4096

struct crash_board *board;
const char *crash_dev[2];
bool crash_dev1_lives;

static struct prng rng;
static pid_t weftd;
static pid_t innocent; /* 0 = there is none */
static uint32_t nb_rounds;

uint64_t
crash_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void
crash_nap_us(uint64_t us)
{
	nanosleep(&(struct timespec){(time_t)(us / 1000000), (long)(us % 1000000 * 1000)}, NULL);
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
		crash_nap_us(200);
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

/* The innocent has met no error, and moves more bytes, all of which it compares. */
static void
must_go_on(void)
{
	uint64_t before = atomic_load(&board->nb_bytes), limit_ns = crash_now_ns() + 20000000000u;

	do {
		must(waitpid(innocent, NULL, WNOHANG) == 0);
		must(crash_now_ns() < limit_ns);
		crash_nap_us(200);
	} while (atomic_load(&board->nb_bytes) < before + 4 * CRASH_INNOCENT_BYTES);
}

/* ---- applications die ---- */

/* What each round of a long run measures. */
static struct crash_losses of_nothing, of_stranger, of_victim;

/* The same load as a victim is before it is killed, with a kill that is none of weft's, or none. */
static void
measure_others(const struct crash_op *op)
{
	pid_t stranger;

	crash_nap_us(600000 + prng_below(&rng, 15000));
	crash_loss_take(&of_nothing, crash_now_ns());
	stranger = start();
	if (stranger == 0)
		crash_stranger(PAIR_BYTES + op->bytes);
	crash_nap_us(600000 + prng_below(&rng, 15000));
	must(kill(stranger, SIGKILL) == 0);
	crash_loss_take(&of_stranger, crash_now_ns());
	reap(stranger);
	crash_nap_us(600000);
}

/* One victim and its peer; killed while it opens and connects, or in the middle of its work. */
static void
kill_one(const struct crash_op *op)
{
	uint32_t nb_ready = atomic_load(&board->nb_ready);
	bool early = prng_below(&rng, 4) == 0, is_measured = !early && getenv("WEFT_TEST_LONG");
	pid_t victim, peer;
	uint64_t kill_ns;
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
	if (is_measured)
		measure_others(op);
	crash_nap_us(prng_below(&rng, 15000));
	kill_ns = crash_now_ns();
	must(kill(victim, SIGKILL) == 0);
	if (is_measured)
		crash_loss_take(&of_victim, kill_ns);
	reap(victim);
	must(is_fine(peer));
}

static void
applications_die(pid_t daemon_pid)
{
	struct crash_held before;
	uint64_t rss_kb = 0, rss_end_kb;

	weftd = daemon_pid;
	innocent = start();
	if (innocent == 0)
		crash_innocent(crash_dev[0], crash_dev[1]);
	wait_ready(1);
	crash_nap_us(50000);
	before = crash_held(weftd);
	crash_held_tell(&before);
	must(before.nb[HELD_QPS] == 2 && before.nb[HELD_NIC_QPS] == 2);
	for (uint32_t i = 0; i < nb_rounds; i++) {
		const struct crash_op *op = &crash_ops[i % crash_nb_ops];

		printf("round %u: %s\n", i, op->name);
		kill_one(op);
		must_go_on();
		must(crash_held_again(weftd, &before));
		if (i == nb_rounds / 2)
			rss_kb = crash_rss_kb(weftd);
	}
	rss_end_kb = crash_rss_kb(weftd);
	atomic_store(&board->stop, true);
	must(is_fine(innocent));
	printf("rss %lu KB after half of the rounds, %lu KB at the end\n", (unsigned long)rss_kb,
	       (unsigned long)rss_end_kb);
	crash_loss_tell("nothing killed", &of_nothing);
	crash_loss_tell("a stranger killed", &of_stranger);
	crash_loss_tell("a victim killed", &of_victim);
	/* ASan keeps what was freed. */
	if (!getenv("WEFT_E2E_PRELOAD"))
		must(rss_end_kb < rss_kb + CRASH_RSS_KB);
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

/*
 * Whether a device is there, can be opened, and its link is up: what is sent before is lost, and on
 * a busy machine two processes may need longer to find each other than a QP waits.
 */
static bool
is_there(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;
	struct ibv_port_attr port;
	bool is_up;

	for (uint32_t i = 0; list && list[i] && !context; i++)
		if (strcmp(ibv_get_device_name(list[i]), name) == 0)
			context = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	if (!context)
		return false;
	is_up = ibv_query_port(context, 1, &port) == 0 && port.state == IBV_PORT_ACTIVE;
	return ibv_close_device(context) == 0 && is_up;
}

static void
wait_for_devices(void)
{
	uint64_t limit_ns = crash_now_ns() + UINT64_C(60000000000);

	while (!is_there(crash_dev[0]) || !is_there(crash_dev[1])) {
		must(crash_now_ns() < limit_ns);
		crash_nap_us(10000);
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
	crash_nap_us(prng_below(&rng, 20000));
	atomic_store(&board->kill_ns, crash_now_ns());
	must(kill(weftd, SIGKILL) == 0);
	reap(weftd);
	start_daemon(conf);
	if (innocent)
		must_go_on();
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
	innocent = start();
	if (innocent == 0)
		crash_innocent(crash_dev[1], dev2);
	wait_ready(1);
	crash_dev1_lives = true;
	daemon_dies(conf);
	must_go_on();
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
	board->start_ns = crash_now_ns();
	if (strcmp(argv[1], "apps") == 0)
		applications_die(atoi(argv[5]));
	else if (argc == 6)
		daemon_dies(argv[5]);
	else
		host_dies(argv[5], argv[6]);
	return 0;
}
