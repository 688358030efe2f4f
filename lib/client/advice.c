/* SPDX-License-Identifier: BSD-3-Clause */
#include "advice.h"

#include <assert.h>
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum advice { ADVICE_SOCKET, ADVICE_DEVICE, ADVICE_GID, ADVICE_GRH, ADVICE_REGISTRATION };

/** Whether this kind has not been told yet; now it is. */
static bool
first(enum advice what)
{
	static _Atomic uint32_t told;

	return !(atomic_fetch_or(&told, 1u << what) & 1u << what);
}

/** Its name if the machine knows one, else its number. */
static const char *
group_text(gid_t gid, char *text, size_t size)
{
	char buf[1024];
	struct group entry, *found = NULL;

	if (getgrgid_r(gid, &entry, buf, sizeof(buf), &found) == 0 && found)
		snprintf(text, size, "%s", found->gr_name);
	else
		snprintf(text, size, "%u", (unsigned)gid);
	return text;
}

void
advice_socket(const char *path, int err)
{
	char group[64];
	struct stat st;

	if (err != -EACCES || !first(ADVICE_SOCKET))
		return;
	if (stat(path, &st) == 0 && S_ISSOCK(st.st_mode))
		client_log("%s: no permission: its daemon serves group %s only; join that group, "
		           "or see 'group' in weft.conf(5)",
		           path, group_text(st.st_gid, group, sizeof(group)));
	else
		client_log("%s: no permission: its folder belongs to another user; ask him, or set "
		           "WEFT_RUNTIME_DIR to the folder of a daemon of yours",
		           path);
}

void
advice_device(const char *name, const char *known)
{
	if (!first(ADVICE_DEVICE))
		return;
	if (*known)
		client_log("no device %s: there are %s", name, known);
	else
		client_log("no device %s: no weftd is running that this user may use; start one "
		           "with 'weftd CONF'",
		           name);
}

void
advice_gid(const struct weft *weft, uint32_t index)
{
	if (first(ADVICE_GID))
		client_log(
			"%s: no GID index %u: the table ends at %u; see 'weft-run ibv_devinfo -v' "
			"for what is in it",
			weft->name, index, weft->info.nb_gids - 1);
}

void
advice_grh(void)
{
	if (first(ADVICE_GRH))
		client_log(
			"an address without a GRH, which RoCE needs: choose a GID, with -g INDEX "
			"for ibv_*_pingpong, -x INDEX for perftest; 'weft-run ibv_devinfo -v' "
			"shows them");
}

/** Cause and remedy of a registration that was refused. */
static const char *
why_not_registered(const struct weft *weft, const struct client_region *region, int err)
{
	switch (-err) {
	case EINVAL:
		return region->length == 0
		               ? "it is empty; name at least one byte"
		               : "remote writes and atomics need local write access as well";
	case EFAULT:
		return "not all of it is mapped; register what the program has allocated";
	case EACCES:
	case EPERM:
		return "the program itself may not write all of it; register it without write "
		       "access";
	case ENOMEM:
		return region->length > weft->info.max_mr_size
		               ? "it is longer than max_mr_size of 'weft-run ibv_devinfo -v'; "
		                 "register it in parts"
		               : "memory, or what this program may have of the daemon, is used "
		                 "up; free some, or raise the limit";
	}
	return strerror(-err);
}

void
advice_registration(const struct weft *weft, const struct client_region *region, int err)
{
	if (err != -ENODEV && first(ADVICE_REGISTRATION))
		client_log("%s: memory at 0x%llx, %llu bytes, is not registered: %s", weft->name,
		           (unsigned long long)region->va, (unsigned long long)region->length,
		           why_not_registered(weft, region, err));
}

void
advice_refusal(const char *name, enum ctl_op op, const char *why)
{
	static _Atomic uint32_t told;

	static_assert(CTL_NB <= 32, "a bit for each");
	if (!(atomic_fetch_or(&told, 1u << op) & 1u << op))
		client_log("%s %s", name, why);
}
