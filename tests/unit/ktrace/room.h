/* SPDX-License-Identifier: MIT */
/*
 * A guest that traces its processes, and the host that reads it, in one process: for the tests of
 * ktrace. The agent writes into rings with pages of 4 KiB, and a follower decodes what they hold.
 */
#ifndef KTRACE_ROOM_H
#define KTRACE_ROOM_H

#include <glib.h>
#include <ringside/ktrace.h>
#include <rs-trace-feed.h>
#include <rs-trace-follower.h>

/* The running task, as the OS tells the agent. */
extern struct room_task {
	uint32_t pid, tgid;
	char comm[RS_COMM_LEN];
} room_task;

struct room {
	RsTraceRegion *region;
	RsTraceSink *follower;
	RsTraceFeed *feed;
	guint known;        /* records that were read before */
	GPtrArray *records; /* of struct seen; what room_read() has found */
	/* Gets each record that room_read() finds; may be NULL. */
	void (*also)(const RsTraceRecord *record, const RsTraceTask *task);
	struct rs_ktrace_proc proc;
	struct rs_ktrace_thread thread; /* of proc */
};

/* A record as the host sees it. */
struct seen {
	const RsTraceEvent *event;
	guint8 *payload;
	guint size;
	guint32 pid;
	gboolean cut;
};

/* Is called whenever the agent asks the OS for the time; NULL: nothing. */
extern void (*room_on_time)(void);

/* As fixtures of GLib. All events are on; process 7 runs, with thread 8, and is not traced. */
void room_set_up(struct room *room, gconstpointer data);
void room_tear_down(struct room *room, gconstpointer data);

/* The host switches an event of ktrace on or off; NULL: all of them. */
void room_switch(struct room *room, const char *name, bool on);
/* Traces `facilities` of the room's process alone, whatever was traced before. */
void room_trace(struct room *room, uint32_t facilities);

/* Reads what has come since the last call. Returns how many records there are. */
guint room_read(struct room *room);
/* The only record that has come since the last call, which must be of this event. */
const struct seen *room_only(struct room *room, const char *name);

/* A field of a record: an integer, zero- or sign-extended; text or bytes. */
gint64 seen_int(const struct seen *seen, const char *field);
char *seen_text(const struct seen *seen, const char *field);
const guint8 *seen_bytes(const struct seen *seen, const char *field, guint *size);

#define assert_int(seen, field, value) g_assert_cmpint(seen_int(seen, field), ==, (gint64)(value))
#define assert_text(seen, field, value)                                                            \
	do {                                                                                       \
		g_autofree char *text_ = seen_text(seen, field);                                   \
		g_assert_cmpstr(text_, ==, value);                                                 \
	} while (0)
#define assert_bytes(seen, field, value, value_size)                                               \
	do {                                                                                       \
		guint size_;                                                                       \
		const guint8 *bytes_ = seen_bytes(seen, field, &size_);                            \
		g_assert_cmpmem(bytes_, size_, value, value_size);                                 \
	} while (0)

#endif
