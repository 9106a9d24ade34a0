/* SPDX-License-Identifier: MIT */
/*
 * A target that is a QEMU which somebody else has started, and who ends it, unless it was started
 * for us (struct rs_qemu_owner). We reach it by a monitor. Its guest is traced in the memory of an
 * ivshmem-plain device.
 *
 * Text is written through QEMU's gdb stub, which is switched on for the session, on a socket of
 * ours whose descriptor QEMU gets. If somebody else's stub is there, it stays theirs. Then text
 * cannot be written, and the guest cannot be paused. Memory is read as hv/qemu/guestmem.h says.
 *
 * What was done to this QEMU is noted in DIR/NAME.qemu and DIR/NAME.pause before it is done. So if
 * we are killed, the next rs_qemu_adopt() with that name puts it right. stop() and destroy() leave
 * QEMU as it was. It is never asked to end, nor killed. A reset is told as events.reset: the target
 * goes on. It has ended when its process has, or, if we do not know that, when its monitor closes.
 *
 * Thread: the session's. Trust: as hv/qemu/qemu.h.
 */
#ifndef RS_HV_QEMU_ADOPT_H
#define RS_HV_QEMU_ADOPT_H

#include "target/monitor.h"
#include "target/target.h"
#include <sys/types.h>

/*
 * Of a QEMU that was started for this target, paused. start() lets it go, and the target ends with
 * it. Nothing of it outlives us.
 */
struct rs_qemu_owner {
	void *data;
	/* Has it ended soon, without a wait. */
	void (*end)(void *data);
	/* The target is destroyed, and QEMU has not ended. Ends it. Its monitor is still there. */
	void (*release)(void *data);
	/* Has its memory written into a new file. May wait. */
	int (*dump)(void *data, const char *path, struct rs_error *err);
	int serial_fd;      /* where its console goes; stays the caller's; -1: stays where it is */
	const char *serial; /* the id of the console's character device in QEMU */
};

struct rs_qemu_adopt_config {
	struct rs_monitor *monitor; /* connected; taken over on success, with its listener */
	/* Processes of which one may be QEMU. Which one it is, its answers tell. */
	const pid_t *pids;
	size_t pid_count;
	const char *device;                /* id of the ivshmem device; NULL: the only one */
	const char *memory;                /* the path of its memory; NULL: what QEMU says */
	bool no_stub;                      /* its gdb stub is not used: the guest patches itself */
	const struct rs_qemu_owner *owner; /* copied on success; NULL: it is somebody else's */
	const char *via; /* how a later session reaches it (machine/reach.h), for the file */
	const char *run_dir, *name; /* of the source's files */
	GMainContext *context;      /* NULL: the thread's default */
};

/* What was found. The target owns the strings. */
struct rs_qemu_adopted {
	const char *name;   /* the machine's; NULL: it has none */
	const char *via;    /* as it was given */
	const char *region; /* path by which the device's memory can be opened */
	/*
	 * … which leads to a descriptor of QEMU's, open for writing. QEMU may put another file
	 * there before `region` is opened: rs_machine_check_memory().
	 */
	bool is_open;
	uid_t user;       /* of QEMU's process, if is_open */
	const char *file; /* the path that QEMU was given, for messages */
	uint64_t size;    /* of that memory, bytes */
};

/*
 * Finds out all that is to be known, and changes nothing yet. `lines` (of char *) gets what people
 * are to know. Whoever has taken QEMU over may name any file as the memory. So it has to be the one
 * that the caller names, or one that the process has open for writing itself. Errors: -ENODEV no
 * such device; -ENOTSUP its memory cannot be used; others as rs_monitor_call(), and those of the
 * system.
 */
int rs_qemu_adopt(const struct rs_qemu_adopt_config *config, struct rs_target **out,
		  struct rs_qemu_adopted *found, GPtrArray *lines, struct rs_error *err);

/*
 * Whether an earlier session has left its files about a QEMU that has ended since then: nothing of
 * it is left to be put right. False: it runs, or is not known.
 */
bool rs_qemu_left_ended(const char *run_dir, const char *name);
/* Removes such files. */
void rs_qemu_forget_left(const char *run_dir, const char *name);

/*
 * To be called once, after the caller has made sure that no other session has the device's memory,
 * and before the target is used for more. Switches the stub on, unless it was asked not to.
 * *can_patch: it is ours, so text can
 * be written. What a session that died has left of its own is put right. Errors: as
 * rs_monitor_call(), and those of the system.
 */
int rs_qemu_take_over(struct rs_target *target, bool *can_patch, GPtrArray *lines,
		      struct rs_error *err);

#endif
