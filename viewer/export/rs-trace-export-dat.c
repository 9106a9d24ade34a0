/* SPDX-License-Identifier: MIT */
/*
 * trace.dat, for trace-cmd and KernelShark: records as Linux' ring buffer has them, in a file of
 * version 7. Each source becomes a buffer of its own if there are several.
 *
 * All sources share one set of event ids, names of tasks and formats in such a file. So ids are
 * given anew if they mean different events, a task has the last of its names, and a pid that tasks
 * of several sources have gets the names of all of them.
 */
#include "rs-trace-dat-private.h"
#include "rs-trace-escape.h"
#include "rs-trace-formats-private.h"
#include "rs-trace-stack.h"
#include "rs-trace-value.h"

#include <glib/gi18n.h>
#include <ringside/record.h>
#include <ringside/ring.h>
#include <string.h>

#define COMMON_SIZE 8u /* type, flags, preempt count, pid */
#define PAGE_MIN 8192u
#define PAGE_MAX 65536u
#define FORMATS_MAX ((gsize)8 << 20) /* bytes of format files; then events are unknown */
#define IDS_MAX 32768u
#define KNOWN_MAX 8192u             /* events whose id is remembered; a power of 2 */
#define PAGES_MAX ((gsize)16 << 20) /* bytes of pages that are being filled */
#define SOURCES_MAX 65536u          /* each is a buffer */
#define LANES_MAX 65536u            /* of all sources: each is a CPU */

/* Linux' event of a call stack, and events of our own, with ids that no guest's event has. */
enum { KERNEL_STACK = 4, UNKNOWN = 32, BOOT, END };

/* Linux' common_flags. */
#define LINUX_IRQS_OFF 0x01u
#define LINUX_NEED_RESCHED 0x04u
#define LINUX_HARDIRQ 0x08u
#define LINUX_SOFTIRQ 0x10u
#define LINUX_NMI 0x40u

/* What is known of an event. */
typedef struct {
	guint64 unique; /* which event it is; 0: none */
	guint id;       /* in the file */
	guint n_dynamic;
	guint n_pointers;
} Known;

typedef struct {
	char *name;
	gsize page_size;
	GPtrArray *lanes; /* RsTraceDatLane *, by ring */
} Source;

typedef struct {
	const RsTraceExportConfig *config;
	RsTraceDatPool pool;
	GPtrArray *sources; /* Source *, by index; may have holes */
	guint n_lanes;
	Known known[KNOWN_MAX]; /* by the low bits of `unique` */
	GHashTable *ids;        /* SHA-256 of system, name and format -> id */
	gsize formats_size;
	guint8 used[IDS_MAX / 8]; /* ids, as bits */
	GPtrArray *events;        /* RsTraceDatEvent *, whose texts are ours */
	RsTraceDatNames *names;
	GByteArray *record;
	guint64 id;
} Dat;

/* ---- sources ---- */

static void source_free(gpointer data)
{
	Source *source = data;

	if (!source)
		return;
	g_ptr_array_unref(source->lanes);
	g_free(source->name);
	g_free(source);
}

/* A record may take more room than in its ring: see convert(). */
static gsize page_size(const struct rs_file_source *info)
{
	gsize size = PAGE_MIN;

	while (size < PAGE_MAX && (!info->ring_page_size || size < 2ull * info->ring_page_size))
		size *= 2;
	return size;
}

static void lane_free(gpointer data)
{
	rs_trace_dat_lane_free(data);
}

static Source *get_source(Dat *dat, const RsTraceExportItem *item, GError **error)
{
	Source *source;

	if (item->source_index >= SOURCES_MAX) {
		g_set_error(error, G_IO_ERROR, G_IO_ERROR_NO_SPACE,
			    "too many sources for a trace.dat: more than %u", SOURCES_MAX);
		return NULL;
	}
	if (item->source_index >= dat->sources->len)
		g_ptr_array_set_size(dat->sources, (gint)item->source_index + 1);
	source = dat->sources->pdata[item->source_index];
	if (source)
		return source;
	source = g_new0(Source, 1);
	source->name = rs_trace_escape(item->source->name, -1, NULL);
	source->page_size = page_size(item->source);
	source->lanes = g_ptr_array_new_with_free_func(lane_free);
	dat->sources->pdata[item->source_index] = source;
	if (!dat->id)
		dat->id = item->source->session_id;
	return source;
}

/* A CPU's number is its place in the file, so lower ones are there too. */
static RsTraceDatLane *get_lane(Dat *dat, Source *source, guint ring, GError **error)
{
	guint n = source->lanes->len;

	if (ring >= n && ring + 1 - n > LANES_MAX - dat->n_lanes) {
		g_set_error(error, G_IO_ERROR, G_IO_ERROR_NO_SPACE,
			    "too many vCPUs for a trace.dat: more than %u of all sources",
			    LANES_MAX);
		return NULL;
	}
	for (; n <= ring; n++, dat->n_lanes++)
		g_ptr_array_add(source->lanes, rs_trace_dat_lane_new(source->page_size));
	return source->lanes->pdata[ring];
}

/* ---- events ---- */

/* `format`: what follows the id in the format file. */
static void add_event(Dat *dat, const char *system, const char *name, guint id, const char *format)
{
	RsTraceDatEvent *event = g_new(RsTraceDatEvent, 1);

	event->system = g_strdup(system);
	event->text = g_strdup_printf("name: %s\nID: %u\n%s", name, id, format);
	dat->formats_size += strlen(event->text);
	dat->used[id / 8] |= (guint8)(1u << id % 8);
	g_ptr_array_add(dat->events, event);
}

static void event_free(gpointer data)
{
	RsTraceDatEvent *event = data;

	g_free((gpointer)event->system);
	g_free((gpointer)event->text);
	g_free(event);
}

/* KernelShark keeps an id in 15 bits. */
static guint free_id(const Dat *dat, guint wanted)
{
	for (guint i = 0; i < IDS_MAX; i++) {
		guint id = (wanted + i) % IDS_MAX;

		if (id >= RS_FIRST_EVENT_ID && !(dat->used[id / 8] & (1u << id % 8)))
			return id;
	}
	return UNKNOWN;
}

/* An event's name has only characters that a name in C has. */
static char *linux_name(const char *name)
{
	char *out = g_strdup(name);

	for (char *at = out; *at; at++)
		if (!g_ascii_isalnum(*at))
			*at = '_';
	return out;
}

/* The id in the file. Events that look the same in a trace.dat are the same. */
static guint event_id(Dat *dat, const RsTraceEvent *event)
{
	g_autofree char *format = rs_trace_dat_format(event);
	g_autofree char *name = linux_name(event->name);
	g_autofree char *whole = g_strconcat(event->system, ":", name, "\n", format, NULL);
	g_autofree char *key = g_compute_checksum_for_string(G_CHECKSUM_SHA256, whole, -1);
	guint id = GPOINTER_TO_UINT(g_hash_table_lookup(dat->ids, key));

	if (id)
		return id;
	if (dat->formats_size + strlen(format) > FORMATS_MAX)
		return UNKNOWN;
	id = free_id(dat, event->id);
	if (id == UNKNOWN)
		return id;
	add_event(dat, event->system, name, id, format);
	g_hash_table_insert(dat->ids, g_steal_pointer(&key), GUINT_TO_POINTER(id));
	return id;
}

static const Known *get_known(Dat *dat, const RsTraceEvent *event)
{
	Known *known = &dat->known[event->unique & (KNOWN_MAX - 1)];

	if (known->unique == event->unique && known->id)
		return known;
	*known = (Known){.unique = event->unique, .id = event_id(dat, event)};
	for (guint i = 0; i < event->n_fields; i++) {
		known->n_dynamic += event->fields[i].kind >= RS_KIND_DYN_ARRAY;
		known->n_pointers += event->fields[i].kind == RS_KIND_POINTER;
	}
	return known;
}

/* ---- records ---- */

static void put(GByteArray *out, guint64 value, guint size)
{
	value = GUINT64_TO_LE(value);
	g_byte_array_append(out, (const guint8 *)&value, size);
}

static void begin_record(Dat *dat, guint id, const RsTraceRecord *record)
{
	guint context = record->context, flags = 0;
	guint migrate = context >> RS_CTX_MIGRATE_SHIFT & RS_CTX_MIGRATE_MAX;

	flags |= context & RS_CTX_IRQS_OFF ? LINUX_IRQS_OFF : 0;
	flags |= context & RS_CTX_NEED_RESCHED ? LINUX_NEED_RESCHED : 0;
	flags |= context & RS_CTX_HARDIRQ ? LINUX_HARDIRQ : 0;
	flags |= context & RS_CTX_SOFTIRQ ? LINUX_SOFTIRQ : 0;
	flags |= context & RS_CTX_NMI ? LINUX_NMI : 0;
	g_byte_array_set_size(dat->record, 0);
	put(dat->record, id, 2);
	put(dat->record, flags, 1);
	put(dat->record, (context >> RS_CTX_PREEMPT_SHIFT & RS_CTX_PREEMPT_MAX) | migrate << 4, 1);
	put(dat->record, record->pid, 4);
}

/*
 * A locator as libtraceevent needs it: from the record's start, to bytes that are there, and with a
 * NUL if it is a string. A string without one is copied behind the record, if it fits.
 */
static void convert_locator(GByteArray *record, const RsTraceField *field, gsize room)
{
	guint at = COMMON_SIZE + field->offset, offset, length;
	guint32 locator;

	memcpy(&locator, record->data + at, sizeof(locator));
	locator = GUINT32_FROM_LE(locator);
	offset = rs_locator_offset(locator) + COMMON_SIZE;
	length = rs_locator_length(locator);
	if (offset > record->len || length > record->len - offset) {
		offset = record->len;
		length = 0;
	}
	if (field->kind == RS_KIND_DYN_STRING && !memchr(record->data + offset, 0, length)) {
		guint start = record->len;

		if (start + length >= room)
			length = 0;
		g_byte_array_set_size(record, start + length + 1);
		memcpy(record->data + start, record->data + offset, length);
		record->data[start + length] = 0;
		offset = start;
		length++;
	}
	locator = GUINT32_TO_LE(rs_locator(offset, length));
	memcpy(record->data + at, &locator, sizeof(locator));
}

/* What a cut record lacks becomes 0. */
static void convert(Dat *dat, const Known *known, const RsTraceRecord *record, gsize room)
{
	const RsTraceEvent *event = record->event;
	guint size = dat->record->len + record->size;

	g_byte_array_append(dat->record, record->payload, record->size);
	if (record->size < event->entry_size) {
		g_byte_array_set_size(dat->record, COMMON_SIZE + event->entry_size);
		memset(dat->record->data + size, 0, event->entry_size - record->size);
	}
	if (!known->n_dynamic)
		return;
	for (guint i = 0; i < event->n_fields; i++)
		if (event->fields[i].kind >= RS_KIND_DYN_ARRAY)
			convert_locator(dat->record, &event->fields[i], room - RS_MAX_FIELDS);
}

/* So that who reads the file back has the names of addresses in fields. */
static void name_pointers(Dat *dat, const RsTraceRecord *record)
{
	for (guint i = 0; i < record->event->n_fields; i++) {
		const RsTraceField *field = &record->event->fields[i];
		const guint8 *bytes;
		guint size;

		if (field->kind == RS_KIND_POINTER &&
		    rs_trace_field_bytes(field, record->payload, record->size, &bytes, &size))
			rs_trace_dat_names_pointer(dat->names, record,
						   rs_trace_load_integer(bytes, size, FALSE));
	}
}

/* As the format of UNKNOWN says. */
static void convert_unknown(Dat *dat, const RsTraceRecord *record)
{
	begin_record(dat, UNKNOWN, record);
	put(dat->record, record->id, 2);
	put(dat->record, 0, 2);
	put(dat->record, record->size, 4);
	put(dat->record, rs_locator(COMMON_SIZE + 12, record->size), 4);
	g_byte_array_append(dat->record, record->payload, record->size);
}

static gboolean put_record(Dat *dat, RsTraceDatLane *lane, guint64 ns, GError **error)
{
	gsize room = lane->page_size - RS_TRACE_DAT_OVERHEAD;

	/* Not reached: a ring's page is half as large as a page here. */
	if (dat->record->len > room)
		g_byte_array_set_size(dat->record, (guint)room);
	return rs_trace_dat_lane_add(lane, &dat->pool, ns, dat->record->data, dat->record->len,
				     error);
}

/* As with Linux' option `stacktrace`: an event behind the one that the stack belongs to. */
static gboolean put_stack(Dat *dat, RsTraceDatLane *lane, const RsTraceRecord *record,
			  GError **error)
{
	for (guint i = 0; i < record->n_stack; i++)
		if (!rs_trace_dat_names_frame(dat->names, record, i))
			return TRUE;
	begin_record(dat, KERNEL_STACK, record);
	put(dat->record, record->n_stack, 4);
	put(dat->record, 0, 4);
	for (guint i = 0; i < record->n_stack; i++)
		put(dat->record, rs_trace_stack_frame(record, i), 8);
	return put_record(dat, lane, record->ns, error);
}

static gboolean dat_record(gpointer self, const RsTraceExportItem *item, GError **error)
{
	Dat *dat = self;
	const RsTraceRecord *record = item->record;
	Source *source = get_source(dat, item, error);
	RsTraceDatLane *lane = source ? get_lane(dat, source, record->ring, error) : NULL;
	const Known *known = NULL;

	if (!lane)
		return FALSE;
	switch (record->kind) {
	case RS_TRACE_RECORD_LOSS:
		lane->pending += record->lost;
		return TRUE;
	case RS_TRACE_RECORD_BOOT:
		begin_record(dat, BOOT, &(RsTraceRecord){0});
		put(dat->record, record->when.boot, 4);
		return put_record(dat, lane, record->ns, error);
	case RS_TRACE_RECORD_EVENT:
		break;
	}
	rs_trace_dat_names_task(dat->names, item->source_index, record->pid, item->task->comm);
	if (record->event)
		known = get_known(dat, record->event);
	if (known && known->id != UNKNOWN) {
		begin_record(dat, known->id, record);
		convert(dat, known, record, lane->page_size - RS_TRACE_DAT_OVERHEAD);
		if (known->n_pointers && record->symbols)
			name_pointers(dat, record);
	} else {
		convert_unknown(dat, record);
	}
	return put_record(dat, lane, record->ns, error) &&
	       (!record->n_stack || put_stack(dat, lane, record, error));
}

/* ---- the whole ---- */

#define COMMON_FIELDS                                                                              \
	"format:\n"                                                                                \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"             \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static void add_own_events(Dat *dat)
{
	/* Readers know how to print it; `caller` goes on to the record's end. */
	add_event(dat, "ftrace", "kernel_stack", KERNEL_STACK,
		  COMMON_FIELDS "\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n"
				"\tfield:unsigned long caller[1];\toffset:16;\tsize:8;\t"
				"signed:0;\n\n"
				"print fmt: \"%d frames, innermost %ps\", REC->size, "
				"(void *)REC->caller[0]\n");
	add_event(dat, "ringside", "unknown", UNKNOWN,
		  COMMON_FIELDS "\tfield:u16 id;\toffset:8;\tsize:2;\tsigned:0;\n"
				"\tfield:u32 size;\toffset:12;\tsize:4;\tsigned:0;\n"
				"\tfield:__data_loc u8[] data;\toffset:16;\tsize:4;\tsigned:0;\n\n"
				"print fmt: \"#%u: (unknown event, %u bytes)\", REC->id, "
				"REC->size\n");
	add_event(dat, "ringside", "boot", BOOT,
		  COMMON_FIELDS "\tfield:u32 boot;\toffset:8;\tsize:4;\tsigned:0;\n\n"
				"print fmt: \"boot %u of the guest begins\", REC->boot\n");
	add_event(dat, "ringside", "end", END,
		  COMMON_FIELDS "\n"
				"print fmt: \"the trace of this CPU ends\"\n");
}

static void dat_free(gpointer self)
{
	Dat *dat = self;

	g_ptr_array_unref(dat->sources);
	rs_trace_dat_spool_free(dat->pool.spool);
	g_ptr_array_unref(dat->events);
	g_hash_table_unref(dat->ids);
	rs_trace_dat_names_free(dat->names);
	g_byte_array_unref(dat->record);
	g_free(dat);
}

static gpointer dat_open(const RsTraceExportConfig *config, GError **error)
{
	int fd = rs_trace_output_scratch(config->output, error);
	Dat *dat;

	if (fd < 0)
		return NULL;
	dat = g_new0(Dat, 1);
	dat->config = config;
	dat->pool.spool = rs_trace_dat_spool_new(fd);
	dat->pool.max = PAGES_MAX;
	dat->sources = g_ptr_array_new_with_free_func(source_free);
	dat->events = g_ptr_array_new_with_free_func(event_free);
	dat->ids = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	dat->names = rs_trace_dat_names_new();
	dat->record = g_byte_array_sized_new(PAGE_MAX);
	add_own_events(dat);
	return dat;
}

/* Losses at the end of a lane need a record behind them to be shown. */
static gboolean end_lanes(Dat *dat, Source *source, GError **error)
{
	for (guint i = 0; i < source->lanes->len; i++) {
		RsTraceDatLane *lane = source->lanes->pdata[i];

		if (g_cancellable_set_error_if_cancelled(dat->config->cancellable, error))
			return FALSE;
		if (lane->pending) {
			begin_record(dat, END, &(RsTraceRecord){0});
			if (!put_record(dat, lane, lane->ns, error))
				return FALSE;
		}
		if (!rs_trace_dat_lane_end(lane, &dat->pool, error))
			return FALSE;
	}
	return TRUE;
}

static gint compare_events(gconstpointer a, gconstpointer b)
{
	return strcmp(((const RsTraceDatEvent *)a)->system, ((const RsTraceDatEvent *)b)->system);
}

static gboolean dat_close(gpointer self, GError **error)
{
	Dat *dat = self;
	g_autoptr(GArray) buffers = g_array_new(FALSE, TRUE, sizeof(RsTraceDatBuffer));
	g_autoptr(GArray) events = g_array_new(FALSE, TRUE, sizeof(RsTraceDatEvent));
	g_autofree char *cmdlines = rs_trace_dat_names_cmdlines(dat->names);
	g_autofree char *kallsyms = rs_trace_dat_names_kallsyms(dat->names);
	RsTraceDatFile file = {.cmdlines = cmdlines, .kallsyms = kallsyms, .id = dat->id};

	for (guint i = 0; i < dat->sources->len; i++) {
		Source *source = dat->sources->pdata[i];
		RsTraceDatBuffer buffer = {0};

		if (!source)
			continue;
		if (!end_lanes(dat, source, error))
			return FALSE;
		buffer = (RsTraceDatBuffer){.name = source->name,
					    .page_size = source->page_size,
					    .n_lanes = source->lanes->len,
					    .lanes = (RsTraceDatLane **)source->lanes->pdata};
		g_array_append_val(buffers, buffer);
	}
	for (guint i = 0; i < dat->events->len; i++)
		g_array_append_val(events, *(RsTraceDatEvent *)dat->events->pdata[i]);
	g_array_sort(events, compare_events);
	file.buffers = (const RsTraceDatBuffer *)buffers->data;
	file.n_buffers = buffers->len;
	if (buffers->len == 1)
		g_array_index(buffers, RsTraceDatBuffer, 0).name = "";
	file.events = (const RsTraceDatEvent *)events->data;
	file.n_events = events->len;
	return rs_trace_dat_write(&file, dat->pool.spool,
				  rs_trace_output_stream(dat->config->output),
				  dat->config->cancellable, error);
}

const RsTraceExportFormat rs_trace_export_dat = {
	.name = "trace.dat",
	.summary = N_("For trace-cmd and KernelShark"),
	.suffix = ".dat",
	.open = dat_open,
	.record = dat_record,
	.close = dat_close,
	.free = dat_free,
};
