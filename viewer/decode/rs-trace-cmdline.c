/* SPDX-License-Identifier: MIT */
#include "rs-trace-cmdline.h"

#include <string.h>

#define NAMES_MAX 1024u      /* of a pid: a file is read two windows ahead */
#define NAMES_ROOM 1280u     /* so that only some of those that are dropped move the others */
#define PIDS_MAX 32768u      /* of a map */
#define ALL_NAMES_MAX 65536u /* of a map */

typedef struct {
	RsTraceMoment since;
	guint32 tgid;
	guint32 first, last; /* its numbers; they differ if it replaced others of the same tick */
	char comm[RS_COMM_LEN + 1];
} Name;

/* Names of one pid, oldest first. */
typedef struct {
	guint n;
	guint room;
	Name *names; /* the oldest one; those before it in `all` were dropped */
	Name *all;   /* `room` of them */
} History;

#define RECENT 64u /* a power of 2 */

/* What a pid's task is from `since` on, and before `until`, in a boot and a clock chain. */
typedef struct {
	guint64 change; /* it holds as long as this is the map's */
	guint32 pid;
	RsTraceMoment since;
	guint64 until; /* ticks */
	RsTraceTask task;
} Recent;

struct _RsTraceCmdline {
	/*
	 * Histories by pid. A full young map replaces the old map, whose histories are dropped. A
	 * pid in the old map moves back to the young one when a snapshot holds it again. So only
	 * pids that no snapshot held for a long time are dropped. A map is full if it has PIDS_MAX
	 * pids, or ALL_NAMES_MAX names.
	 */
	GHashTable *young;
	GHashTable *old;
	guint n_names; /* in the young map */
	gsize young_size, old_size;
	/* Of the last look-ups, since a few tasks have most of the records; by pid. */
	Recent recent[RECENT];
	guint64 change; /* counts what may have changed them; 1 at first */
};

static void history_free(gpointer data)
{
	History *history = data;

	if (!history)
		return;
	g_free(history->all);
	g_free(history);
}

/* With what a map needs for it, and what the allocator adds. */
static gsize history_size(const History *history)
{
	return sizeof(*history) + history->room * sizeof(*history->names) + 96;
}

gsize rs_trace_cmdline_size(const RsTraceCmdline *cmdline)
{
	return sizeof(*cmdline) + 2 * 256 + cmdline->young_size + cmdline->old_size;
}

static GHashTable *new_map(void)
{
	return g_hash_table_new_full(NULL, NULL, NULL, history_free);
}

RsTraceCmdline *rs_trace_cmdline_new(void)
{
	RsTraceCmdline *cmdline = g_new0(RsTraceCmdline, 1);

	cmdline->young = new_map();
	cmdline->old = new_map();
	cmdline->change = 1;
	return cmdline;
}

void rs_trace_cmdline_free(RsTraceCmdline *cmdline)
{
	if (!cmdline)
		return;
	g_hash_table_unref(cmdline->young);
	g_hash_table_unref(cmdline->old);
	g_free(cmdline);
}

void rs_trace_cmdline_age(RsTraceCmdline *cmdline)
{
	g_hash_table_unref(cmdline->old);
	cmdline->old = cmdline->young;
	cmdline->old_size = cmdline->young_size;
	cmdline->young = new_map();
	cmdline->young_size = cmdline->n_names = 0;
	cmdline->change++;
}

static History *history_of(RsTraceCmdline *cmdline, guint32 pid)
{
	gpointer key = GUINT_TO_POINTER(pid), stolen = NULL;
	History *history = g_hash_table_lookup(cmdline->young, key);

	cmdline->change++;
	if (history && cmdline->n_names < ALL_NAMES_MAX)
		return history;
	if (cmdline->n_names >= ALL_NAMES_MAX || g_hash_table_size(cmdline->young) >= PIDS_MAX)
		rs_trace_cmdline_age(cmdline);
	if (g_hash_table_steal_extended(cmdline->old, key, NULL, &stolen)) {
		history = stolen;
		cmdline->old_size -= history_size(history);
	} else {
		history = g_new0(History, 1);
	}
	cmdline->n_names += history->n;
	cmdline->young_size += history_size(history);
	g_hash_table_insert(cmdline->young, key, history);
	return history;
}

/* Room for one more name behind the others. */
static void make_end(RsTraceCmdline *cmdline, History *history)
{
	if (history->room < NAMES_ROOM) {
		const gsize dropped = (gsize)(history->names - history->all);

		cmdline->young_size -= history_size(history);
		history->room = MIN(NAMES_ROOM, MAX(1, history->room * 2));
		cmdline->young_size += history_size(history);
		history->all = g_renew(Name, history->all, history->room);
		history->names = history->all + dropped;
	} else {
		memmove(history->all, history->names, history->n * sizeof(*history->names));
		history->names = history->all;
	}
}

static void make_room(RsTraceCmdline *cmdline, History *history, guint at)
{
	cmdline->n_names++;
	if ((gsize)(history->names - history->all) + history->n == history->room)
		make_end(cmdline, history);
	memmove(&history->names[at + 1], &history->names[at],
		(history->n - at) * sizeof(*history->names));
	history->n++;
}

void rs_trace_cmdline_add(RsTraceCmdline *cmdline, const struct rs_cmdline_entry *entry)
{
	History *history = history_of(cmdline, entry->pid);
	const RsTraceMoment since = {entry->boot, entry->chain, entry->since};
	guint at = history->n;
	guint32 first = entry->number;
	Name *name;

	while (at && rs_trace_moment_compare(&history->names[at - 1].since, &since) > 0)
		at--;
	if (at && rs_trace_moment_compare(&history->names[at - 1].since, &since) == 0) {
		name = &history->names[at - 1];
		if (name->tgid == entry->tgid && !strncmp(name->comm, entry->comm, RS_COMM_LEN))
			return;
		at--; /* two names in one tick: the later one replaces the earlier */
		first = MIN(name->first, entry->number);
	} else {
		if (history->n == NAMES_MAX) {
			if (!at)
				return;
			history->names++;
			history->n--;
			cmdline->n_names--;
			at--;
		}
		make_room(cmdline, history, at);
	}
	name = &history->names[at];
	name->since = since;
	name->tgid = entry->tgid;
	name->first = first;
	name->last = entry->number;
	memcpy(name->comm, entry->comm, RS_COMM_LEN);
	name->comm[RS_COMM_LEN] = 0;
}

void rs_trace_cmdline_merge(RsTraceCmdline *cmdline, const guint8 *snapshot, const guint8 *again,
			    gsize size, gsize stride)
{
	struct rs_cmdline_entry entry;

	for (gsize at = 0; size - at >= stride; at += stride) {
		rs_take_record(&entry, sizeof(entry), snapshot + at, stride);
		if (!entry.sequence || entry.sequence % 2)
			continue;
		if (again && memcmp(&entry, again + at, rs_known_bytes(stride, sizeof(entry))))
			continue;
		rs_trace_cmdline_add(cmdline, &entry);
	}
}

/* Whether the pid had names between this one and the next one that no snapshot held. */
static gboolean is_before_gap(const History *history, guint at)
{
	const Name *name = &history->names[at], *next = name + 1;

	return at + 1 < history->n && name->last && next->since.boot == name->since.boot &&
	       next->first > name->last && next->first - name->last > 1;
}

static const History *find(const RsTraceCmdline *cmdline, guint32 pid)
{
	gpointer key = GUINT_TO_POINTER(pid);
	const History *history = g_hash_table_lookup(cmdline->young, key);

	return history ? history : g_hash_table_lookup(cmdline->old, key);
}

/* How many names the pid had got by then. */
static guint count_given(const History *history, const RsTraceMoment *when)
{
	guint from = 0, to = history->n;

	while (from < to) {
		guint middle = from + (to - from) / 2;

		if (rs_trace_moment_compare(&history->names[middle].since, when) > 0)
			to = middle;
		else
			from = middle + 1;
	}
	return from;
}

static gboolean is_recent(const RsTraceCmdline *cmdline, const Recent *recent, guint32 pid,
			  const RsTraceMoment *when)
{
	return recent->pid == pid && recent->change == cmdline->change &&
	       recent->since.boot == when->boot && recent->since.chain == when->chain &&
	       recent->since.ts <= when->ts && when->ts < recent->until;
}

/* Name number `at` of its history gave `task`: for how long it will. */
static void keep_recent(RsTraceCmdline *cmdline, const History *history, guint at, guint32 pid,
			const RsTraceTask *task)
{
	const RsTraceMoment *since = &history->names[at].since, *next = NULL;

	if (at + 1 < history->n)
		next = &history->names[at + 1].since;
	cmdline->recent[pid % RECENT] = (Recent){
		.change = cmdline->change,
		.pid = pid,
		.since = *since,
		.until = next && next->boot == since->boot && next->chain == since->chain
				 ? next->ts
				 : G_MAXUINT64,
		.task = *task,
	};
}

static void look_up(RsTraceCmdline *cmdline, guint32 pid, const RsTraceMoment *when,
		    RsTraceTask *out)
{
	const History *history = cmdline ? find(cmdline, pid) : NULL;
	guint given = history ? count_given(history, when) : 0;
	const Name *name;

	out->comm = pid ? "<...>" : "<idle>";
	out->tgid = 0;
	if (!given)
		return;
	name = &history->names[given - 1];
	if (name->since.boot != when->boot)
		return;
	out->tgid = name->tgid;
	if (name->comm[0] && !is_before_gap(history, given - 1))
		out->comm = name->comm;
	keep_recent(cmdline, history, given - 1, pid, out);
}

void rs_trace_cmdline_lookup(RsTraceCmdline *cmdline, guint32 pid, RsTraceMoment when,
			     RsTraceTask *out)
{
	const Recent *recent = cmdline ? &cmdline->recent[pid % RECENT] : NULL;

	if (recent && is_recent(cmdline, recent, pid, &when))
		*out = recent->task;
	else
		look_up(cmdline, pid, &when, out);
}
