/* SPDX-License-Identifier: MIT */
/* Memory of the process, see hosted.h: read by process_vm_readv, text written through /proc/PID/mem. */
#define _GNU_SOURCE
#include "hosted/private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define PIECES 512u /* of one process_vm_readv; the kernel takes 1024 */

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

int rs_hosted_read_virt(struct rs_target *target, rs_gva_t at, void *out, size_t size,
			struct rs_error *err)
{
	struct rs_hosted *hosted = hosted_of(target);
	struct iovec local = {out, size}, remote = {(void *)(uintptr_t)at.v, size};
	ssize_t got;

	if (hosted->base.pid <= 0)
		return rs_error_set(err, ESRCH, "the program has not been started");
	got = process_vm_readv(hosted->base.pid, &local, 1, &remote, 1, 0);
	if (got == (ssize_t)size)
		return 0;
	return no_access(hosted, at.v, got < 0 ? errno : EFAULT, err);
}

int rs_hosted_read_batch(struct rs_target *target, struct rs_text_write *pieces, size_t count,
			 struct rs_error *err)
{
	struct rs_hosted *hosted = hosted_of(target);
	struct iovec local[PIECES], remote[PIECES];

	for (size_t done = 0; done < count;) {
		size_t part = MIN(count - done, PIECES), want = 0;

		for (size_t i = 0; i < part; i++) {
			struct rs_text_write *piece = &pieces[done + i];

			local[i] = (struct iovec){piece->bytes, piece->size};
			remote[i] = (struct iovec){(void *)(uintptr_t)piece->at.v, piece->size};
			want += piece->size;
		}
		if (process_vm_readv(hosted->base.pid, local, part, remote, part, 0) !=
		    (ssize_t)want)
			return no_access(hosted, pieces[done].at.v, EFAULT, err);
		done += part;
	}
	return 0;
}

/* The file belongs to the address space that was there when it was opened. */
static int open_mem(struct rs_hosted *hosted, struct rs_error *err)
{
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
	g_snprintf(path, sizeof(path), "/proc/%d/mem", (int)hosted->base.pid);
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

static int write_range(struct rs_hosted *hosted, uint64_t at, const void *bytes, size_t size,
		       struct rs_error *err)
{
	ssize_t put = pwrite(hosted->mem_fd, bytes, size, (off_t)at);

	if (put == (ssize_t)size)
		return 0;
	return no_access(hosted, at, put < 0 ? errno : EIO, err);
}

int rs_hosted_write_text(struct rs_target *target, rs_gva_t at, rs_gpa_t at_phys, const void *bytes,
			 size_t size, struct rs_error *err)
{
	struct rs_hosted *hosted = hosted_of(target);
	uint64_t word = at.v & ~7ull;
	uint8_t now[8];
	int ret;

	if (!size || at.v - word + size > 8)
		return rs_error_set(err, EINVAL, "text at 0x%" PRIx64 " is not in one word", at.v);
	ret = check_paused(hosted, err);
	if (!ret)
		ret = rs_hosted_read_virt(target, (rs_gva_t){word}, now, sizeof(now), err);
	if (ret)
		return ret;
	memcpy(now + (at.v - word), bytes, size);
	return write_range(hosted, word, now, sizeof(now), err);
}

/* A system call for each stretch of a page, not for each site: all threads stand still, so what lies
 * between the sites is written back as it was read. */
int rs_hosted_write_batch(struct rs_target *target, const struct rs_text_write *pieces,
			  size_t count, struct rs_error *err)
{
	struct rs_hosted *hosted = hosted_of(target);
	uint8_t range[RS_PAGE_SIZE];
	int ret = check_paused(hosted, err);

	for (size_t done = 0; done < count && !ret;) {
		uint64_t from = pieces[done].at.v, page = from / RS_PAGE_SIZE, to = from;
		size_t last = done;

		while (last < count && pieces[last].at.v / RS_PAGE_SIZE == page &&
		       pieces[last].at.v >= to && pieces[last].at.v % 8 + pieces[last].size <= 8)
			to = pieces[last].at.v + pieces[last].size, last++;
		if (last == done)
			return rs_error_set(err, EINVAL, "text at 0x%" PRIx64 " is not in one word",
					    from);
		ret = rs_hosted_read_virt(target, (rs_gva_t){from}, range, to - from, err);
		for (size_t i = done; i < last; i++)
			memcpy(range + (pieces[i].at.v - from), pieces[i].bytes, pieces[i].size);
		if (!ret)
			ret = write_range(hosted, from, range, to - from, err);
		done = last;
	}
	return ret;
}
