/* SPDX-License-Identifier: BSD-3-Clause */
#include "control.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "drains.h"
#include "listen.h"
#include "log.h"
#include "notify.h"
#include "session.h"
#include "sockdir.h"

/* When the system was short of something, try again after this. Source: our choice. */
#define RETRY_MS 100

int
control_watch(struct control *control, struct watch *watch, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = watch};

	return epoll_ctl(control->epoll_fd, EPOLL_CTL_ADD, watch->fd, &event) < 0 ? -errno : 0;
}

void
control_rearm(struct control *control, struct watch *watch, uint32_t events)
{
	struct epoll_event event = {.events = events | EPOLLONESHOT, .data.ptr = watch};

	epoll_ctl(control->epoll_fd, EPOLL_CTL_MOD, watch->fd, &event);
}

void
control_unwatch(struct control *control, struct watch *watch)
{
	epoll_ctl(control->epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
}

/* Listen only while another application can be served; the others wait in the kernel's queue. */
static void
set_listening(struct control *control, bool on)
{
	if (on == control->listening)
		return;
	control->listening = on;
	if (on)
		control_watch(control, &control->listener, EPOLLIN);
	else
		control_unwatch(control, &control->listener);
}

static void
signal_ready(struct watch *watch, uint32_t events)
{
	struct control *control = container_of(watch, struct control, signals);
	struct signalfd_siginfo info;

	(void)events;
	if (read(watch->fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGUSR1) {
		control->tell_counters(control->tell_arg);
		return;
	}
	if (control->ending) {
		log_info("%s: ending at once", strsignal((int)info.ssi_signo));
		drains_finish(control);
		return;
	}
	log_info("%s: ending", strsignal((int)info.ssi_signo));
	notify_manager("STOPPING=1");
	control->ending = true;
	drains_begin(control, NULL);
}

void
control_drained(struct control *control)
{
	control->drained(control->drained_arg);
	control->stop = control->ending;
}

/* The system is short of something: that may end at any time, and nobody would tell. */
static void
pause_listening(struct control *control, int err)
{
	if (!control->short_of)
		log_warn("no application more for now: %s", strerror(err));
	control->short_of = err;
	set_listening(control, false);
}

static void
listener_ready(struct watch *watch, uint32_t events)
{
	struct control *control = container_of(watch, struct control, listener);
	int fd = accept4(watch->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)events;
	if (fd >= 0) {
		control->short_of = 0;
		if (control->ending)
			client_turn_away(fd, ESHUTDOWN);
		else
			client_create(control, fd);
	} else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
		pause_listening(control, errno);
	}
	if (control->nb_clients >= CONTROL_MAX_CLIENTS) {
		log_warn("%u applications: no more until one ends", control->nb_clients);
		set_listening(control, false);
	}
}

void
control_client_gone(struct control *control)
{
	set_listening(control, true);
}

/* The folder of sockets, made if it is not there. */
static int
open_folder(char *dir, size_t size)
{
	uid_t uid = geteuid();
	int err = sockdir_path(uid, dir, size);
	const char *why;

	if (err == -EINVAL) {
		log_error("WEFT_RUNTIME_DIR is not an absolute path");
		return err;
	}
	if (err) {
		log_error("the path of the socket folder is too long");
		return err;
	}
	if (mkdir(dir, uid == 0 ? 0755 : 0700) < 0 && errno != EEXIST) {
		err = -errno;
		log_error("%s: %s", dir,
		          err == -ENOENT ? "the folder above it is not there: make it"
		                         : strerror(-err));
		return err;
	}
	err = sockdir_check(dir, uid, &why);
	if (err)
		log_error("%s: %s", dir, why);
	return err;
}

static int
take_name(struct claim *claim, const char *dir, const char *kind, const char *name,
          const char *suffix, const char *text)
{
	char file[64], holder[128];
	int err;

	snprintf(file, sizeof(file), "%s%s", name, suffix);
	err = claim_take(claim, dir, file, text, holder, sizeof(holder));
	if (err == -EBUSY)
		log_error("%s %s: held by %s, in %s; end that one, or use another name", kind, name,
		          holder, dir);
	else if (err)
		log_error("%s/%s: %s", dir, file, strerror(-err));
	return err;
}

static int
take_names(struct control *control, const struct control_conf *conf, const char *dir)
{
	char text[128];
	int err;

	snprintf(text, sizeof(text), "daemon %s (pid %d)", conf->name, (int)getpid());
	err = take_name(&control->claim, dir, "daemon", conf->name, ".lock", text);
	for (uint32_t i = 0; i < control->nb_devices && !err; i++)
		err = take_name(&control->devices[i].claim, dir, "device", control->devices[i].name,
		                ".device", text);
	return err;
}

static int
bind_socket(struct control *control, const struct control_conf *conf)
{
	bool for_all = conf->gid == (gid_t)-1;
	int fd;

	snprintf(control->socket_path, sizeof(control->socket_path), "%s/%s%s", control->dir,
	         conf->name, SOCKDIR_SUFFIX);
	fd = listen_at(control->socket_path, SOCK_SEQPACKET, for_all ? 0666 : 0660, conf->gid);
	if (fd < 0)
		return fd;
	control->listener = (struct watch){.fd = fd, .ready = listener_ready};
	return 0;
}

static int
open_signals(struct control *control)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR1);
	control->signals.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	control->signals.ready = signal_ready;
	return control->signals.fd < 0 ? -errno
	                               : control_watch(control, &control->signals, EPOLLIN);
}

static uint64_t
half_of_memory(void)
{
	struct sysinfo info;

	return sysinfo(&info) < 0 ? 0 : (uint64_t)info.totalram * info.mem_unit / 2;
}

static bool
reclaim(void *arg)
{
	return clients_give_back(arg);
}

static void
open_accounts(struct control *control, const struct account_limits *limits)
{
	struct account_limits all = *limits;

	if (!all.of_client[ACCOUNT_MEMORY])
		all.of_client[ACCOUNT_MEMORY] = half_of_memory();
	if (!all.of_user[ACCOUNT_MEMORY])
		all.of_user[ACCOUNT_MEMORY] = half_of_memory();
	accounts_init(&control->accounts, &all);
	control->accounts.reclaim = reclaim;
	control->accounts.reclaim_arg = control;
}

int
control_open(struct control *control, const struct control_conf *conf)
{
	int err;

	*control = (struct control){
		.devices = conf->devices,
		.nb_devices = conf->nb_devices,
		.client_doorbells = conf->client_doorbells,
		.userfaultfd = conf->userfaultfd,
		.tell_counters = conf->tell_counters,
		.tell_arg = conf->tell_arg,
		.drain_ns = conf->drain_ns,
		.drained = conf->drained,
		.drained_arg = conf->drained_arg,
		.drain_clock.fd = -1,
		.listener.fd = -1,
		.signals.fd = -1,
		.closer.fds = {-1, -1},
		.claim.fd = -1,
	};
	list_init(&control->clients);
	list_init(&control->ended);
	pthread_mutex_init(&control->clients_lock, NULL);
	open_accounts(control, &conf->limits);
	for (uint32_t i = 0; i < control->nb_devices; i++)
		control->devices[i].claim.fd = -1;
	control->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	err = control->epoll_fd < 0 ? -errno : open_signals(control);
	if (!err)
		err = closer_start(&control->closer);
	if (!err)
		err = drains_open(control);
	if (err) {
		log_error("control thread: %s", strerror(-err));
		goto fail;
	}
	err = open_folder(control->dir, sizeof(control->dir));
	if (!err)
		err = take_names(control, conf, control->dir);
	if (!err)
		err = bind_socket(control, conf);
	if (!err)
		return 0;
fail:
	control_close(control);
	return err;
}

void
control_run(struct control *control)
{
	set_listening(control, true);
	while (!control->stop) {
		struct epoll_event event = {0};
		/* Those who wait don't wait for all that a large program leaves. */
		int timeout_ms = clients_give_back(control) ? 0 : control->short_of ? RETRY_MS : -1;
		/* One at a time: what is ready next may be gone after this one. */
		int n = epoll_wait(control->epoll_fd, &event, 1, timeout_ms);
		struct watch *watch = event.data.ptr;

		if (n == 1)
			watch->ready(watch, event.events);
		if (control->short_of && watch != &control->listener)
			set_listening(control, true);
	}
}

void
control_close(struct control *control)
{
	if (control->listener.fd >= 0) {
		unlink(control->socket_path);
		close(control->listener.fd);
	}
	while (clients_give_back(control))
		;
	while (!list_is_empty(&control->clients)) {
		client_destroy(container_of(control->clients.next, struct client, link));
		while (clients_give_back(control))
			;
	}
	for (uint32_t i = 0; i < control->nb_devices; i++)
		claim_drop(&control->devices[i].claim);
	claim_drop(&control->claim);
	closer_stop(&control->closer);
	drains_close(control);
	keytab_fini(&control->pds);
	accounts_fini(&control->accounts);
	pthread_mutex_destroy(&control->clients_lock);
	if (control->signals.fd >= 0)
		close(control->signals.fd);
	if (control->epoll_fd >= 0)
		close(control->epoll_fd);
}
