/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_SOCKDIR_H
#define WEFT_SOCKDIR_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Where daemons put their control sockets (DIR/NAME.sock) and applications look for them. Device
 * names are unique within one such folder.
 */

/** Ends the name of a control socket. */
#define SOCKDIR_SUFFIX ".sock"
/** And that of the socket for operators beside it. */
#define SOCKDIR_OPERATOR_SUFFIX ".ctl"

/** The folder of daemons that run as root, which every user may use. */
#define SOCKDIR_SYSTEM "/run/weft"

/**
 * The folder of a user's own daemons: $WEFT_RUNTIME_DIR if set (both ends must agree; for tests and
 * for several systems on one machine); SOCKDIR_SYSTEM for root; $XDG_RUNTIME_DIR/weft; or
 * /tmp/weft-UID. It need not exist. Variables are ignored in set-uid programs.
 *
 * @return 0, -ENAMETOOLONG, or -EINVAL if $WEFT_RUNTIME_DIR is not an absolute path: daemon and
 *         programs would look in different folders.
 */
int sockdir_path(uid_t uid, char *buf, size_t size);

/**
 * Whether sockets in a folder may be trusted by this user: it is a folder, owned by root or by the
 * user, and others cannot write to it. Else somebody could pose as the daemon. SOCKDIR_SYSTEM may
 * have any owner: only root can have made it, and for whom is root's choice (a service manager
 * gives it to the user of the daemons).
 *
 * @param[out] why  what is wrong, good for "PATH: WHY". Not written on success.
 * @return          0; -ENOENT, -ENOTDIR; -EPERM if the owner or the mode is wrong.
 */
int sockdir_check(const char *path, uid_t uid, const char **why);

#endif
