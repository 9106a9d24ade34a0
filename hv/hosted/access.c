/* SPDX-License-Identifier: MIT */
/*
 * /proc/PID/mem, by a process of our own. A page of the program may be one that somebody else is to
 * bring, such as the server of a FUSE file. If he does not, the access sleeps in the kernel for
 * ever, and not even SIGKILL always ends it. A thread that sleeps so would keep our process from
 * ending. So a child does it, which has nothing else of ours open. The session waits for it no
 * longer than LIMIT_US, then kills it and leaves it behind.
 *
 * The child is forked off a process that has threads, so it calls only what signal handlers may
 * call. It ends when its socket does. It shares a piece of memory with the session, in which a
 * round of an access is: what the round is, and the bytes.
 */
#define _GNU_SOURCE
#include "hosted/private.h"

#include "base/prompt.h"
#include "target/process.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_MS 2000
#define LOOK_MS 20     /* after that, at a child that has had no core */
#define FILES_MAX 4096 /* more than a session opens */
#define PIECES 2048u   /* of a round */
#define TOGETHER_MIN 3 /* fewer pieces of a page are as quick one by one */

struct round {
	enum rs_hosted_kind kind;
	uint32_t count;
	struct rs_hosted_piece pieces[PIECES]; /* their bytes are in the room: the same address */
	uint8_t room[RS_HOSTED_PIECE_MAX];
};

struct rs_hosted_memory {
	pid_t child;
	int socket;
	struct round *round; /* shared with the child */
};

/* ---- in the child ---- */

#define SOCKET STDIN_FILENO
#define MEMORY STDOUT_FILENO
#define PAGES STDERR_FILENO /* the pagemap */
#define PAGE_PRESENT (1ull << 63)
#define PAGE_OF_FILE (1ull << 61) /* or shared with other processes */

/* Not pread() and pwrite(), cancellation points: that costs some 40 ns more. */
static long read_at(const struct rs_hosted_piece *piece)
{
	return syscall(SYS_pread64, MEMORY, piece->bytes, piece->size, piece->at);
}

static long write_at(const struct rs_hosted_piece *piece)
{
	return syscall(SYS_pwrite64, MEMORY, piece->bytes, piece->size, piece->at);
}

/*
 * The kernel stores an aligned word at once, but may store five bytes in parts. So the word is
 * written that holds the piece, with the bytes beside it as they were a moment before.
 */
static long write_word(const struct rs_hosted_piece *piece)
{
	uint8_t bytes[sizeof(uint64_t)];
	const uint64_t at = piece->at & ~(uint64_t)(sizeof(bytes) - 1);
	const struct rs_hosted_piece word = {.at = at, .bytes = bytes, .size = sizeof(bytes)};
	long done = read_at(&word);

	if (done == (long)sizeof(bytes)) {
		memcpy(bytes + (piece->at - at), piece->bytes, piece->size);
		done = write_at(&word);
	}
	return done == (long)sizeof(bytes) ? (long)piece->size : MIN(done, 0);
}

/* How many pieces from the first one on lie in one page. */
static uint32_t of_one_page(const struct rs_hosted_piece *pieces, uint32_t count)
{
	const uint64_t page = pieces->at & ~(uint64_t)(RS_PAGE_SIZE - 1);
	uint32_t n = 0;

	while (n < count && pieces[n].at - page < RS_PAGE_SIZE &&
	       pieces[n].size <= RS_PAGE_SIZE - (pieces[n].at - page))
		n++;
	return n;
}

/* Whether nobody writes to the page while the process stands still: it is a copy of its own. */
static bool is_own(uint64_t at)
{
	uint64_t entry = 0;

	return syscall(SYS_pread64, PAGES, &entry, sizeof(entry),
		       at / RS_PAGE_SIZE * sizeof(entry)) == (long)sizeof(entry) &&
	       (entry & (PAGE_PRESENT | PAGE_OF_FILE)) == PAGE_PRESENT;
}

/*
 * Pieces of one page. Each access looks the page up anew, which takes longer than all else. So what
 * lies between the first byte and the last is read once, and written once. False: it is to be done
 * piece by piece, which tells what fails.
 */
static bool do_together(enum rs_hosted_kind kind, struct rs_hosted_piece *pieces, uint32_t count)
{
	uint8_t bytes[RS_PAGE_SIZE];
	struct rs_hosted_piece all = {.at = UINT64_MAX, .bytes = bytes};
	uint64_t end = 0;

	for (uint32_t i = 0; i < count; i++) {
		all.at = MIN(all.at, pieces[i].at);
		end = MAX(end, pieces[i].at + pieces[i].size);
	}
	all.size = end - all.at;
	if (read_at(&all) != (long)all.size)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		uint8_t *there = bytes + (pieces[i].at - all.at);

		if (kind == RS_HOSTED_READ)
			memcpy(pieces[i].bytes, there, pieces[i].size);
		else
			memcpy(there, pieces[i].bytes, pieces[i].size);
	}
	if (kind == RS_HOSTED_WRITE && write_at(&all) != (long)all.size)
		return false;
	for (uint32_t i = 0; i < count; i++)
		pieces[i].done = (long)pieces[i].size;
	return true;
}

static bool do_piece(enum rs_hosted_kind kind, struct rs_hosted_piece *piece)
{
	const long done = kind == RS_HOSTED_READ    ? read_at(piece)
			  : kind == RS_HOSTED_WRITE ? write_at(piece)
						    : write_word(piece);

	piece->done = done < 0 ? -errno : done;
	return piece->done == (long)piece->size;
}

/* The first write of text that comes from a file makes a copy of the page for the process. */
static bool may_do_together(enum rs_hosted_kind kind, struct rs_hosted_piece *first)
{
	return kind == RS_HOSTED_READ || (do_piece(kind, first) && is_own(first->at));
}

static void do_round(struct round *round)
{
	const enum rs_hosted_kind kind = round->kind;

	for (uint32_t i = 0, n; i < round->count; i += n) {
		struct rs_hosted_piece *piece = &round->pieces[i];

		n = kind == RS_HOSTED_WORD ? 1 : of_one_page(piece, round->count - i);
		if (n >= TOGETHER_MIN && may_do_together(kind, piece) &&
		    do_together(kind, piece, n))
			continue;
		n = 1;
		if (!do_piece(kind, piece) && kind == RS_HOSTED_READ)
			break;
	}
}

static void serve(struct round *round, int socket, int memory, int pages)
{
	char byte;

	prctl(PR_SET_NAME, "rs-memory");
	rs_prompt_helper();
	setsid();
	/* All are above the standard ones, see rs_hosted_memory_start(). */
	dup2(socket, SOCKET);
	dup2(memory, MEMORY);
	if (dup2(pages, PAGES) < 0)
		close(PAGES);
	if (close_range(PAGES + 1, ~0u, 0))
		for (int fd = PAGES + 1; fd < FILES_MAX; fd++)
			close(fd);
	while (read(SOCKET, &byte, 1) == 1) {
		do_round(round);
		if (send(SOCKET, &byte, 1, MSG_NOSIGNAL) != 1)
			break;
	}
	_exit(0);
}

/* ---- the session's side ---- */

/* It has a core, or waits for one. */
static bool runs(pid_t pid)
{
	uint64_t ran;
	char state;

	return rs_process_task_activity(pid, &state, &ran) && state == 'R';
}

/* Whether the child has done the round. */
static bool await(const struct rs_hosted_memory *memory)
{
	struct pollfd fd = {.fd = memory->socket, .events = POLLIN};
	const gint64 until = g_get_monotonic_time() + LIMIT_MS * 1000;
	int ms = LIMIT_MS, got;
	char byte;

	while ((got = poll(&fd, 1, ms)) <= 0) {
		const gint64 left = until - g_get_monotonic_time();

		if (got == 0 && left <= 0 && !runs(memory->child))
			return false;
		ms = (int)MAX(left / 1000, LOOK_MS);
	}
	return recv(memory->socket, &byte, 1, MSG_DONTWAIT) == 1;
}

/* As many pieces of the job as have room. Returns how many. */
static uint32_t fill(struct round *round, const struct rs_hosted_access *job, size_t from)
{
	size_t used = 0;

	round->kind = job->kind;
	for (round->count = 0; round->count < PIECES && from < job->count; from++) {
		const struct rs_hosted_piece *piece = &job->pieces[from];
		struct rs_hosted_piece *copy = &round->pieces[round->count];

		if (piece->size > sizeof(round->room) - used)
			break;
		*copy = *piece;
		copy->bytes = round->room + used;
		if (job->kind != RS_HOSTED_READ)
			memcpy(copy->bytes, piece->bytes, piece->size);
		used += piece->size;
		round->count++;
	}
	return round->count;
}

bool rs_hosted_access(struct rs_hosted_memory *memory, struct rs_hosted_access *job)
{
	struct round *round = memory->round;

	for (size_t from = 0, n; from < job->count; from += n) {
		n = fill(round, job, from);
		if (send(memory->socket, "", 1, MSG_NOSIGNAL) != 1 || !await(memory))
			return false;
		for (size_t i = 0; i < n; i++) {
			struct rs_hosted_piece *piece = &job->pieces[from + i];

			piece->done = round->pieces[i].done;
			if (job->kind != RS_HOSTED_READ)
				continue;
			if (piece->done != (long)piece->size)
				return true;
			memcpy(piece->bytes, round->pieces[i].bytes, piece->size);
		}
	}
	return true;
}

struct rs_hosted_access *rs_hosted_access_new(enum rs_hosted_kind kind, size_t count, size_t room)
{
	struct rs_hosted_access *job = g_new0(struct rs_hosted_access, 1);

	job->kind = kind;
	job->pieces = g_new0(struct rs_hosted_piece, count + room / RS_HOSTED_PIECE_MAX);
	job->room = g_malloc(room);
	return job;
}

void rs_hosted_access_add(struct rs_hosted_access *job, uint64_t at, const void *bytes, size_t size)
{
	if (bytes)
		memcpy(job->room + job->used, bytes, size);
	while (size) {
		const size_t part = MIN(size, RS_HOSTED_PIECE_MAX);

		job->pieces[job->count++] = (struct rs_hosted_piece){
			.at = at, .bytes = job->room + job->used, .size = part};
		job->used += part;
		at += part;
		size -= part;
	}
}

void rs_hosted_access_free(struct rs_hosted_access *job)
{
	g_free(job->pieces);
	g_free(job->room);
	g_free(job);
}

static int start_child(struct rs_hosted_memory *memory, int there, int fd, int pages)
{
	sigset_t all, before;

	/* It takes none. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	memory->child = fork();
	if (memory->child == 0)
		serve(memory->round, there, fd, pages);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return memory->child < 0 ? -errno : 0;
}

int rs_hosted_memory_start(int fd, int pages, struct rs_hosted_memory **out)
{
	struct rs_hosted_memory memory = {.socket = -1};
	int ends[2], ret;

	memory.round = mmap(NULL, sizeof(*memory.round), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (memory.round == MAP_FAILED)
		return -errno;
	ret = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) ? -errno : 0;
	if (!ret) {
		memory.socket = ends[0];
		ret = start_child(&memory, ends[1], fd, pages);
		close(ends[1]);
	}
	if (!ret) {
		*out = g_memdup2(&memory, sizeof(memory));
		return 0;
	}
	if (memory.socket >= 0)
		close(memory.socket);
	munmap(memory.round, sizeof(*memory.round));
	return ret;
}

pid_t rs_hosted_memory_process(const struct rs_hosted_memory *memory)
{
	return memory->child;
}

static void forget(struct rs_hosted_memory *memory)
{
	close(memory->socket);
	munmap(memory->round, sizeof(*memory->round));
	g_free(memory);
}

void rs_hosted_memory_leave(struct rs_hosted_memory *memory)
{
	kill(memory->child, SIGKILL);
	forget(memory);
}

void rs_hosted_memory_end(struct rs_hosted_memory *memory)
{
	const pid_t child = memory ? memory->child : 0;

	if (!memory)
		return;
	/* It waits for a round, and does nothing else. */
	kill(child, SIGKILL);
	forget(memory);
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}
