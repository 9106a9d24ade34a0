/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "tracefs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#define TRACEFS 0x74726163 /* its statfs type */
#define FILE_MAX (1u << 20)

int bridge_write(int dir, const char *path, const char *text)
{
	int fd = openat(dir, path, O_WRONLY | O_CLOEXEC | O_TRUNC), err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		err = -errno;
	close(fd);
	return err;
}

char *bridge_read(int dir, const char *path)
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	size_t size = 0, room = 4096;
	char *text = NULL, *more;
	ssize_t n = -1;

	if (fd < 0)
		return NULL;
	for (;;) {
		more = realloc(text, room);
		if (!more)
			break;
		text = more;
		while ((n = read(fd, text + size, room - size - 1)) > 0)
			size += (size_t)n;
		if (n < 0 || size < room - 1 || room >= FILE_MAX)
			break;
		room *= 2;
	}
	close(fd);
	if (n < 0 || !more) {
		free(text);
		return NULL;
	}
	text[size] = 0;
	return text;
}

/* ---- where it is ---- */

static bool is_tracefs(const char *path)
{
	struct statfs fs;

	return !statfs(path, &fs) && (unsigned long)fs.f_type == TRACEFS;
}

static bool find_root(struct bridge_tracefs *fs)
{
	static const char *const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(fs->root, sizeof(fs->root), "%s", places[i]);
		if (is_tracefs(fs->root))
			return true;
	}
	snprintf(fs->root, sizeof(fs->root), "%s", places[0]);
	if (mount("nodev", fs->root, "tracefs", 0, NULL)) {
		fprintf(stderr,
			"ringside-guest: this kernel's tracefs cannot be mounted on %s: %s\n",
			fs->root, strerror(errno));
		return false;
	}
	fs->mounted = true;
	return true;
}

/* ---- the instance ---- */

static bool say(const char *what, int err)
{
	fprintf(stderr, "ringside-guest: %s: %s\n", what, strerror(-err));
	return false;
}

/* Locked, so that two bridges do not take each other's for one that was left. */
static bool lock_instance(struct bridge_tracefs *fs)
{
	fs->dir = open(fs->instance, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fs->dir < 0)
		return say(fs->instance, -errno);
	if (!flock(fs->dir, LOCK_EX | LOCK_NB))
		return true;
	fprintf(stderr, "ringside-guest: another one is at work in %s\n", fs->instance);
	close(fs->dir);
	fs->dir = -1;
	fs->taken = true;
	return false;
}

static void remove_instance(struct bridge_tracefs *fs)
{
	bridge_write(fs->dir, "tracing_on", "0");
	bridge_write(fs->dir, "events/enable", "0");
	close(fs->dir);
	fs->dir = -1;
	if (rmdir(fs->instance))
		say(fs->instance, -errno);
}

static bool make_instance(struct bridge_tracefs *fs)
{
	snprintf(fs->instance, sizeof(fs->instance), "%s/instances/" BRIDGE_INSTANCE, fs->root);
	for (int tries = 0; tries < 2; tries++) {
		if (!mkdir(fs->instance, 0700)) {
			if (lock_instance(fs))
				return true;
			break;
		}
		if (errno != EEXIST) {
			say(fs->instance, -errno);
			break;
		}
		/* A bridge was killed. What it left is as it left it. */
		if (!lock_instance(fs))
			break;
		remove_instance(fs);
	}
	fs->instance[0] = 0;
	return false;
}

static bool set_up(struct bridge_tracefs *fs, unsigned long ring_kb)
{
	char number[32];
	int err = bridge_write(fs->dir, "trace_clock", "x86-tsc");

	if (err)
		return say("this kernel has no trace clock x86-tsc", err);
	snprintf(number, sizeof(number), "%lu", ring_kb);
	err = bridge_write(fs->dir, "buffer_size_kb", number);
	if (err)
		return say("the size of ftrace's rings (--ring) cannot be set", err);
	/* Names of tasks that end before they are read. */
	bridge_write(fs->dir, "options/record-cmd", "1");
	err = bridge_write(fs->dir, "tracing_on", "1");
	return !err || say("tracing_on", err);
}

bool bridge_tracefs_open(struct bridge_tracefs *fs, unsigned long ring_kb)
{
	*fs = (struct bridge_tracefs){.top = -1, .dir = -1};
	if (!find_root(fs))
		return false;
	fs->top = open(fs->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fs->top >= 0 && make_instance(fs) && set_up(fs, ring_kb))
		return true;
	bridge_tracefs_close(fs);
	return false;
}

void bridge_tracefs_close(struct bridge_tracefs *fs)
{
	if (fs->dir >= 0)
		remove_instance(fs);
	if (fs->top >= 0)
		close(fs->top);
	if (fs->mounted)
		umount2(fs->root, MNT_DETACH);
	*fs = (struct bridge_tracefs){.top = -1, .dir = -1, .taken = fs->taken};
}

void bridge_tracefs_hide_thread(const struct bridge_tracefs *fs)
{
	char number[32];
	int fd = openat(fs->dir, "set_event_notrace_pid", O_WRONLY | O_APPEND | O_CLOEXEC);
	int size = snprintf(number, sizeof(number), "%ld\n", (long)syscall(SYS_gettid));

	if (fd < 0)
		return; /* kernels before 5.7: the bridge sees itself */
	if (write(fd, number, (size_t)size) < 0)
		say("set_event_notrace_pid", -errno);
	close(fd);
}
