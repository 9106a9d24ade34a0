/* SPDX-License-Identifier: MIT */
/*
 * Shared by the files of the hosted target: hosted.c (its operations), spawn.c (starts the
 * program), life.c (follows it), stop.c (stops it for a moment), text.c (its memory), access.c (the
 * process that reads and writes it), fetch_ARCH.c (the CPU).
 */
#ifndef RS_HV_HOSTED_PRIVATE_H
#define RS_HV_HOSTED_PRIVATE_H

#include "base/prompt.h"
#include "base/ticks.h"
#include "hosted/hosted.h"

#include <glib.h>
#include <signal.h>

struct rs_hosted_stop;
struct rs_hosted_memory;

struct rs_hosted {
	struct rs_target base; /* first */
	struct rs_target_ops ops;
	char **argv;
	char *program; /* argv[0] as found in PATH */
	char **envp;
	int regions_fd;
	uint64_t *claim, claim_base;
	int doorbell_fd;
	bool no_ptrace;
	bool attached; /* not ours: never ended */
	enum rs_hosted_way way;
	sigset_t mask;            /* signal mask that the program starts with */
	struct rs_error no_patch; /* code 0: its text can be written */

	GMainContext *context;
	GSource *doorbell_source, *kill_source, *life_source;
	int pidfd;
	bool ended;
	bool stop_asked, stop_forced; /* forced: it was killed, since it did not end */
	char stop_why[128];
	struct rs_hosted_memory *memory; /* of the image whose agent has reported; NULL: none */
	struct rs_error no_memory;       /* code 0: accesses of its memory end */
	struct rs_moment begun;          /* the measurement of the clock's rate begins here */
	struct rs_target_stats stats;

	struct rs_hosted_stop *stop;  /* NULL: it is not stopped */
	struct rs_hosted_stop *ready; /* for the next stop; NULL: there is none yet */
	GSource *ready_source;        /* makes it when there is time */
	GSource *rest_source;         /* calls rs_prompt_rest() in each turn of the loop */
	bool paused;
	struct rs_prompt work; /* the batch that we are at */
	pid_t former;          /* the thread of the last stop, which may still be ending */
	gint64 silent_until;   /* a thread did not stop: not tried before, monotonic us … */
	gint64 silence;        /* … and for how long */
};

static inline struct rs_hosted *rs_hosted_of(const struct rs_target *target)
{
	return (struct rs_hosted *)target;
}

/*
 * spawn.c: starts the program, and finds out whether its text could be written. If not, *why has a
 * code != 0, and the program was told to patch itself. Returns the pid or -errno.
 */
pid_t rs_hosted_spawn(struct rs_hosted *hosted, struct rs_error *why, struct rs_error *err);

/* life.c: it is not called any more; NULL in *source is accepted. */
void rs_hosted_drop_source(GSource **source);
/* life.c: tells events.ended once, from the context of the caller of ops->start. */
int rs_hosted_follow(struct rs_hosted *hosted, struct rs_error *err);
/* Kills our program, and waits until it is no more: a second at most. */
void rs_hosted_end(struct rs_hosted *hosted);
/* `signal` to the process that we follow, and to no later one with its id. */
void rs_hosted_signal(struct rs_hosted *hosted, int signal);

/*
 * stop.c: what holds a process for once. It has a thread, which waits to be told whom. One that is
 * new has to wait until it gets a CPU. One that sleeps gets it at once (base/prompt.h).
 */
struct rs_hosted_stop *rs_hosted_stop_new(void);
/*
 * Holds all threads that run in the memory of process `pid`, and takes over `stop`. A process that
 * has ended is no error. `former`: the thread that held it last, which *thread replaces. `work`:
 * what the caller is at, if it has begun. -EBUSY: somebody else traces it; -ETIMEDOUT: a thread
 * does not stop within 2 s; others: as ptrace() gives them.
 */
int rs_hosted_stop(struct rs_hosted_stop *stop, pid_t pid, pid_t *former,
		   const struct rs_prompt *work, struct rs_hosted_stop **out, struct rs_error *err);
/* Lets them go on, if it holds any, and frees it. */
void rs_hosted_let_go(struct rs_hosted_stop *stop);

/*
 * access.c: accesses of an open /proc/PID/mem, each a list of pieces. A child process does them, in
 * order: reads up to the first that fails, writes all.
 */
#define RS_HOSTED_PIECE_MAX ((size_t)65536)
enum rs_hosted_kind {
	RS_HOSTED_READ,
	RS_HOSTED_WRITE,
	RS_HOSTED_WORD, /* writes the aligned word that holds the piece */
};

struct rs_hosted_piece {
	uint64_t at;
	uint8_t *bytes; /* in the room */
	size_t size;
	long done; /* bytes; 0: the address space is no more; or -errno */
};

struct rs_hosted_access {
	enum rs_hosted_kind kind;
	size_t count;
	struct rs_hosted_piece *pieces;
	uint8_t *room;
	size_t used;
};

/* For `count` pieces of `room` bytes together. */
struct rs_hosted_access *rs_hosted_access_new(enum rs_hosted_kind kind, size_t count, size_t room);
/* `bytes`: NULL for a read. */
void rs_hosted_access_add(struct rs_hosted_access *job, uint64_t at, const void *bytes,
			  size_t size);
void rs_hosted_access_free(struct rs_hosted_access *job);
/*
 * Does it. False: it has slept in the kernel for 2 s, or whoever does it is gone. Then the memory
 * can only be left. At most one more piece is written, when the kernel lets it.
 */
bool rs_hosted_access(struct rs_hosted_memory *memory, struct rs_hosted_access *job);
/* `fd`, the memory, and `pages`, its pagemap, are none of the standard ones. The child has them of
 * its own. `pages` < 0: there is none, so each piece is written alone. 0, or -errno. */
int rs_hosted_memory_start(int fd, int pages, struct rs_hosted_memory **out);
/* The child. */
pid_t rs_hosted_memory_process(const struct rs_hosted_memory *memory);
/* After a failed access, and else. NULL is accepted by the latter. */
void rs_hosted_memory_leave(struct rs_hosted_memory *memory);
void rs_hosted_memory_end(struct rs_hosted_memory *memory);

/* text.c: the target's operations on memory. */
int rs_hosted_read_virt(struct rs_target *target, rs_gva_t at, void *out, size_t size,
			struct rs_error *err);
int rs_hosted_read_text(struct rs_target *target, const struct rs_text_patch *patches, size_t count,
			uint8_t (*now)[RS_TEXT_MAX], struct rs_error *err);
int rs_hosted_write_text(struct rs_target *target, const struct rs_text_patch *patches,
			 size_t count, bool *bad, struct rs_error *err);
bool rs_hosted_writes_live(struct rs_target *target, const struct rs_text_patch *patches,
			   size_t count, int failed);
int rs_hosted_write_live(struct rs_target *target, const struct rs_text_patch *patches,
			 size_t count, bool *bad, struct rs_error *err);
/* From now on the memory of the image that the process has now is meant. */
int rs_hosted_open_memory(struct rs_hosted *hosted, struct rs_error *err);

/*
 * fetch_ARCH.c: whether a CPU that runs through an aligned word which the kernel writes for us
 * fetches the old bytes or the new ones, as its vendor says.
 */
bool rs_hosted_word_is_whole(void);

#endif
