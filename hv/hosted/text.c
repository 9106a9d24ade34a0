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

/* A file of the thread's, with a descriptor that is none of the standard ones. Or -errno. */
static int open_file(pid_t pid, pid_t task, const char *name, int flags)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/task/%d/%s", (int)pid, (int)task, name);
	int fd = open(path, flags | O_CLOEXEC), high;

	if (fd < 0)
		return -errno;
	high = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	high = high < 0 ? -errno : high;
	close(fd);
	return high;
}

int rs_hosted_open_memory(struct rs_hosted *hosted, struct rs_error *err)
{
	pid_t pid = hosted->base.pid, task;
	int fd, pages, ret;

	if (hosted->no_memory.code)
		return rs_error_set(err, hosted->no_memory.code, "%s", hosted->no_memory.message);
	rs_hosted_memory_end(g_steal_pointer(&hosted->memory));
	if (pid <= 0)
		return rs_error_set(err, ESRCH, "the program has not been started");
	/* The memory of a thread that has ended opens too, and is empty. */
	task = rs_process_living_task(pid);
	if (!task)
		return rs_error_set(err, ESRCH, "process %d has ended", (int)pid);
	ret = fd = open_file(pid, task, "mem", O_RDWR);
	if (fd < 0)
		return rs_error_set(err, ret == -ENOENT ? ESRCH : -ret, "process %d: memory: %s",
				    (int)pid, g_strerror(-ret));
	/* Not every kernel has it. */
	pages = open_file(pid, task, "pagemap", O_RDONLY);
	ret = rs_hosted_memory_start(fd, pages, &hosted->memory);
	if (pages >= 0)
		close(pages);
	close(fd);
	return ret ? rs_error_set(err, -ret, "process %d: memory: %s", (int)pid, g_strerror(-ret))
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

int rs_hosted_read_text(struct rs_target *target, const struct rs_text_patch *patches, size_t count,
			uint8_t (*now)[RS_TEXT_MAX], struct rs_error *err)
{
	struct rs_hosted_access *job =
		rs_hosted_access_new(RS_HOSTED_READ, count, count * RS_TEXT_MAX);
	int ret;

	for (size_t i = 0; i < count; i++)
		rs_hosted_access_add(job, patches[i].at.v, NULL, patches[i].size);
	ret = read_memory(rs_hosted_of(target), job, err);
	for (size_t i = 0; i < count && !ret; i++)
		memcpy(now[i], job->pieces[i].bytes, patches[i].size);
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
 * By system calls of /proc/PID/mem, one for each page. process_vm_writev takes many places at once,
 * but respects the write protection of text. PTRACE_POKETEXT writes whole words, each by a call.
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
