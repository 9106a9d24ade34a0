/* SPDX-License-Identifier: MIT */
/*
 * Memory of the process, through /proc/PID/mem. The open file means the address space that the
 * process had then. After execve it reads as nothing and cannot be written, so that no patch of one
 * image gets into the next. It is opened anew when the agent of another image reports.
 */
#define _GNU_SOURCE
#include "hosted/private.h"
#include "target/process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct rs_hosted *hosted_of(struct rs_target *target)
{
	return (struct rs_hosted *)target;
}

/* `code`: of a read or write, 0 if it did nothing: the address space is no more. */
static int no_access(struct rs_hosted *hosted, uint64_t at, int code, struct rs_error *err)
{
	int pid = (int)hosted->base.pid;

	if (!code && (hosted->ended || !rs_process_living_task(pid)))
		return rs_error_set(err, ESRCH, "process %d has ended", pid);
	if (!code)
		return rs_error_set(err, EFAULT,
				    "process %d has executed another program, whose agent has not "
				    "reported",
				    pid);
	code = code == EIO ? EFAULT : code;
	return rs_error_set(err, code, "process %d: memory at 0x%" PRIx64 ": %s", pid, at,
			    g_strerror(code));
}

int rs_hosted_open_memory(struct rs_hosted *hosted, struct rs_error *err)
{
	pid_t pid = hosted->base.pid, task;
	char path[64];

	if (hosted->mem_fd >= 0)
		close(hosted->mem_fd);
	hosted->mem_fd = -1;
	if (pid <= 0)
		return rs_error_set(err, ESRCH, "the program has not been started");
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

static int need_memory(struct rs_hosted *hosted, struct rs_error *err)
{
	return hosted->mem_fd >= 0 ? 0 : rs_hosted_open_memory(hosted, err);
}

/* Not pread() and pwrite(), cancellation points: that costs some 40 ns more. */
static long read_at(const struct rs_hosted *hosted, uint64_t at, void *out, size_t size)
{
	return syscall(SYS_pread64, hosted->mem_fd, out, size, at);
}

static long write_at(const struct rs_hosted *hosted, uint64_t at, const void *bytes, size_t size)
{
	return syscall(SYS_pwrite64, hosted->mem_fd, bytes, size, at);
}

int rs_hosted_read_virt(struct rs_target *target, rs_gva_t at, void *out, size_t size,
			struct rs_error *err)
{
	struct rs_hosted *hosted = hosted_of(target);
	int ret = need_memory(hosted, err);
	long got = ret ? 0 : read_at(hosted, at.v, out, size);

	if (ret || got == (long)size)
		return ret;
	return no_access(hosted, at.v, got < 0 ? errno : got ? EFAULT : 0, err);
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
	uint8_t room[RS_PAGE_SIZE + RS_TEXT_MAX]; /* the first patch may reach into the next page */
	int ret = 0;

	for (size_t done = 0; done < count && !ret;) {
		const size_t end = stretch_end(patches, count, done);
		const struct rs_text_patch *first = &patches[done], *last = &patches[end - 1];

		ret = rs_hosted_read_virt(target, first->at, room,
					  last->at.v + last->size - first->at.v, err);
		for (; done < end && !ret; done++)
			memcpy(now[done], room + (patches[done].at.v - first->at.v),
			       patches[done].size);
	}
	return ret;
}

/* ---- writing ---- */

/* Of a place that could not be written. Others are, unless the process is gone. */
static int note_bad(struct rs_hosted *hosted, const struct rs_text_patch *patch, long put,
		    struct rs_error *err)
{
	int ret = no_access(hosted, patch->at.v, put < 0 ? errno : put ? EIO : 0, err);

	return ret == -ESRCH ? ret : 0;
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
	int ret = hosted->paused ? need_memory(hosted, err)
				 : rs_error_set(err, EPERM, "text is written only while paused");

	for (size_t i = 0; i < count && !ret; i++) {
		long put = write_at(hosted, patches[i].at.v, patches[i].new_bytes, patches[i].size);

		/* Memory that it shares with others, read-only, is such a place. */
		bad[i] = put != patches[i].size;
		if (bad[i])
			ret = note_bad(hosted, &patches[i], put, err);
	}
	return ret;
}

static bool is_in_word(const struct rs_text_patch *patch)
{
	return patch->at.v % sizeof(uint64_t) + patch->size <= sizeof(uint64_t);
}

bool rs_hosted_writes_live(struct rs_target *target, const struct rs_text_patch *patches,
			   size_t count, int failed)
{
	struct rs_hosted *hosted = hosted_of(target);
	/* Somebody else traces it, so that we cannot stop it. */
	bool may =
		hosted->way == RS_HOSTED_LIVE ||
		(hosted->way == RS_HOSTED_ANY && (failed == -EBUSY || rs_hosted_word_is_whole()));

	/* Who has stopped it by hand has it stopped already. */
	if (hosted->base.pauses || hosted->no_patch.code)
		return false;
	for (size_t i = 0; i < count && may; i++)
		may = is_in_word(&patches[i]);
	return may;
}

/*
 * The kernel stores an aligned word at once, but may store five bytes in parts. So the word is
 * written that holds the patch, with the bytes beside it as they were a moment before.
 */
static long write_word(const struct rs_hosted *hosted, const struct rs_text_patch *patch)
{
	const uint64_t word = patch->at.v & ~(uint64_t)(sizeof(word) - 1);
	uint8_t bytes[sizeof(word)];
	long done = read_at(hosted, word, bytes, sizeof(bytes));

	if (done != (long)sizeof(bytes))
		return done;
	memcpy(bytes + (patch->at.v - word), patch->new_bytes, patch->size);
	return write_at(hosted, word, bytes, sizeof(bytes));
}

int rs_hosted_write_live(struct rs_target *target, const struct rs_text_patch *patches,
			 size_t count, bool *bad, struct rs_error *err)
{
	struct rs_hosted *hosted = hosted_of(target);
	int ret = need_memory(hosted, err);

	for (size_t i = 0; i < count && !ret; i++) {
		long put = write_word(hosted, &patches[i]);

		bad[i] = put != (long)sizeof(uint64_t);
		if (bad[i])
			ret = note_bad(hosted, &patches[i], put, err);
	}
	return ret;
}
