/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "backing.h"
#include "client.h"
#include "fake.h"

static struct fake daemon_;

static bool
count(void *arg, const char *path, const struct ctl_list *list)
{
	(void)path;
	*(uint32_t *)arg += list->nb_devices;
	return false;
}

static uint32_t
nb_open_fds(void)
{
	uint32_t nb = 0;

	for (int fd = 0; fd < 256; fd++)
		nb += fcntl(fd, F_GETFD) >= 0;
	return nb;
}

Test(ctl, a_device_opens_by_name_or_as_the_first)
{
	static const struct {
		const char *name;
		int want;
	} rows[] = {{FAKE_DEVICE, 0}, {NULL, 0}, {"fake1", -ENODEV}, {"", -ENODEV}};

	fake_start(&daemon_, NULL);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct weft *weft = NULL;

		cr_expect_eq(client_open(rows[i].name, &weft), rows[i].want, "row %zu", i);
		if (rows[i].want)
			continue;
		cr_expect_str_eq(weft->name, FAKE_DEVICE);
		cr_expect_eq(weft->info.nb_gids, 4);
		cr_expect(client_alive(weft));
		client_close(weft);
	}
	fake_kill(&daemon_);
}

Test(ctl, nonsense_from_the_daemon_is_its_death_and_leaks_no_descriptor)
{
	static const struct {
		enum ctl_op op;
		enum fake_lie lie;
		int want;
	} rows[] = {
		{CTL_NEW_CHANNEL, FAKE_SHORT, -ENODEV},
		{CTL_NEW_CHANNEL, FAKE_WRONG_OP, -ENODEV},
		{CTL_NEW_CHANNEL, FAKE_WRONG_LEN, -ENODEV},
		{CTL_NEW_CHANNEL, FAKE_NEGATIVE, -ENODEV},
		{CTL_NEW_CHANNEL, FAKE_NO_FDS, -ENODEV},
		{CTL_NEW_CHANNEL, FAKE_MANY_FDS, 0},
		{CTL_NEW_CHANNEL, FAKE_SILENT, -ENODEV},
		{CTL_NEW_CHANNEL, FAKE_REFUSE, -EACCES},
		{CTL_CREATE_CQ, FAKE_MANY_FDS, 0},
		{CTL_CREATE_CQ, FAKE_SHORT, -ENODEV},
		{CTL_CREATE_CQ, FAKE_REFUSE, -EACCES},
		{CTL_CREATE_CQ, FAKE_BAD_RING, -EPROTO},
		{CTL_CREATE_QP, FAKE_BAD_RING, -EPROTO},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct fake_conf conf = {.lie_op = rows[i].op, .lie = rows[i].lie};
		struct weft_channel channel;
		struct weft_cq cq = {0};
		struct weft_qp qp = {0};
		struct weft *weft;
		uint32_t nb_fds;
		int got;

		fake_start(&daemon_, &conf);
		cr_assert_eq(client_open(NULL, &weft), 0);
		nb_fds = nb_open_fds();
		got = client_channel_init(&channel, weft);
		if (!got)
			client_channel_fini(&channel);
		if (!got)
			got = client_cq_init(&cq, weft, 10, NULL);
		if (!got) {
			const struct client_qp_init init = {.type = SHM_QPT_RC,
			                                    .send_cq = &cq,
			                                    .recv_cq = &cq,
			                                    .cap = {4, 4, 2, 2, 64}};

			got = client_qp_init(&qp, weft, &init);
		}
		cr_expect_eq(got, rows[i].want, "row %zu: %d", i, got);
		cr_expect_eq(atomic_load(&weft->dead), rows[i].want == -ENODEV, "row %zu", i);
		cr_expect_eq(nb_open_fds(), nb_fds, "row %zu", i);
		client_close(weft);
		fake_kill(&daemon_);
	}
}

/* The daemon has not made anything then, and the device goes on. */
Test(ctl, a_program_without_free_descriptors_is_told_so_and_keeps_its_device)
{
	struct weft_channel channel;
	struct rlimit few, many;
	struct backing *backing;
	struct weft *weft;
	int free_fd;

	fake_start(&daemon_, NULL);
	cr_assert_eq(client_open(NULL, &weft), 0);
	getrlimit(RLIMIT_NOFILE, &many);
	free_fd = dup(0);
	close(free_fd);
	few = (struct rlimit){.rlim_cur = (rlim_t)free_fd, .rlim_max = many.rlim_max};
	setrlimit(RLIMIT_NOFILE, &few);
	cr_expect_eq(client_channel_init(&channel, weft), -EMFILE);
	cr_expect_eq(backing_create(weft, BACKING_ALLOCATED, 4096, &backing), -EMFILE);
	cr_expect(client_alive(weft));
	setrlimit(RLIMIT_NOFILE, &many);
	cr_expect_eq(client_channel_init(&channel, weft), 0);
	cr_expect_eq(client_channel_fini(&channel), 0);
	client_close(weft);
	fake_kill(&daemon_);
}

Test(ctl, opening_ends_cleanly_whatever_the_daemon_says)
{
	static const enum fake_lie lies[] = {FAKE_SHORT,  FAKE_WRONG_OP, FAKE_WRONG_LEN,
	                                     FAKE_NO_FDS, FAKE_SILENT,   FAKE_REFUSE};
	uint32_t nb_fds = nb_open_fds();

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		const struct fake_conf conf = {.lie_op = CTL_OPEN, .lie = lies[i]};
		struct weft *weft;

		fake_start(&daemon_, &conf);
		cr_expect_lt(client_open(NULL, &weft), 0, "row %zu", i);
		cr_expect_eq(nb_open_fds(), nb_fds, "row %zu", i);
		fake_kill(&daemon_);
	}
}

Test(ctl, stale_sockets_and_daemons_of_another_version_offer_nothing)
{
	const struct fake_conf other = {.version = WEFT_ABI_VERSION + 1};
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	uint32_t nb = 0;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	fake_start(&daemon_, NULL);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/a.sock", daemon_.dir);
	cr_assert_eq(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	close(fd);
	cr_expect_eq(client_discover(count, &nb), 1);
	cr_expect_eq(nb, 1);
	unlink(addr.sun_path);
	fake_kill(&daemon_);

	fake_start(&daemon_, &other);
	cr_expect_eq(client_discover(count, &nb), 0);
	fake_kill(&daemon_);
}

Test(ctl, the_search_is_narrowed_by_names_and_paths)
{
	char path[128];
	uint32_t nb = 0;

	fake_start(&daemon_, NULL);
	snprintf(path, sizeof(path), "nobody,%s/none.sock", daemon_.dir);
	setenv("WEFT_SOCKET", path, 1);
	cr_expect_eq(client_discover(count, &nb), 0);
	setenv("WEFT_SOCKET", "nobody,fake", 1);
	cr_expect_eq(client_discover(count, &nb), 1);
	snprintf(path, sizeof(path), "%s/fake.sock", daemon_.dir);
	setenv("WEFT_SOCKET", path, 1);
	cr_expect_eq(client_discover(count, &nb), 1);
	fake_kill(&daemon_);
}

Test(ctl, a_folder_in_which_others_may_write_is_ignored)
{
	uint32_t nb = 0;

	fake_start(&daemon_, NULL);
	chmod(daemon_.dir, 0777);
	cr_expect_eq(client_discover(count, &nb), 0);
	setenv("WEFT_SOCKET", "fake", 1);
	cr_expect_eq(client_discover(count, &nb), 0);
	chmod(daemon_.dir, 0700);
	cr_expect_eq(client_discover(count, &nb), 1);
	fake_kill(&daemon_);
}
