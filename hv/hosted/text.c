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
#include <unistd.h>

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

/* From now on each access fails at once. A person is told so once. */
static int give_up(struct rs_hosted *hosted, struct rs_error *err)
{
	struct rs_error *why = &hosted->no_memory;

	rs_hosted_memory_leave(g_steal_pointer(&hosted->memory));
	rs_error_set(why, ETIMEDOUT,
		     "process %d: its memory does not answer, and is left as it is from now on",
		     (int)hosted->base.pid);
	if (hosted->base.events.news)
		hosted->base.events.news(hosted->base.events.data, why->message);
	return rs_error_set(err, why->code, "%s", why->message);
}

int rs_hosted_open_memory(struct rs_hosted *hosted, struct rs_error *err)
{
	pid_t pid = hosted->base.pid, task;
	char path[64];
	int fd, high, ret;

	if (hosted->no_memory.code)
		return rs_error_set(err, hosted->no_memory.code, "%s", hosted->no_memory.message);
	rs_hosted_memory_end(g_steal_pointer(&hosted->memory));
	if (pid <= 0)
		return rs_error_set(err, ESRCH, "the program has not been started");
	/* The memory of a thread that has ended opens too, and is empty. */
	task = rs_process_living_task(pid);
	if (!task)
		return rs_error_set(err, ESRCH, "process %d has ended", (int)pid);
	g_snprintf(path, sizeof(path), "/proc/%d/task/%d/mem", (int)pid, (int)task);
	fd = open(path, O_RDWR | O_CLOEXEC);
	high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	ret = high < 0 ? -errno : rs_hosted_memory_start(high, &hosted->memory);
	if (high >= 0)
		close(high);
	if (fd >= 0)
		close(fd);
	return ret ? rs_error_set(err, ret == -ENOENT ? ESRCH : -ret, "%s: %s", path,
				  g_strerror(-ret))
		   : 0;
}

static int access_memory(struct rs_hosted *hosted, struct rs_hosted_access *job,
			 struct rs_error *err)
{
	int ret = hosted->memory ? 0 : rs_hosted_open_memory(hosted, err);

	if (ret || rs_hosted_access(hosted->memory, job))
		return ret;
	return give_up(hosted, err);
}

/* As access_memory(), of reads: all or nothing. */
static int read_memory(struct rs_hosted *hosted, struct rs_hosted_access *job, struct rs_error *err)
{
	int ret = access_memory(hosted, job, err);

	for (size_t i = 0; !ret && i < job->count; i++) {
		const struct rs_hosted_piece *piece = &job->pieces[i];

		if (piece->done != (long)piece->size)
			ret = no_access(hosted, piece->at,
					piece->done > 0 ? EFAULT : (int)-piece->done, err);
	}
	return ret;
}

int rs_hosted_read_virt(struct rs_target *target, rs_gva_t at, void *out, size_t size,
			struct rs_error *err)
{
	struct rs_hosted_access *job = rs_hosted_access_new(RS_HOSTED_READ, 1, size);
	int ret;

	rs_hosted_access_add(job, at.v, NULL, size);
	ret = read_memory(rs_hosted_of(target), job, err);
	if (!ret)
		memcpy(out, job->room, size);
	rs_hosted_access_free(job);
	return ret;
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

static size_t stretch_size(const struct rs_text_patch *patches, size_t count, size_t first)
{
	const struct rs_text_patch *last = &patches[stretch_end(patches, count, first) - 1];

	return last->at.v + last->size - patches[first].at.v;
}

int rs_hosted_read_text(struct rs_target *target, const struct rs_text_patch *patches, size_t count,
			uint8_t (*now)[RS_TEXT_MAX], struct rs_error *err)
{
	struct rs_hosted_access *job;
	size_t room = 0, stretches = 0, done = 0;
	int ret;

	for (size_t i = 0; i < count; i = stretch_end(patches, count, i), stretches++)
		room += stretch_size(patches, count, i);
	job = rs_hosted_access_new(RS_HOSTED_READ, stretches, room);
	for (size_t i = 0; i < count; i = stretch_end(patches, count, i))
		rs_hosted_access_add(job, patches[i].at.v, NULL, stretch_size(patches, count, i));
	ret = read_memory(rs_hosted_of(target), job, err);
	for (size_t k = 0; !ret && k < job->count; k++) {
		const size_t end = stretch_end(patches, count, done);

		for (; done < end; done++)
			memcpy(now[done],
			       job->pieces[k].bytes + (patches[done].at.v - job->pieces[k].at),
			       patches[done].size);
	}
	rs_hosted_access_free(job);
	return ret;
}

/* ---- writing ---- */

/* Places that could not be written are marked, unless the process is gone. */
static int write_all(struct rs_hosted *hosted, enum rs_hosted_kind kind,
		     const struct rs_text_patch *patches, size_t count, bool *bad,
		     struct rs_error *err)
{
	struct rs_hosted_access *job = rs_hosted_access_new(kind, count, count * RS_TEXT_MAX);
	int ret;

	for (size_t i = 0; i < count; i++)
		rs_hosted_access_add(job, patches[i].at.v, patches[i].new_bytes, patches[i].size);
	ret = access_memory(hosted, job, err);
	for (size_t i = 0; i < count && !ret; i++) {
		const struct rs_hosted_piece *piece = &job->pieces[i];

		/* Memory that it shares with others, read-only, is such a place. */
		bad[i] = piece->done != (long)piece->size;
		if (bad[i] && no_access(hosted, piece->at,
					piece->done > 0 ? EIO : (int)-piece->done, err) == -ESRCH)
			ret = -ESRCH;
	}
	rs_hosted_access_free(job);
	return ret;
}

/*
 * One system call for each patch, because no cheaper way is exact. process_vm_writev takes many
 * places at once, but respects the write protection of text. PTRACE_POKETEXT writes whole words. A
 * write of a whole stretch would also write the bytes between the patches.
 */
int rs_hosted_write_text(struct rs_target *target, const struct rs_text_patch *patches,
			 size_t count, bool *bad, struct rs_error *err)
{
	struct rs_hosted *hosted = rs_hosted_of(target);

	if (!hosted->paused)
		return rs_error_set(err, EPERM, "text is written only while paused");
	return write_all(hosted, RS_HOSTED_WRITE, patches, count, bad, err);
}

static bool is_in_word(const struct rs_text_patch *patch)
{
	return patch->at.v % sizeof(uint64_t) + patch->size <= sizeof(uint64_t);
}

bool rs_hosted_writes_live(struct rs_target *target, const struct rs_text_patch *patches,
			   size_t count, int failed)
{
	struct rs_hosted *hosted = rs_hosted_of(target);
	/* Somebody else traces it, so that we cannot stop it. */
	bool may =
		hosted->way == RS_HOSTED_LIVE ||
		(hosted->way == RS_HOSTED_ANY && (failed == -EBUSY || rs_hosted_word_is_whole()));
	bool unused = hosted->way != RS_HOSTED_STOP;

	for (size_t i = 0; i < count; i++)
		unused &= patches[i].unused;
	may |= unused;
	/* Who has stopped it by hand has it stopped already. */
	if (hosted->base.pauses || hosted->no_patch.code)
		return false;
	for (size_t i = 0; i < count && may; i++)
		may = is_in_word(&patches[i]);
	return may;
}

int rs_hosted_write_live(struct rs_target *target, const struct rs_text_patch *patches,
			 size_t count, bool *bad, struct rs_error *err)
{
	return write_all(rs_hosted_of(target), RS_HOSTED_WORD, patches, count, bad, err);
}
