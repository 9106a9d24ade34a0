/* SPDX-License-Identifier: MIT */
#include "qemu/private.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define PAUSED '1' /* the file's only byte; another one: not paused by us */
#define RUNS '0'

int rs_qemu_reserve_mark(struct rs_qemu *qemu, struct rs_error *err)
{
	int fd = open(qemu->pause_path, O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
		      0600);
	char byte = RUNS;
	int rc = fd < 0 ? -errno : 0;

	/* A mark that was left behind stays. */
	if (rc == 0 && pread(fd, &byte, 1, 0) != 1)
		rc = -posix_fallocate(fd, 0, 1);
	if (rc == 0 && pwrite(fd, &byte, 1, 0) != 1)
		rc = -errno;
	if (rc == 0) {
		qemu->mark_fd = fd;
		return 0;
	}
	if (fd >= 0)
		close(fd);
	return rs_error_set(err, -rc, "cannot reserve %s, which says that a guest is paused: %s",
			    qemu->pause_path, g_strerror(-rc));
}

bool rs_qemu_mark_says_paused(int fd)
{
	char byte;

	return pread(fd, &byte, 1, 0) == 1 && byte == PAUSED;
}

void rs_qemu_mark_runs(int fd)
{
	const char byte = RUNS;

	/* If it fails, the next session finds a VM that runs. */
	while (pwrite(fd, &byte, 1, 0) < 0 && errno == EINTR)
		;
}

void rs_qemu_mark_pause(struct rs_qemu *qemu, bool on)
{
	const char byte = on ? PAUSED : RUNS;

	if (qemu->mark_fd < 0) /* it has not been taken over yet */
		return;
	/* It overwrites a byte that has its place, so there is nothing that can fail. */
	if (pwrite(qemu->mark_fd, &byte, 1, 0) != 1)
		g_warning("%s: %s", qemu->pause_path, g_strerror(errno));
}

bool rs_qemu_is_marked(const struct rs_qemu *qemu)
{
	return rs_qemu_mark_says_paused(qemu->mark_fd);
}
