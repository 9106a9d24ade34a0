/* SPDX-License-Identifier: MIT */
#include "rs-trace-dat-import.h"
#include "rs-trace-dat-event-private.h"
#include "rs-trace-dat-maps-private.h"
#include "rs-trace-error.h"
#include "rs-trace-writer.h"

#include <ringside/cmdline.h>
#include <ringside/record.h>
#include <ringside/region.h>
#include <ringside/ring.h>
#include <string.h>
#include <trace-cmd.h>

#define PAGE 65536u
#define PAYLOAD_MAX (RS_REC_MAX - (guint)sizeof(struct rs_rec_header))
#define WINDOW (RS_FILE_WINDOW_BYTES / 2)
#define OPEN_MAX (WINDOW / 2) /* bytes of pages that are being filled */
#define BOOT_NUMBER 1u

/* Linux' common_flags. */
#define LINUX_IRQS_OFF 0x01u
#define LINUX_NEED_RESCHED 0x04u
#define LINUX_HARDIRQ 0x08u
#define LINUX_SOFTIRQ 0x10u
#define LINUX_NMI 0x40u

typedef struct {
	GByteArray *page; /* NULL: none is being filled */
	guint64 seq, records, ns;
	guint64 lost; /* before the page */
	guint32 pid;
	guint16 context;
} Ring;

/* A buffer of the file. */
typedef struct {
	struct tracecmd_input *handle;
	char *name;
	gboolean joined;
	guint number;
	guint n_rings;
	Ring *rings;
	guint n_slots; /* providers so far, one for each system */
	guint next_id;
	guint64 desc_offset; /* bytes of descriptors so far */
	GHashTable *pids;    /* whose names have been told */
	GHashTable *events;  /* Linux' id -> RsTraceDatEvent */
} Source;

typedef struct {
	RsTraceWriter *writer;
	GPtrArray *sources;
	struct tep_handle *tep;
	struct trace_seq text;
	GByteArray *payload;
	guint64 ns;      /* of the latest record */
	gsize open;      /* bytes of pages that are being filled */
	gboolean failed; /* `error` is set */
	GError **error;
} Import;

/* ---- what a source tells ---- */

static gboolean put_table(Import *import, const Source *source, guint kind, guint64 arg,
			  gconstpointer elements, guint count, guint stride, const GByteArray *data)
{
	const RsTraceWriterTable table = {
		arg, elements, count, stride, data ? data->data : NULL, data ? data->len : 0};

	return rs_trace_writer_put_table(import->writer, kind, source->number, &table,
					 import->error);
}

static gboolean join(Import *import, Source *source)
{
	struct rs_file_source info = {.size = sizeof(info),
				      .ring_pages = 1,
				      .ring_page_size = PAGE,
				      .number = source->number};
	struct rs_boot boots[RS_BOOTS] = {0};

	source->joined = TRUE;
	source->n_rings = (guint)CLAMP(tep_get_cpus(import->tep), 1, (int)RS_MAX_CPUS);
	source->rings = g_new0(Ring, source->n_rings);
	info.ring_count = source->n_rings;
	g_strlcpy(info.name, source->name, sizeof(info.name));
	g_strlcpy(info.kind, "trace.dat", sizeof(info.kind));
	boots[BOOT_NUMBER] = (struct rs_boot){.boot = BOOT_NUMBER};
	return rs_trace_writer_put(import->writer, RS_FILE_SOURCE, source->number, &info,
				   sizeof(info), import->error) &&
	       put_table(import, source, RS_FILE_BOOTS, 1000000000, boots, RS_BOOTS,
			 sizeof(struct rs_boot), NULL);
}

/*
 * Events of this one's system that have not been told become a provider, in which a name can be
 * only once. FALSE: an error.
 */
static gboolean tell_system(Import *import, Source *source, const struct tep_event *wanted)
{
	struct tep_event **all = tep_list_events(import->tep, TEP_EVENT_SORT_ID);
	g_autoptr(GByteArray) descs = g_byte_array_new();
	g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
	struct rs_provider provider = {.sequence = 2,
				       .state = RS_PROVIDER_LIVE,
				       .first_boot = BOOT_NUMBER,
				       .last_boot = BOOT_NUMBER,
				       .first_id = source->next_id,
				       .desc_offset = source->desc_offset,
				       .generation = 1};

	g_hash_table_add(names, wanted->name);
	for (guint i = 0; all && all[i]; i++) {
		RsTraceDatEvent *event;

		if (strcmp(all[i]->system, wanted->system) ||
		    source->next_id >= RS_FIRST_HOST_EVENT_ID ||
		    g_hash_table_contains(source->events, GINT_TO_POINTER(all[i]->id)) ||
		    (all[i] != wanted && !g_hash_table_add(names, all[i]->name)))
			continue;
		event = rs_trace_dat_event_new(all[i], source->next_id++);
		rs_trace_dat_event_describe(event, source->n_slots, descs);
		g_hash_table_insert(source->events, GINT_TO_POINTER(all[i]->id), event);
	}
	provider.event_count = source->next_id - provider.first_id;
	provider.desc_size = descs->len;
	source->desc_offset += (descs->len + 7) & ~7u;
	g_strlcpy(provider.name, wanted->system, sizeof(provider.name));
	return !provider.event_count || source->n_slots > G_MAXUINT16 ||
	       put_table(import, source, RS_FILE_PROVIDER, source->n_slots++, &provider, 1,
			 sizeof(provider), descs);
}

static gboolean tell_task(Import *import, Source *source, guint32 pid)
{
	const char *comm = tep_data_comm_from_pid(import->tep, (int)pid);
	struct rs_cmdline_entry entry = {.sequence = 2, .pid = pid, .boot = BOOT_NUMBER};

	if (!g_hash_table_add(source->pids, GUINT_TO_POINTER(pid)) || !comm || !*comm ||
	    g_str_equal(comm, "<...>"))
		return TRUE;
	memcpy(entry.comm, comm, strnlen(comm, sizeof(entry.comm)));
	return put_table(import, source, RS_FILE_NAMES, 0, &entry, 1, sizeof(entry), NULL);
}

/* ---- pages ---- */

static gboolean end_page(Import *import, Source *source, guint number)
{
	Ring *ring = &source->rings[number];
	struct rs_file_page entry = {
		.lost = ring->lost, .from = RS_RING_PAGE_HEADER, .ring = number};
	gboolean ok;

	if (!ring->page)
		return TRUE;
	((struct rs_ring_page *)ring->page->data)->committed = ring->page->len;
	entry.to = ring->page->len;
	ok = rs_trace_writer_put_page(import->writer, source->number, ring->page->data, &entry,
				      import->error);
	import->open -= ring->page->len;
	g_clear_pointer(&ring->page, g_byte_array_unref);
	ring->lost = 0;
	return ok;
}

static gboolean end_window(Import *import)
{
	rs_trace_dat_maps_forget();
	for (guint i = 0; i < import->sources->len; i++) {
		Source *source = import->sources->pdata[i];

		for (guint k = 0; k < source->n_rings; k++)
			if (!end_page(import, source, k))
				return FALSE;
	}
	return rs_trace_writer_end_window(import->writer, import->ns, import->error);
}

static void put(Import *import, Ring *ring, gconstpointer bytes, gsize size)
{
	static const guint8 zero[8];

	g_byte_array_append(ring->page, bytes, (guint)size);
	g_byte_array_append(ring->page, zero, (guint)(-size & 7));
	import->open += (size + 7) & ~(gsize)7;
}

static void begin_page(Import *import, Ring *ring, guint number, guint64 ns, guint32 pid,
		       guint16 context)
{
	struct rs_ring_page head = {.seq = ring->seq++,
				    .ts = ns,
				    .records = ring->records,
				    .boot = BOOT_NUMBER,
				    .context = context,
				    .ring = (uint16_t)number,
				    .header_size = RS_RING_PAGE_HEADER,
				    .pid = pid};

	ring->page = g_byte_array_new();
	ring->ns = ns;
	ring->pid = pid;
	ring->context = context;
	put(import, ring, &head, sizeof(head));
}

static void put_record(Import *import, Ring *ring, guint id, guint64 ns, guint32 pid,
		       guint16 context)
{
	struct rs_rec_context mark = {.id = RS_REC_CONTEXT, .context = context, .pid = pid};
	struct rs_rec_time time = {.id = RS_REC_TIME, .size = sizeof(time), .ts = ns};
	gsize size = MIN(import->payload->len, PAYLOAD_MAX);
	struct rs_rec_header head = {
		.id = (uint16_t)id, .size = (uint16_t)(size + sizeof(head)), .ts = (uint32_t)ns};

	if (pid != ring->pid || context != ring->context)
		put(import, ring, &mark, sizeof(mark));
	if (ns < ring->ns || ns - ring->ns > G_MAXUINT32)
		put(import, ring, &time, sizeof(time));
	if (size < import->payload->len)
		head.size |= RS_REC_CUT;
	g_byte_array_append(ring->page, (const guint8 *)&head, sizeof(head));
	import->open += sizeof(head);
	put(import, ring, import->payload->data, size);
	ring->records++;
	ring->ns = ns;
	ring->pid = pid;
	ring->context = context;
}

/* ---- records ---- */

static guint16 context_of(const RsTraceDatEvent *event, const struct tep_record *record)
{
	const guint8 *data = record->data;
	guint flags = 0, preempt = 0, context = 0;

	if (event->flags_at >= 0 && event->flags_at < record->size)
		flags = data[event->flags_at];
	if (event->preempt_at >= 0 && event->preempt_at < record->size)
		preempt = data[event->preempt_at];
	context |= flags & LINUX_IRQS_OFF ? RS_CTX_IRQS_OFF : 0;
	context |= flags & LINUX_NEED_RESCHED ? RS_CTX_NEED_RESCHED : 0;
	context |= flags & LINUX_HARDIRQ ? RS_CTX_HARDIRQ : 0;
	context |= flags & LINUX_SOFTIRQ ? RS_CTX_SOFTIRQ : 0;
	context |= flags & LINUX_NMI ? RS_CTX_NMI : 0;
	context |= (preempt & RS_CTX_PREEMPT_MAX) << RS_CTX_PREEMPT_SHIFT;
	context |= MIN(preempt >> 4, RS_CTX_MIGRATE_MAX) << RS_CTX_MIGRATE_SHIFT;
	return (guint16)context;
}

static guint32 pid_of(const RsTraceDatEvent *event, const struct tep_record *record)
{
	guint32 pid = 0;

	if (event->pid_at >= 0 && event->pid_at + 4 <= record->size)
		memcpy(&pid, (const guint8 *)record->data + event->pid_at, sizeof(pid));
	return pid;
}

/* Where a number of lost records is not known, it is at least one. */
static gboolean lose(Import *import, Source *source, guint number, long long missed)
{
	Ring *ring = &source->rings[number];
	guint64 lost = missed > 0 ? (guint64)missed : missed < 0;

	if (!lost)
		return TRUE;
	if (!end_page(import, source, number))
		return FALSE;
	ring->lost += lost;
	ring->records += lost;
	return TRUE;
}

static gboolean add(Import *import, Source *source, struct tep_record *record,
		    const RsTraceDatEvent *event)
{
	guint number = (guint)record->cpu;
	Ring *ring = &source->rings[number];
	guint32 pid = pid_of(event, record);
	guint16 context = context_of(event, record);

	if (!lose(import, source, number, record->missed_events) || !tell_task(import, source, pid))
		return FALSE;
	rs_trace_dat_event_payload(event, record, &import->text, import->payload);
	if (ring->page && ring->page->len + 40 + MIN(import->payload->len, PAYLOAD_MAX) > PAGE &&
	    !end_page(import, source, number))
		return FALSE;
	import->ns = MAX(import->ns, record->ts);
	if (!ring->page)
		begin_page(import, ring, number, record->ts, pid, context);
	put_record(import, ring, event->id, record->ts, pid, context);
	return (rs_trace_writer_window_bytes(import->writer) < WINDOW && import->open < OPEN_MAX) ||
	       end_window(import);
}

/* Called by libtracecmd for each record, in the order of time. */
static int take(struct tracecmd_input *handle, struct tep_record *record, int cpu, void *data)
{
	Import *import = data;
	Source *source = tracecmd_get_private(handle);
	struct tep_event *tep = tep_find_event_by_record(import->tep, record);
	const RsTraceDatEvent *event = NULL;

	if (!source || !tep)
		return 0;
	if (!source->joined && !join(import, source))
		goto failed;
	if (record->cpu < 0 || (guint)record->cpu >= source->n_rings)
		return 0;
	event = g_hash_table_lookup(source->events, GINT_TO_POINTER(tep->id));
	if (!event) {
		if (!tell_system(import, source, tep))
			goto failed;
		event = g_hash_table_lookup(source->events, GINT_TO_POINTER(tep->id));
	}
	if (!event || add(import, source, record, event))
		return 0;
failed:
	import->failed = TRUE;
	return -1;
}

/* ---- the whole ---- */

static void source_free(gpointer data)
{
	Source *source = data;

	for (guint i = 0; i < source->n_rings; i++)
		g_clear_pointer(&source->rings[i].page, g_byte_array_unref);
	g_hash_table_unref(source->pids);
	g_hash_table_unref(source->events);
	g_free(source->rings);
	g_free(source->name);
	g_free(source);
}

static void add_source(Import *import, struct tracecmd_input *handle, const char *name)
{
	Source *source = g_new0(Source, 1);

	source->handle = handle;
	source->name = g_strdup(name);
	source->number = import->sources->len + 1;
	source->next_id = RS_FIRST_EVENT_ID;
	source->pids = g_hash_table_new(NULL, NULL);
	source->events = g_hash_table_new_full(NULL, NULL, NULL, rs_trace_dat_event_free);
	tracecmd_set_private(handle, source);
	g_ptr_array_add(import->sources, source);
}

static gboolean read_all(Import *import, struct tracecmd_input *top)
{
	int n = tracecmd_buffer_instances(top);
	g_autofree struct tracecmd_input **handles = NULL;

	add_source(import, top, "trace");
	for (int i = 0; i < n; i++) {
		struct tracecmd_input *handle = tracecmd_buffer_instance_handle(top, i);
		const char *name = tracecmd_buffer_instance_name(top, i);

		if (handle)
			add_source(import, handle, name && *name ? name : "buffer");
	}
	handles = g_new0(struct tracecmd_input *, import->sources->len);
	for (guint i = 0; i < import->sources->len; i++)
		handles[i] = ((Source *)import->sources->pdata[i])->handle;
	tracecmd_iterate_events_multi(handles, (int)import->sources->len, take, import);
	return !import->failed && end_window(import) &&
	       rs_trace_writer_close(import->writer, import->error);
}

static gboolean convert(struct tracecmd_input *top, GOutputStream *out, GError **error)
{
	static const RsTraceWriterConfig config = {0};
	g_autoptr(RsTraceWriter) writer = rs_trace_writer_new(out, &config, error);
	g_autoptr(GPtrArray) sources = g_ptr_array_new_with_free_func(source_free);
	g_autoptr(GByteArray) payload = g_byte_array_new();
	Import import = {.writer = writer,
			 .sources = sources,
			 .tep = tracecmd_get_tep(top),
			 .payload = payload,
			 .error = error};
	gboolean ok;

	if (!writer)
		return FALSE;
	trace_seq_init(&import.text);
	ok = read_all(&import, top);
	trace_seq_destroy(&import.text);
	/* Buffers refer to the first handle. */
	for (guint i = 1; i < sources->len; i++)
		tracecmd_close(((Source *)sources->pdata[i])->handle);
	return ok;
}

gboolean rs_trace_dat_import(int fd, GOutputStream *out, GError **error)
{
	struct tracecmd_input *top;
	gboolean ok;

	tracecmd_set_loglevel(TEP_LOG_NONE);
	tep_set_loglevel(TEP_LOG_NONE);
	top = tracecmd_open_fd(fd, 0);
	if (!top) {
		g_set_error_literal(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_FILE,
				    "libtracecmd cannot read this trace.dat");
		return FALSE;
	}
	ok = convert(top, out, error);
	tracecmd_close(top);
	return ok;
}
