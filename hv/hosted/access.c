/* SPDX-License-Identifier: MIT */
/*
 * /proc/PID/mem, on a thread of its own. A page of the process may be one that somebody else is to
 * bring, such as the server of a FUSE file or whoever handles a userfaultfd. If he does not, the
 * access sleeps in the kernel for ever, and only SIGKILL ends it. So the session waits for it no
 * longer than LIMIT_US, and then leaves the thread behind with all that it uses. It ends when the
 * kernel lets it, or when our process ends.
 */
#define _GNU_SOURCE
#include "hosted/private.h"
#include "target/process.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LIMIT_US (2 * G_USEC_PER_SEC)
#define LOOK_US 20000 /* after that, at a thread that has had no core */

struct rs_hosted_memory {
	GThread *thread;
	gint left; /* atomic: nobody waits for what is being done */
	char path[64];
	int fd;      /* of the thread */
	GMutex lock; /* protects: */
	GCond changed;
	bool opened;
	int code;                     /* of the open, once it is over; 0: it is open */
	struct rs_hosted_access *job; /* NULL: it is done */
	gint64 begun;                 /* monotonic us; 0: not yet */
	pid_t tid;
	bool over;
};

/* ---- on the thread ---- */

/* Not pread() and pwrite(), cancellation points: that costs some 40 ns more. */
static long read_at(int fd, const struct rs_hosted_piece *piece)
{
	return syscall(SYS_pread64, fd, piece->bytes, piece->size, piece->at);
}

static long write_at(int fd, const struct rs_hosted_piece *piece)
{
	return syscall(SYS_pwrite64, fd, piece->bytes, piece->size, piece->at);
}

/*
 * The kernel stores an aligned word at once, but may store five bytes in parts. So the word is
 * written that holds the piece, with the bytes beside it as they were a moment before.
 */
static long write_word(int fd, const struct rs_hosted_piece *piece)
{
	uint8_t bytes[sizeof(uint64_t)];
	const uint64_t at = piece->at & ~(uint64_t)(sizeof(bytes) - 1);
	const struct rs_hosted_piece word = {.at = at, .bytes = bytes, .size = sizeof(bytes)};
	long done = read_at(fd, &word);

	if (done == (long)sizeof(bytes)) {
		memcpy(bytes + (piece->at - at), piece->bytes, piece->size);
		done = write_at(fd, &word);
	}
	return done == (long)sizeof(bytes) ? (long)piece->size : MIN(done, 0);
}

static void do_job(struct rs_hosted_memory *memory, struct rs_hosted_access *job)
{
	/* What nobody waits for any more is not begun. */
	for (size_t i = 0; i < job->count && !g_atomic_int_get(&memory->left); i++) {
		struct rs_hosted_piece *piece = &job->pieces[i];
		long done = job->kind == RS_HOSTED_READ    ? read_at(memory->fd, piece)
			    : job->kind == RS_HOSTED_WRITE ? write_at(memory->fd, piece)
							   : write_word(memory->fd, piece);

		piece->done = done < 0 ? -errno : done;
		if (job->kind == RS_HOSTED_READ && piece->done != (long)piece->size)
			break;
	}
}

static void free_memory(struct rs_hosted_memory *memory)
{
	if (memory->fd >= 0)
		close(memory->fd);
	rs_hosted_access_free(memory->job);
	g_mutex_clear(&memory->lock);
	g_cond_clear(&memory->changed);
	g_free(memory);
}

static void begin(struct rs_hosted_memory *memory)
{
	memory->begun = g_get_monotonic_time();
	g_cond_broadcast(&memory->changed);
	g_mutex_unlock(&memory->lock);
}

static void open_it(struct rs_hosted_memory *memory)
{
	int code;

	begin(memory);
	memory->fd = open(memory->path, O_RDWR | O_CLOEXEC);
	code = memory->fd < 0 ? errno : 0;
	g_mutex_lock(&memory->lock);
	memory->code = code;
	memory->opened = true;
	g_cond_broadcast(&memory->changed);
}

static gpointer serve(gpointer data)
{
	struct rs_hosted_memory *memory = data;
	bool left;

	g_mutex_lock(&memory->lock);
	memory->tid = gettid();
	open_it(memory);
	while (!memory->over) {
		struct rs_hosted_access *job = memory->job;

		if (!job) {
			g_cond_wait(&memory->changed, &memory->lock);
			continue;
		}
		begin(memory);
		do_job(memory, job);
		g_mutex_lock(&memory->lock);
		if (!memory->over)
			memory->job = NULL;
		g_cond_broadcast(&memory->changed);
	}
	left = g_atomic_int_get(&memory->left);
	g_mutex_unlock(&memory->lock);
	if (left)
		free_memory(memory);
	return NULL;
}

/* ---- the session's side ---- */

/* The thread has a core, or waits for one. */
static bool runs(pid_t tid)
{
	uint64_t ran;
	char state;

	return rs_process_task_activity(tid, &state, &ran) && state == 'R';
}

static bool is_busy(const struct rs_hosted_memory *memory)
{
	return !memory->opened || memory->job;
}

/* Until when to wait before the next look. The time that the thread waits for a core is free. */
static gint64 next_look(const struct rs_hosted_memory *memory)
{
	const gint64 now = g_get_monotonic_time();

	return memory->begun ? MAX(memory->begun + LIMIT_US, now + LOOK_US) : now + LIMIT_US;
}

static bool is_too_late(const struct rs_hosted_memory *memory)
{
	return memory->begun && g_get_monotonic_time() >= memory->begun + LIMIT_US &&
	       !runs(memory->tid);
}

/* With the lock. True: it is done. False: the thread is left behind, and `memory` is its own. */
static bool await(struct rs_hosted_memory *memory)
{
	bool late = false;

	while (is_busy(memory) && !late) {
		if (!g_cond_wait_until(&memory->changed, &memory->lock, next_look(memory)))
			late = is_busy(memory) && is_too_late(memory);
	}
	if (late) {
		g_atomic_int_set(&memory->left, 1);
		memory->over = true;
		g_thread_unref(memory->thread);
	}
	g_mutex_unlock(&memory->lock);
	return !late;
}

struct rs_hosted_access *rs_hosted_access_new(enum rs_hosted_kind kind, size_t count, size_t room)
{
	struct rs_hosted_access *job = g_new0(struct rs_hosted_access, 1);

	job->kind = kind;
	job->pieces = g_new0(struct rs_hosted_piece, count);
	job->room = g_malloc(room);
	return job;
}

void rs_hosted_access_add(struct rs_hosted_access *job, uint64_t at, const void *bytes, size_t size)
{
	struct rs_hosted_piece *piece = &job->pieces[job->count++];

	*piece = (struct rs_hosted_piece){.at = at, .bytes = job->room + job->used, .size = size};
	if (bytes)
		memcpy(piece->bytes, bytes, size);
	job->used += size;
}

void rs_hosted_access_free(struct rs_hosted_access *job)
{
	if (!job)
		return;
	g_free(job->pieces);
	g_free(job->room);
	g_free(job);
}

bool rs_hosted_access(struct rs_hosted_memory *memory, struct rs_hosted_access *job)
{
	g_mutex_lock(&memory->lock);
	memory->job = job;
	memory->begun = 0;
	g_cond_broadcast(&memory->changed);
	return await(memory);
}

int rs_hosted_memory_open(const char *path, struct rs_hosted_memory **out)
{
	struct rs_hosted_memory *memory = g_new0(struct rs_hosted_memory, 1);
	sigset_t all, before;

	g_strlcpy(memory->path, path, sizeof(memory->path));
	memory->fd = -1;
	g_mutex_init(&memory->lock);
	g_cond_init(&memory->changed);
	/* Other threads handle signals. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	memory->thread = g_thread_new("rs-memory", serve, memory);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	g_mutex_lock(&memory->lock);
	if (!await(memory))
		return -ETIMEDOUT;
	if (memory->code) {
		int ret = -memory->code;

		rs_hosted_memory_close(memory);
		return ret;
	}
	*out = memory;
	return 0;
}

void rs_hosted_memory_close(struct rs_hosted_memory *memory)
{
	if (!memory)
		return;
	g_mutex_lock(&memory->lock);
	memory->over = true;
	g_cond_broadcast(&memory->changed);
	g_mutex_unlock(&memory->lock);
	g_thread_join(memory->thread);
	free_memory(memory);
}
