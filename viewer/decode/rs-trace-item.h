/* SPDX-License-Identifier: MIT */
/*
 * A record of a trace as a value of its own, for programs in other languages than C. It holds all
 * that it says, and stays valid whatever its reader does. Programs in C use RsTraceRecord, which is
 * some thirty times as fast. Any thread: it does not change.
 */
#ifndef RS_TRACE_ITEM_H
#define RS_TRACE_ITEM_H

#include <glib-object.h>

G_BEGIN_DECLS

/**
 * RsTraceItemKind:
 * @RS_TRACE_ITEM_KIND_EVENT: an event
 * @RS_TRACE_ITEM_KIND_LOSS: events are missing here
 * @RS_TRACE_ITEM_KIND_BOOT: the guest's agent started again
 *
 * What a [struct@Item] is.
 */
typedef enum {
	RS_TRACE_ITEM_KIND_EVENT,
	RS_TRACE_ITEM_KIND_LOSS,
	RS_TRACE_ITEM_KIND_BOOT,
} RsTraceItemKind;

#define RS_TRACE_TYPE_ITEM_KIND (rs_trace_item_kind_get_type())
GType rs_trace_item_kind_get_type(void);

/**
 * RsTraceItem:
 *
 * A record of a trace: an event, a loss, or the boot of a guest.
 *
 * Names and strings come from the guest. What is no UTF-8 in them is replaced by U+FFFD. All that
 * an item hands out lives as long as the item, unless a function says otherwise.
 */
typedef struct _RsTraceItem RsTraceItem;

#define RS_TRACE_TYPE_ITEM (rs_trace_item_get_type())
GType rs_trace_item_get_type(void);

/**
 * rs_trace_item_ref:
 * @item: an item
 *
 * Adds a reference. Any thread.
 *
 * Returns: (transfer full): the same item
 */
RsTraceItem *rs_trace_item_ref(RsTraceItem *item);
/**
 * rs_trace_item_unref:
 * @item: (transfer full): an item
 *
 * Drops a reference; the last one frees the item. Any thread.
 */
void rs_trace_item_unref(RsTraceItem *item);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceItem, rs_trace_item_unref)

/* ---- of every item ---- */

/**
 * rs_trace_item_get_kind:
 * @item: an item
 *
 * Says whether it is an event, a loss or a boot.
 *
 * Returns: what it is
 */
RsTraceItemKind rs_trace_item_get_kind(const RsTraceItem *item);
/**
 * rs_trace_item_get_time:
 * @item: an item
 *
 * When it was written. All files and sources of a reader have one clock, whose time 0 is the origin
 * of the earliest file: [method@Reader.get_wall_time] says when that was. Of a loss it is no
 * later than the event behind it.
 *
 * Returns: nanoseconds since the trace's time 0
 */
guint64 rs_trace_item_get_time(const RsTraceItem *item);
/**
 * rs_trace_item_get_cpu:
 * @item: an item
 *
 * Which vCPU of its source wrote it, or of which one events are lost.
 *
 * Returns: the number of the vCPU, from 0 on
 */
guint rs_trace_item_get_cpu(const RsTraceItem *item);
/**
 * rs_trace_item_get_source:
 * @item: an item
 *
 * The name of the guest, process or host that it is from, as its session had it.
 *
 * Returns: the name of the source; may be empty
 */
const char *rs_trace_item_get_source(const RsTraceItem *item);
/**
 * rs_trace_item_get_source_number:
 * @item: an item
 *
 * The number of the source in its session. Sources of different sessions may share it.
 *
 * Returns: the number, from 1 on; 0: not known
 */
guint rs_trace_item_get_source_number(const RsTraceItem *item);
/**
 * rs_trace_item_get_source_index:
 * @item: an item
 *
 * Tells sources apart: no two sources of a reader have the same, whatever their names are.
 *
 * Returns: 0, 1 … in the order in which the sources joined; the same after a seek
 */
guint rs_trace_item_get_source_index(const RsTraceItem *item);
/**
 * rs_trace_item_get_boot:
 * @item: an item
 *
 * How often the guest's agent has started by then. Pids and names of tasks belong to one boot.
 *
 * Returns: the boot of the guest in which it was written, from 1 on
 */
guint rs_trace_item_get_boot(const RsTraceItem *item);
/**
 * rs_trace_item_get_lost:
 * @item: an item
 *
 * How many events are missing here, which nobody could record.
 *
 * Returns: a number of events; 0 if the item is no loss
 */
guint64 rs_trace_item_get_lost(const RsTraceItem *item);
/**
 * rs_trace_item_to_text:
 * @item: an item
 *
 * The item as `ringside report` prints it, with its call stack if it has one.
 *
 * Returns: the line, or lines, without the last newline, in plain text without control characters
 */
const char *rs_trace_item_to_text(const RsTraceItem *item);
/**
 * rs_trace_item_to_json:
 * @item: an item
 *
 * The item as `ringside report --json` prints it.
 *
 * Returns: one JSON object, without a newline
 */
const char *rs_trace_item_to_json(const RsTraceItem *item);

/* ---- of events ---- */

/**
 * rs_trace_item_get_system:
 * @item: an item
 *
 * The first half of the event's name: "sched" of "sched:switch".
 *
 * Returns: (nullable): the system of the event; %NULL if it is no event, or an unknown one
 */
const char *rs_trace_item_get_system(const RsTraceItem *item);
/**
 * rs_trace_item_get_name:
 * @item: an item
 *
 * The second half of the event's name: "switch" of "sched:switch". Two systems may have events of
 * one name: see [method@Item.get_full_name].
 *
 * Returns: (nullable): the name of the event; %NULL if it is no event, or an unknown one
 */
const char *rs_trace_item_get_name(const RsTraceItem *item);
/**
 * rs_trace_item_get_full_name:
 * @item: an item
 *
 * The event's name with its system, as `ringside report` shows it: "sched:switch".
 *
 * Returns: (nullable): the whole name of the event; %NULL if it is no event, or an unknown one
 */
const char *rs_trace_item_get_full_name(const RsTraceItem *item);
/**
 * rs_trace_item_get_pid:
 * @item: an item
 *
 * The task that wrote the event.
 *
 * Returns: the pid; 0 for the idle task, and for what is no event
 */
guint rs_trace_item_get_pid(const RsTraceItem *item);
/**
 * rs_trace_item_get_tgid:
 * @item: an item
 *
 * The thread group of that task, which other systems call the process.
 *
 * Returns: the tgid; 0: not known
 */
guint rs_trace_item_get_tgid(const RsTraceItem *item);
/**
 * rs_trace_item_get_comm:
 * @item: an item
 *
 * The name that the task had when it wrote the event.
 *
 * Returns: (nullable): the name, "<...>" if nobody knows it; %NULL if it is no event
 */
const char *rs_trace_item_get_comm(const RsTraceItem *item);
/**
 * rs_trace_item_get_flags:
 * @item: an item
 *
 * In which context the event was written, as the column of flags in the text shows it: whether
 * interrupts were off ("d"), a reschedule was due ("n"), it was in an interrupt or NMI ("h", "s",
 * "z"), and how often preemption and migration had been disabled (digits).
 *
 * Returns: (nullable): five characters, "." for what was not so; %NULL if it is no event
 */
const char *rs_trace_item_get_flags(const RsTraceItem *item);
/**
 * rs_trace_item_is_cut:
 * @item: an item
 *
 * Whether the event did not fit into its page, so that its last fields are missing.
 *
 * Returns: %TRUE if a part is missing
 */
gboolean rs_trace_item_is_cut(const RsTraceItem *item);
/**
 * rs_trace_item_get_fields:
 * @item: an item
 *
 * The fields of an event, by name: integers, enums, flags and pointers as `t`, signed ones as `x`,
 * strings as `s`, arrays of bytes as `ay`, other arrays as `at` or `ax`. Those that a cut event
 * lacks are missing.
 *
 * In Python, `item.get_fields().unpack()` is a dict.
 *
 * Returns: (transfer none) (nullable): a dictionary (`a{sv}`); %NULL if it is no event
 */
GVariant *rs_trace_item_get_fields(const RsTraceItem *item);
/**
 * rs_trace_item_get_field:
 * @item: an item
 * @name: of a field
 *
 * One of these fields.
 *
 * Returns: (transfer full) (nullable): its value as [method@Item.get_fields] has it; %NULL if
 *   there is none of this name
 */
GVariant *rs_trace_item_get_field(const RsTraceItem *item, const char *name);
/**
 * rs_trace_item_get_names:
 * @item: an item
 *
 * What the values of fields are called, by the name of the field: an enum's value ("dead"), flags
 * that are set ("A|C"), and the symbol that a pointer lies in ("schedule+0x12"). A value of an enum
 * or flags without a name is hexadecimal ("0x5"). Other fields are missing, as are pointers into
 * nowhere that is known.
 *
 * Returns: (transfer none) (nullable): a dictionary (`a{ss}`); %NULL if it is no event
 */
GVariant *rs_trace_item_get_names(const RsTraceItem *item);
/**
 * rs_trace_item_get_stack:
 * @item: an item
 * @n_frames: (out): how many there are
 *
 * The call stack with which the event came: who called the tracepoint, the innermost first. Each
 * address is where a call returns to.
 *
 * Returns: (array length=n_frames) (transfer none) (nullable): the addresses; %NULL: it came
 *   without a call stack
 */
const guint64 *rs_trace_item_get_stack(const RsTraceItem *item, guint *n_frames);
/**
 * rs_trace_item_get_stack_names:
 * @item: an item
 *
 * The same call stack by the names of its functions, as far as symbols are known: "schedule+0x12".
 * Other frames are addresses in hexadecimal ("0x401234").
 *
 * Returns: (array zero-terminated=1) (transfer none) (nullable): a string for each frame; %NULL:
 *   it came without a call stack
 */
const char *const *rs_trace_item_get_stack_names(const RsTraceItem *item);

G_END_DECLS

#endif
