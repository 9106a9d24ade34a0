/* SPDX-License-Identifier: MIT */
/*
 * Memory of the process: process_vm_readv reads it, /proc/PID/mem writes text. See hosted.h. Both
 * name the process by any of its threads that lives, since its first one may have ended.
 */
#define _GNU_SOURCE
#include "hosted/private.h"
#include "target/process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define STRETCHES 64u                /* of one process_vm_readv; the kernel takes 1024 */
#define READ_ROOM (8 * RS_PAGE_SIZE) /* bytes of them */

static struct rs_hosted *hosted_of(struct rs_target *target)
{
	return (struct rs_hosted *)target;
}

static int no_access(struct rs_hosted *hosted, uint64_t at, int code, struct rs_error *err)
{
	bool ended;

	g_mutex_lock(&hosted->lock);
	ended = hosted->ended;
	g_mutex_unlock(&hosted->lock);
	if (ended || code == ESRCH)
		return rs_error_set(err, ESRCH, "process %d has ended", (int)hosted->base.pid);
	return rs_error_set(err, code, "process %d: memory at 0x%" PRIx64 ": %s",
			    (int)hosted->base.pid, at, g_strerror(code));
}

static ssize_t read_process(struct rs_hosted *hosted, const struct iovec *local,
			    const struct iovec *remote, size_t count)
{
	pid_t pid = hosted->base.pid, other;
	ssize_t got = process_vm_readv(pid, local, 1, remote, count, 0);

	if (got >= 0 || errno != ESRCH)
		return got;
	other = rs_process_living_task(pid);
	if (other && other != pid)
		return process_vm_readv(other, local, 1, remote, count, 0);
	errno = ESRCH;
	return -1;
}

int rs_hosted_read_virt(struct rs_target *target, rs_gva_t at, void *out, size_t size,
			struct rs_error *err)
{
	struct rs_hosted *hosted = hosted_of(target);
	struct iovec local = {out, size}, remote = {(void *)(uintptr_t)at.v, size};
	ssize_t got;

	if (hosted->base.pid <= 0)
		return rs_error_set(err, ESRCH, "the program has not been started");
	got = read_process(hosted, &local, &remote, 1);
	if (got == (ssize_t)size)
		return 0;
	return no_access(hosted, at.v, got < 0 ? errno : EFAULT, err);
}

/* The end of the stretch that begins with patch `first`. Patches with rising addresses in one page
 * are one stretch. It is read in one piece, with the bytes between them. */
static size_t stretch_end(const struct rs_text_patch *patches, size_t count, size_t first)
{
	uint64_t page_end = (patches[first].at.v & ~(uint64_t)(RS_PAGE_SIZE - 1)) + RS_PAGE_SIZE;
	size_t next = first + 1;

	while (next < count && patches[next].at.v < page_end &&
	       patches[next].at.v >= patches[next - 1].at.v + patches[next - 1].size &&
	       patches[next].size <= page_end - patches[next].at.v)
		next++;
	return next;
}

int rs_hosted_read_text(struct rs_target *target, const struct rs_text_patch *patches, size_t count,
			uint8_t (*now)[RS_TEXT_MAX], struct rs_error *err)
{
	struct rs_hosted *hosted = hosted_of(target);
	struct iovec remote[STRETCHES];
	uint8_t room[READ_ROOM];

	for (size_t done = 0, next = 0; done < count;) {
		struct iovec local = {room, 0};
		const uint8_t *from = room;
		size_t stretches = 0;
		ssize_t got;

		while (next < count && stretches < STRETCHES &&
		       local.iov_len <= sizeof(room) - RS_PAGE_SIZE) {
			const struct rs_text_patch *first = &patches[next], *last;

			next = stretch_end(patches, count, next);
			last = &patches[next - 1];
			remote[stretches] = (struct iovec){(void *)(uintptr_t)first->at.v,
							   last->at.v + last->size - first->at.v};
			local.iov_len += remote[stretches++].iov_len;
		}
		got = read_process(hosted, &local, remote, stretches);
		if (got != (ssize_t)local.iov_len)
			return no_access(hosted, patches[done].at.v, got < 0 ? errno : EFAULT, err);
		for (size_t i = 0; i < stretches; from += remote[i++].iov_len)
			for (size_t end = stretch_end(patches, count, done); done < end; done++)
				memcpy(now[done],
				       from + (patches[done].at.v - (uintptr_t)remote[i].iov_base),
				       patches[done].size);
	}
	return 0;
}

/* The file means the address space that the process had when the file was opened. */
static int open_mem(struct rs_hosted *hosted, struct rs_error *err)
{
	pid_t pid = hosted->base.pid, task;
	char path[64];
	bool stale;

	g_mutex_lock(&hosted->lock);
	stale = hosted->new_image;
	hosted->new_image = false;
	g_mutex_unlock(&hosted->lock);
	if (stale && hosted->mem_fd >= 0) {
		close(hosted->mem_fd);
		hosted->mem_fd = -1;
	}
	if (hosted->mem_fd >= 0)
		return 0;
	/* The memory of a thread that has ended opens too, and is empty. */
	task = rs_process_living_task(pid);
	if (!task)
		return rs_error_set(err, ESRCH, "process %d has ended", (int)pid);
	g_snprintf(path, sizeof(path), "/proc/%d/task/%d/mem", (int)pid, (int)task);
	hosted->mem_fd = open(path, O_RDWR | O_CLOEXEC);
	if (hosted->mem_fd < 0)
		return rs_error_set(err, errno == ENOENT ? ESRCH : errno, "%s: %s", path,
				    g_strerror(errno));
	return 0;
}

static int check_paused(struct rs_hosted *hosted, struct rs_error *err)
{
	if (!hosted->paused)
		return rs_error_set(err, EPERM, "text is written only while paused");
	return open_mem(hosted, err);
}

/*
 * One system call for each patch, because no cheaper way is exact. process_vm_writev takes many
 * places at once, but respects the write protection of text. PTRACE_POKETEXT writes whole words. A
 * write of a whole stretch would also write the bytes between the patches.
 */
int rs_hosted_write_text(struct rs_target *target, const struct rs_text_patch *patches,
			 size_t count, bool *bad, struct rs_error *err)
{
	struct rs_hosted *hosted = hosted_of(target);
	int ret = check_paused(hosted, err);

	for (size_t i = 0; i < count && !ret; i++) {
		const struct rs_text_patch *patch = &patches[i];
		/* Not pwrite(), a cancellation point: that costs some 40 ns more. */
		long put = syscall(SYS_pwrite64, hosted->mem_fd, patch->new_bytes,
				   (size_t)patch->size, patch->at.v);

		/* Memory that it shares with others, read-only, is such a place. */
		bad[i] = put != patch->size;
		if (bad[i] && no_access(hosted, patch->at.v, put < 0 ? errno : EIO, err) == -ESRCH)
			ret = -ESRCH;
	}
	return ret;
}
