/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sockdir.h"

Test(sockdir, follows_the_variables_and_the_user)
{
	static const struct {
		const char *own, *xdg;
		uid_t uid;
		const char *want;
	} rows[] = {
		{NULL, NULL, 0, "/run/weft"},
		{NULL, "/run/user/0", 0, "/run/weft"},
		{NULL, "/run/user/7", 7, "/run/user/7/weft"},
		{NULL, NULL, 7, "/tmp/weft-7"},
		{NULL, "", 7, "/tmp/weft-7"},
		{"/x/y", "/run/user/7", 7, "/x/y"},
		{"/x/y", NULL, 0, "/x/y"},
	};
	char buf[64];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		unsetenv("WEFT_RUNTIME_DIR");
		unsetenv("XDG_RUNTIME_DIR");
		if (rows[i].own)
			setenv("WEFT_RUNTIME_DIR", rows[i].own, 1);
		if (rows[i].xdg)
			setenv("XDG_RUNTIME_DIR", rows[i].xdg, 1);
		cr_assert_eq(sockdir_path(rows[i].uid, buf, sizeof(buf)), 0, "row %zu", i);
		cr_expect_str_eq(buf, rows[i].want, "row %zu", i);
	}
	cr_expect_eq(sockdir_path(0, buf, 4), -ENAMETOOLONG);
	setenv("WEFT_RUNTIME_DIR", "x/y", 1);
	cr_expect_eq(sockdir_path(0, buf, sizeof(buf)), -EINVAL, "not absolute");
	cr_expect_eq(sockdir_path(7, buf, sizeof(buf)), -EINVAL, "not absolute");
}

Test(sockdir, trusts_only_folders_of_root_or_the_user)
{
	char dir[] = "/tmp/weft-sockdir-XXXXXX", file[64], link[64];
	const char *why = NULL;
	uid_t me = geteuid();

	cr_assert_not_null(mkdtemp(dir));
	snprintf(file, sizeof(file), "%s/file", dir);
	snprintf(link, sizeof(link), "%s/link", dir);
	fclose(fopen(file, "w"));
	cr_assert_eq(symlink(dir, link), 0);

	cr_expect_eq(sockdir_check(dir, me, &why), 0);
	cr_expect_eq(sockdir_check(dir, me + 1, &why), me == 0 ? 0 : -EPERM);
	cr_expect_eq(sockdir_check(file, me, &why), -ENOTDIR);
	cr_expect_str_eq(why, "Not a directory");
	cr_expect_eq(sockdir_check(link, me, &why), -ENOTDIR);
	cr_expect_eq(sockdir_check("/no/such/folder", me, &why), -ENOENT);
	cr_expect_str_eq(why, "No such file or directory");
	cr_expect_eq(sockdir_check("/tmp", me, &why), -EPERM);
	cr_expect_str_eq(why, "others may write there");
	chmod(dir, 0777);
	cr_expect_eq(sockdir_check(dir, me, &why), -EPERM);
	cr_expect_str_eq(why, "others may write there");
	if (me == 0) {
		/* Whoever owns it, its mode is no excuse. */
		cr_assert_eq(chown(dir, 7, 7), 0);
		cr_expect_eq(sockdir_check(dir, me, &why), -EPERM);
		cr_expect_str_eq(why, "it belongs to another user");
	}

	unlink(file);
	unlink(link);
	rmdir(dir);
}
