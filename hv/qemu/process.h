/* SPDX-License-Identifier: MIT */
/*
 * The QEMU process: its command line, the files that it gets from us, its end.
 *
 * QEMU gets every file as a descriptor with a fixed number (RS_QEMU_FD_*). So a later session finds
 * each under /proc/PID/fd, and needs no path, behind which somebody could put another file. Only
 * hv/qemu calls this.
 */
#ifndef RS_HV_QEMU_PROCESS_H
#define RS_HV_QEMU_PROCESS_H

#include "qemu/qemu.h"

enum {
	RS_QEMU_FD_RAM = 3,
	RS_QEMU_FD_REGION,
	RS_QEMU_FD_QMP, /* listening */
	RS_QEMU_FD_GDB, /* listening */
	RS_QEMU_FD_LOG, /* -d cpu_reset */
	RS_QEMU_FD_SERIAL,
	RS_QEMU_FD_END
};

struct rs_qemu_process {
	pid_t pid;
	int pid_fd;                    /* the process itself, as its pid may become another's */
	bool child;                    /* ours to reap */
	bool reaped;                   /* `status` is valid */
	int status;                    /* of waitpid */
	int ram_fd, stderr_fd, log_fd; /* -1: not reachable */
	off_t stderr_seen;             /* size of stderr before the guest was started */
};

/*
 * Whether QEMU may write its console to `fd` itself, which it opens anew. A terminal would obey the
 * guest's escapes, and some files can be opened by their owner alone. In a file that is not opened
 * to append, what others write who share the description would overwrite the console.
 */
bool rs_qemu_process_may_have(int fd);

/* Starts QEMU, listening on both sockets. */
int rs_qemu_process_spawn(const struct rs_qemu_config *config, const char *uuid,
			  const char *qmp_path, const char *gdb_path, struct rs_qemu_process *out,
			  struct rs_error *err);

/* A process that is not ours, of which only the end is watched. */
int rs_qemu_process_watch(pid_t pid, struct rs_qemu_process *out, struct rs_error *err);

/* Finds a process again. -ESRCH: there is none, or it was not started with this uuid. */
int rs_qemu_process_find(pid_t pid, const char *uuid, struct rs_qemu_process *out,
			 struct rs_error *err);

/* Waits up to timeout_ms for its end; true if it has ended. Reaps a child. */
bool rs_qemu_process_wait(struct rs_qemu_process *process, int timeout_ms);
/* Does nothing to a process that has ended. */
void rs_qemu_process_signal(const struct rs_qemu_process *process, int signal);

/* The first line on stderr after `from` that is no warning, without the program's name, or NULL. */
char *rs_qemu_process_complaint(const struct rs_qemu_process *process, off_t from);
/* Whether QEMU logged a triple fault. */
bool rs_qemu_process_triple_fault(const struct rs_qemu_process *process);
/*
 * Frees the memory of what QEMU said and logged long ago. A guest decides how much that is, so this
 * is to be called about every second.
 */
void rs_qemu_process_trim(const struct rs_qemu_process *process);

void rs_qemu_process_clear(struct rs_qemu_process *process);

#endif
