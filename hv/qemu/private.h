/* SPDX-License-Identifier: MIT */
/*
 * Shared by the files of the QEMU target. qemu.c has its events, most operations and its end,
 * pause.c who stops the VM and lets it run, text.c its memory and text. ready.c finds out whether
 * QEMU answers now.
 * lifecycle.c has create, attach, and the file by which a later session attaches.
 */
#ifndef RS_HV_QEMU_PRIVATE_H
#define RS_HV_QEMU_PRIVATE_H

#include "base/ticks.h"
#include "qemu/adopt.h"
#include "qemu/gdbstub.h"
#include "qemu/guestmem.h"
#include "target/patience.h"
#include "qemu/process.h"
#include "qemu/qmp.h"
#include "target/console.h"

/*
 * For one answer, while QEMU is at work (patience.h). Under load it has taken 100 ms. While a
 * session runs, others wait with us (PATIENCE). Nobody else waits for an answer by which it becomes
 * ready (ANSWER).
 */
#define RS_QEMU_TIMEOUT_MS 10000
#define RS_QEMU_ANSWER_MS 5000
#define RS_QEMU_PATIENCE_MS 2000

struct rs_qemu {
	struct rs_target target; /* first: the target is the object */
	struct rs_target_ops ops;
	char kind[16];
	struct rs_qemu_process process;
	struct rs_monitor *monitor;
	struct rs_gdb *gdb; /* connected while paused */
	GMainContext *context;
	GSource *watch;              /* the process's end */
	GSource *killer;             /* it is to end, and has some time … */
	struct rs_patience patience; /* … so much, … */
	gint64 kill_at;              /* … and this, once it has answered */
	GSource *trimmer;
	GSource *freer;            /* lets a VM run on that we left paused */
	GSource *settler;          /* asks how it is, once all is quiet */
	GSource *asker;            /* takes its answer to ready(), or its silence */
	struct rs_patience answer; /* for that */

	char *name, *uuid;
	char *qmp_path, *gdb_path, *state_path, *pause_path, *region_path;
	char *file;       /* of a device's memory, as QEMU calls it */
	bool region_open; /* region_path leads to a descriptor of QEMU's … */
	uid_t user;       /* … whose process is this user's */
	uint64_t memory;
	uint8_t *ram; /* file order; see ram_at() */

	/* Of one that somebody else has started (adopt.c). */
	bool borrowed;
	bool owned;                 /* … but for us, by … */
	struct rs_qemu_owner owner; /* … this one */
	bool no_stub;               /* it is to be left alone */
	bool stub;                  /* its gdb stub is on, and ours */
	bool left;                  /* files of a dead session are about it */
	bool released;              /* stop() was called */
	bool resetting; /* one of ours, by us: until it has booted a reset does not end it */
	gint64 reset;   /* when it was reset, which is to be told; 0: no */
	bool panicked;  /* its guest has said so since the last reset … */
	gint64 panic;   /* … which is to be told, and when; 0: no */
	char *machine;  /* its name */
	char *via;      /* how it is reached */
	char *news;     /* to be told */
	struct rs_guestmem *guestmem;
	GSource *teller;

	bool attached, started, ended;
	bool asked;     /* ready() has asked it, and waits for the answer */
	bool answered;  /* it has answered something since then */
	bool wanted;    /* somebody has asked for it who is to hear when it answers again */
	bool running;   /* nobody but us has stopped it, as the last events said */
	bool pausing;   /* q_pause() is at work, and causes the next STOP event */
	bool stop_seen; /* a STOP event came since this was cleared */
	/* Events STOP and RESUME that we caused and that are still to come. */
	uint32_t stops, resumes;
	bool resumed_by_other; /* since this pause began … */
	gint64 resumed_at;     /* … and when we heard of it */
	gint64 changed_at;     /* when it was stopped or let run last, as far as we know */
	bool moving, moved;    /* it is being migrated or saved; all of it has been */
	uint64_t held[RS_MAX_CPUS / 64]; /* vCPUs that do not go on with the others … */
	bool holds;                      /* … if there are any */
	bool partial;      /* the others run; the stub is open, and what it gets stops them */
	bool ours;         /* we paused the VM, so we resume it */
	bool left_paused;  /* a session that died left the VM paused, or we did */
	bool owes;         /* we left the VM paused, and are to let it go … */
	bool asks_to_free; /* … once we have heard how it is */
	struct rs_console *console; /* NULL: QEMU writes it, or nobody */
	struct rs_target_end end;   /* while the console is written */
	int guard_fd;               /* ends with us; -1: there is no guard */
	int mark_fd;                /* see rs_qemu_mark_pause() */
	bool stray;                 /* a pause was given up, and may still stop the VM */
	char *shutdown;             /* the SHUTDOWN event's reason */
	char *killed_why;           /* of stop() */
	struct rs_moment begun;     /* the measurement of the clock's rate begins here */
	uint64_t kvm_exits;         /* as last heard */
};

static inline struct rs_qemu *rs_qemu_of(struct rs_target *target)
{
	return (struct rs_qemu *)target;
}

/* The stub, while it has the VM stopped. NULL: it has not. */
static inline struct rs_gdb *rs_qemu_stopped_by(const struct rs_qemu *qemu)
{
	return qemu->partial ? NULL : qemu->gdb;
}

/* qemu.c */
void rs_qemu_init_ops(struct rs_qemu *qemu, enum rs_qemu_accel accel);
void rs_qemu_on_event(void *data, const char *event, gint64 at, JsonObject *payload);
void rs_qemu_watch(struct rs_qemu *qemu);

/* pause.c */
int rs_qemu_pause(struct rs_target *target, struct rs_error *err);                      /* the op */
int rs_qemu_resume(struct rs_target *target, struct rs_error *err);                     /* the op */
int rs_qemu_hold(struct rs_target *target, const uint64_t *cpus, struct rs_error *err); /* too */
/* The events STOP and RESUME, and what QEMU says of a migration. */
void rs_qemu_on_stop(struct rs_qemu *qemu);
void rs_qemu_on_resume(struct rs_qemu *qemu);
void rs_qemu_note_migration(struct rs_qemu *qemu, JsonObject *said);
/* `moved` (may be NULL): it was migrated or written to a file, and is not to be let run on here. */
int rs_qemu_query_running(struct rs_qemu *qemu, bool *running, bool *moved, struct rs_error *err);
/* False: this is no answer to query-status. *moved: as below. */
bool rs_qemu_take_state(JsonNode *reply, bool *running, bool *moved);
/* Such an answer came for which nobody waits. */
void rs_qemu_learn_state(struct rs_qemu *qemu, bool running, bool moved);
void rs_qemu_watch_pauses(struct rs_qemu *qemu);
/* One that runs when its ready time has come. The caller destroys and unrefs it. */
GSource *rs_qemu_source(struct rs_qemu *qemu, GSourceFunc callback);

/* text.c: ops */
int rs_qemu_read_phys(struct rs_target *target, rs_gpa_t at, void *out, size_t size,
		      struct rs_error *err);
int rs_qemu_read_text(struct rs_target *target, const struct rs_text_patch *patches, size_t count,
		      uint8_t (*now)[RS_TEXT_MAX], struct rs_error *err);
int rs_qemu_write_text(struct rs_target *target, const struct rs_text_patch *patches, size_t count,
		       bool *bad, struct rs_error *err);

/* Bytes of RAM below 4 GiB, for machine `pc`. */
uint64_t rs_qemu_low_ram(const struct rs_qemu *qemu);

/* core.c */
int rs_qemu_dump(struct rs_target *target, const char *path, struct rs_error *err); /* the op */

/* ready.c */
bool rs_qemu_ready(struct rs_target *target); /* the op */
void rs_qemu_watch_answers(struct rs_qemu *qemu);
/*
 * Waits for a short time until it has answered something of late. -EAGAIN: it is silent. Other
 * errors: as rs_monitor_await().
 */
int rs_qemu_await(struct rs_qemu *qemu, struct rs_error *err);

/* mark.c: a file that says whether we have paused the VM, so that the next session knows it if we
 * are killed. Its place is reserved, so it can be written in a full directory. */
int rs_qemu_reserve_mark(struct rs_qemu *qemu, struct rs_error *err);
void rs_qemu_mark_pause(struct rs_qemu *qemu, bool on);
bool rs_qemu_is_marked(const struct rs_qemu *qemu);
/* The same of the open file. They may be called where a signal handler may be. */
bool rs_qemu_mark_says_paused(int fd);
void rs_qemu_mark_runs(int fd);

/* guard.c */
/* Before the first pause. Errors: those of the system. */
int rs_qemu_guard_begin(struct rs_qemu *qemu, struct rs_error *err);
void rs_qemu_guard_end(struct rs_qemu *qemu); /* accepts one that was not begun */

/* adopt.c */
/* Undoes what we did to a QEMU that is not ours, or leaves it to a later session. */
void rs_qemu_let_be(struct rs_qemu *qemu);

/* owned.c: of one that was started for us. */
/* Its console goes through us from now on. */
int rs_qemu_take_console(struct rs_qemu *qemu, struct rs_error *err);
/* Has it ended, once. */
void rs_qemu_end_owned(struct rs_qemu *qemu, const char *why);

/* stub.c: of a QEMU that is not ours. */
int rs_qemu_stub_on(struct rs_qemu *qemu, struct rs_error *err);
int rs_qemu_stub_off(struct rs_monitor *monitor, struct rs_error *err);

/* lifecycle.c */
struct rs_qemu *rs_qemu_new(const char *run_dir, const char *name, GMainContext *context);
void rs_qemu_free(struct rs_qemu *qemu);
void rs_qemu_remove_files(struct rs_qemu *qemu);

#endif
