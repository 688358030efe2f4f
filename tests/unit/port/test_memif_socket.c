/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "memif_socket.h"

static char dir[] = "/tmp/memif-XXXXXX";
static char path[64], why[256];

static void
start(void)
{
	cr_assert(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/m.sock", dir);
}

static void
end(void)
{
	unlink(path);
	rmdir(dir);
}

/** A socket that is bound to the path; listening, if type is SOCK_SEQPACKET or SOCK_STREAM. */
static int
serve(int type, bool listens)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, type, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	cr_assert_eq(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	if (listens)
		cr_assert_eq(listen(fd, 1), 0);
	return fd;
}

static int
check(bool is_server)
{
	why[0] = 0;
	return memif_socket_check(path, is_server, why, sizeof(why));
}

TestSuite(memif_socket, .init = start, .fini = end);

Test(memif_socket, a_free_name_is_fine_for_both)
{
	cr_expect_eq(check(true), 0);
	cr_expect_eq(check(false), 0);
}

Test(memif_socket, a_folder_that_is_missing_is_named)
{
	char expected[128];

	snprintf(path, sizeof(path), "%s/none/m.sock", dir);
	snprintf(expected, sizeof(expected), "there is no folder %s/none: make it", dir);
	for (int is_server = 0; is_server < 2; is_server++) {
		cr_expect_eq(check(is_server), -ENOENT);
		cr_expect(strstr(why, expected), "%s", why);
	}
}

Test(memif_socket, a_folder_of_somebody_else_is_told)
{
	if (geteuid() != 0)
		cr_skip_test("only root can be somebody else");
	cr_assert_eq(chmod(dir, 0755), 0);
	cr_assert_eq(seteuid(65534), 0);
	cr_expect_eq(check(true), -EACCES);
	cr_expect(strstr(why, "user 65534 may not make files in"), "%s", why);
	cr_assert_eq(seteuid(0), 0);
}

Test(memif_socket, what_a_killed_server_left_is_removed)
{
	close(serve(SOCK_SEQPACKET, true));
	cr_expect_eq(check(false), 0);
	cr_expect_eq(access(path, F_OK), 0, "a client removes nothing");
	cr_expect_eq(check(true), 0);
	cr_expect_eq(access(path, F_OK), -1);
}

Test(memif_socket, a_socket_in_use_is_left_alone)
{
	static const int types[] = {SOCK_SEQPACKET, SOCK_STREAM, SOCK_DGRAM};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		int fd = serve(types[i], types[i] != SOCK_DGRAM);

		for (int again = 0; again < 3; again++) {
			cr_expect_eq(check(true), -EADDRINUSE, "%zu", i);
			cr_expect(strstr(why, "another process serves it"), "%s", why);
		}
		cr_expect_eq(access(path, F_OK), 0);
		close(fd);
		unlink(path);
	}
}

Test(memif_socket, a_file_is_left_alone)
{
	FILE *f = fopen(path, "w");

	cr_assert(f);
	fclose(f);
	cr_expect_eq(check(true), -EEXIST);
	cr_expect(strstr(why, "no socket: remove it"), "%s", why);
	cr_expect_eq(access(path, F_OK), 0);
}

Test(memif_socket, a_name_that_cannot_be_looked_at_is_told_of)
{
	char name[400], told[512];

	snprintf(name, sizeof(name), "%s/%0300d", dir, 0);
	cr_expect_eq(memif_socket_check(name, true, told, sizeof(told)), -ENAMETOOLONG);
	cr_expect(strstr(told, strerror(ENAMETOOLONG)), "%s", told);
}
