/* SPDX-License-Identifier: MIT */
/*
 * Process tracing inside a guest, after ktrace(9) of OpenBSD: what processes do, chosen process by
 * process. docs/dialects/ktrace.md shows an OS how to use it.
 *
 * Two have to want a record. The OS, asked by its users, chooses processes and facilities here. The
 * host switches the events of the system "ktrace" on and off, one for each facility. So they are
 * listed, filtered and decoded as all events are.
 *
 * Order of use: the OS embeds a struct rs_ktrace_proc in each process and a struct rs_ktrace_thread
 * in each thread. It asks RS_KTRPOINT() where something happens, and calls rs_ktr*() if the answer
 * is yes:
 *
 *	if (RS_KTRPOINT(&td->ktrace, RS_KTRFAC_NAMEI))
 *		rs_ktrnamei(&td->ktrace, path);
 *
 * What ktrace(9) calls a struct proc is a thread here.
 *
 * Threads: everything may be called on any CPU, in any context. The thread that is passed to
 * RS_KTRPOINT() or rs_ktr*() is the one that runs: a record shows the running task. The control
 * functions need no lock of their own. The OS keeps the processes that they look at where they are.
 *
 * Recursion: while a thread writes a record, RS_KTRPOINT() is false for it, and rs_ktr*() do
 * nothing. The thread counts what is left out.
 *
 * Trust: the OS passes memory that may be read during the call. Lengths are bounded here.
 */
#ifndef RINGSIDE_KTRACE_H
#define RINGSIDE_KTRACE_H

#include <ringside/atomic.h>
#include <ringside/error.h>
#include <ringside/event.h>
#include <ringside/facility.h>
#include <ringside/serve.h>
#include <ringside/types.h>

/* What a record holds at most, in bytes. All of it fits into a ring's page of 4 KiB. */
#define RS_KTR_DATA_MAX 2048u /* of the data of a structure, user, exec or I/O record */
#define RS_KTR_PATH_MAX 1024u /* of a path or the name of an emulation, without NUL */
#define RS_KTR_NAME_MAX 64u   /* of a structure's name, without NUL */
#define RS_KTR_ARGS_MAX 64u   /* arguments of a system call */
#define RS_KTR_PIECES_MAX 64u /* records of one I/O transaction */
#define RS_KTR_USER_LABEL 20u /* of a user record's label, with its NUL */
#define RS_KTR_USER_MAX 2048u /* of its data */

/* A process. All zero: it is not traced. */
struct rs_ktrace_proc {
	uint32_t
		facilities; /* RS_KTRFAC_*: changed only by the functions below; any CPU reads it */
	/* The OS's, for those functions: */
	uint32_t pid;  /* 1 ... */
	uint32_t pgid; /* its group; 0: none */
};

/* A thread. The OS sets `proc` before the thread runs, and leaves the rest zero. */
struct rs_ktrace_thread {
	struct rs_ktrace_proc *proc;
	uint32_t inside;   /* a record of it is being written */
	uint32_t left_out; /* records that were not written because of that; wraps */
};

enum rs_ktr_rw { RS_KTR_READ = 0, RS_KTR_WRITE = 1 };

struct rs_ktr_iovec {
	const void *base;
	uint64_t len; /* bytes */
};

/* What was done about a signal: one of these, or the address of its handler. */
#define RS_KTR_SIG_DFL 0ull
#define RS_KTR_SIG_IGN 1ull
#define RS_KTR_SIG_ERR (~0ull)

struct rs_ktr_siginfo {
	int32_t code, error;
	uint32_t pid, uid; /* of the sender */
	int32_t status;    /* of a child */
	uint64_t addr;     /* of a fault */
	uint64_t value;    /* that the sender gave */
};

#ifdef __cplusplus
extern "C" {
#endif

/* ---- records: one for each call, if the facility is on for the thread's process ---- */

/*
 * The kernel switches from or to the thread. `out`: it is put to wait, else onto a queue of those
 * that can run. `user`: involuntarily.
 */
void rs_ktrcsw(struct rs_ktrace_thread *t, bool out, bool user);
/* The thread's execution environment is `emul` from now on. NULL reads "(null)", as a path does. */
void rs_ktremul(struct rs_ktrace_thread *t, const char *emul);
/*
 * `len` bytes were read or written through the descriptor `fd`, from or to what `iov` names. Its
 * parts hold `len` bytes together, or more. The data is written in pieces of RS_KTR_DATA_MAX bytes
 * and of one part at most. Each is a record with its offset and the transaction's length. After
 * RS_KTR_PIECES_MAX of them the rest is left out. If `error` is not 0 or there is no data, one
 * record without data is written.
 */
void rs_ktrgenio(struct rs_ktrace_thread *t, int fd, enum rs_ktr_rw rw,
		 const struct rs_ktr_iovec *iov, uint32_t len, int error);
/*
 * One piece of such a transaction, for a caller that has not all of its data at once: `size` bytes,
 * at most RS_KTR_DATA_MAX, which are those from `offset` on of `len`. 0: they cannot be read.
 */
void rs_ktrgenio_piece(struct rs_ktrace_thread *t, int fd, enum rs_ktr_rw rw, const void *data,
		       uint32_t size, uint32_t offset, uint32_t len);
/* A path is looked up. Past RS_KTR_PATH_MAX bytes it is cut; `length` is that of all of it. */
void rs_ktrnamei(struct rs_ktrace_thread *t, const char *path);
/*
 * The signal `sig` was posted. `action`: RS_KTR_SIG_* or a handler. `mask`: the thread's, at that
 * time, where bit n - 1 stands for signal n as in sigmask(). `info` may be NULL.
 */
void rs_ktrpsig(struct rs_ktrace_thread *t, int sig, uint64_t action, uint64_t mask, int code,
		const struct rs_ktr_siginfo *info);
/*
 * The system call number `code` begins, with `argsize` bytes of arguments of 8 bytes each. Those
 * beyond RS_KTR_ARGS_MAX are left out, and so is part of an argument; the record has `argsize`.
 */
void rs_ktrsyscall(struct rs_ktrace_thread *t, int64_t code, uint64_t argsize,
		   const uint64_t *args);
/*
 * It returns `error`, or `retval` if that is 0. Two errors are none: RS_KTR_RESTART says that the
 * call begins again, RS_KTR_JUSTRETURN that the registers are already as they should be.
 */
void rs_ktrsysret(struct rs_ktrace_thread *t, int64_t code, int error, int64_t retval);
/* A structure called `name`, such as "stat", that went to or came from the process. */
void rs_ktrstruct(struct rs_ktrace_thread *t, const char *name, const void *data, uint64_t len);
/* The strings of an exec, each with its NUL, one after the other in `len` bytes. */
void rs_ktrexecargs(struct rs_ktrace_thread *t, const char *strings, uint64_t len);
void rs_ktrexecenv(struct rs_ktrace_thread *t, const char *strings, uint64_t len);
/*
 * What a program says about itself. 0, also if it is not traced; -RS_ENAMETOOLONG: the label has no
 * NUL within RS_KTR_USER_LABEL bytes; -RS_EINVAL: `len` is more than RS_KTR_USER_MAX. Nothing is
 * written then.
 */
int rs_ktruser(struct rs_ktrace_thread *t, const char *label, const void *data, uint64_t len);

/* ---- control, after ktrace(2) ---- */

/* Who asks, and how the OS goes through its processes. */
struct rs_ktrace_caller {
	bool root;    /* the superuser asks, or the host */
	bool descend; /* the processes that are meant, and all their present descendants */
	void *data;   /* the OS's */
	/* The process after `last`, or the first one if `last` is NULL. NULL: there are no more. */
	struct rs_ktrace_proc *(*next)(const struct rs_ktrace_caller *caller,
				       struct rs_ktrace_proc *last);
	/* The parent of `proc`, or NULL. Needed if `descend` is set. */
	struct rs_ktrace_proc *(*parent)(const struct rs_ktrace_caller *caller,
					 const struct rs_ktrace_proc *proc);
	/* Whether a caller other than root may trace `proc`: it is his, and it has not changed its
	 * ids. NULL: he may trace all that root does not trace. */
	bool (*may)(const struct rs_ktrace_caller *caller, const struct rs_ktrace_proc *proc);
};

/*
 * Traces `facilities` of the process `pid`, or, if it is negative, of each process of the group
 * -pid, in addition to what is traced already. RS_KTRFAC_INHERIT may be added. What root traces
 * gets RS_KTRFAC_ROOT. Returns how many processes were changed, or
 *     -RS_EINVAL  no facility is named, or one that does not exist
 *     -RS_ESRCH   no process is meant
 *     -RS_EPERM   the caller may trace none of those that are meant
 */
int rs_ktrace_set(const struct rs_ktrace_caller *caller, int32_t pid, uint32_t facilities);
/*
 * Ends the tracing of `facilities`, or of RS_KTRFAC_INHERIT. A process without any facility loses
 * both flags too. Results as above.
 */
int rs_ktrace_clear(const struct rs_ktrace_caller *caller, int32_t pid, uint32_t facilities);
/* Ends all tracing of all processes that the caller may trace. -RS_EPERM: some are left. */
int rs_ktrace_clearall(const struct rs_ktrace_caller *caller);

/*
 * Carries out the host's commands (ringside/serve.h): `ringside ktrace` asks for the same as those
 * three. To be added to the OS's struct rs_serve with rs_ktrace_serve(). `caller` is the OS's, with
 * its `next`, `parent` and `data`; the host asks as root.
 */
struct rs_ktrace_server {
	struct rs_serve_handler handler;
	struct rs_ktrace_caller caller;
};
void rs_ktrace_serve(struct rs_ktrace_server *server, struct rs_serve *serve,
		     const struct rs_ktrace_caller *caller);

/* A child is made: it is traced as its parent is if that has RS_KTRFAC_INHERIT, else not at all. */
void rs_ktrace_fork(const struct rs_ktrace_proc *parent, struct rs_ktrace_proc *child);
/*
 * The process runs another program. If it gets other credentials with it (setuid, setgid), its
 * tracing ends, unless root traces it.
 */
void rs_ktrace_exec(struct rs_ktrace_proc *proc, bool new_credentials);
/* The process is gone: it is not traced any more, and its memory may be used for another one. */
void rs_ktrace_exit(struct rs_ktrace_proc *proc);

/* For RS_KTRPOINT() where the event is on: the process's mask, then the recursion guard. */
bool rs_ktrace_wanted(struct rs_ktrace_thread *t, uint32_t facility);

#ifdef __cplusplus
}
#endif

/*
 * Whether one of the facilities `type`, a constant mask, is to be recorded of the thread `t`. While
 * the host has their events off, this is one 5-byte NOP for each of them and nothing else: `t` is
 * not looked at.
 */
#define RS_KTRPOINT(t, type)                                                                       \
	__extension__({                                                                            \
		RS_STATIC_ASSERT((type) != 0 && ((type) & ~RS_KTRFAC_POINTS) == 0,                 \
				 "RS_KTRPOINT takes facilities");                                  \
		rs_ktrpoint((t), (type));                                                          \
	})

#if defined(RS_NO_TRACE)
static inline bool rs_ktrpoint(struct rs_ktrace_thread *t, uint32_t type)
{
	(void)t;
	(void)type;
	return false;
}
#else
/* A site of the event, as trace_*() has one. */
#define RS_KTR_SITE(name, facility)                                                                \
	RS_EXTERN_C struct rs_event rs_event_ktrace_##name __attribute__((visibility("hidden")));  \
	static inline __attribute__((always_inline)) bool rs_ktrpoint_##name(                      \
		struct rs_ktrace_thread *t, uint32_t type)                                         \
	{                                                                                          \
		if (!(type & (facility)))                                                          \
			return false;                                                              \
		RS_SITE_GOTO("rs_event_ktrace_" #name, rs_on);                                     \
		return false;                                                                      \
	rs_on:                                                                                     \
		return rs_ktrace_wanted(t, facility);                                              \
	}

RS_KTR_SITE(syscall, RS_KTRFAC_SYSCALL)
RS_KTR_SITE(sysret, RS_KTRFAC_SYSRET)
RS_KTR_SITE(namei, RS_KTRFAC_NAMEI)
RS_KTR_SITE(genio, RS_KTRFAC_GENIO)
RS_KTR_SITE(psig, RS_KTRFAC_PSIG)
RS_KTR_SITE(csw, RS_KTRFAC_CSW)
RS_KTR_SITE(emul, RS_KTRFAC_EMUL)
RS_KTR_SITE(struct, RS_KTRFAC_STRUCT)
RS_KTR_SITE(user, RS_KTRFAC_USER)
RS_KTR_SITE(execargs, RS_KTRFAC_EXECARGS)
RS_KTR_SITE(execenv, RS_KTRFAC_EXECENV)
#undef RS_KTR_SITE

static inline __attribute__((always_inline)) bool rs_ktrpoint(struct rs_ktrace_thread *t,
							      uint32_t type)
{
	return rs_ktrpoint_syscall(t, type) || rs_ktrpoint_sysret(t, type) ||
	       rs_ktrpoint_namei(t, type) || rs_ktrpoint_genio(t, type) ||
	       rs_ktrpoint_psig(t, type) || rs_ktrpoint_csw(t, type) || rs_ktrpoint_emul(t, type) ||
	       rs_ktrpoint_struct(t, type) || rs_ktrpoint_user(t, type) ||
	       rs_ktrpoint_execargs(t, type) || rs_ktrpoint_execenv(t, type);
}
#endif

#endif
