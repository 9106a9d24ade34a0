/* SPDX-License-Identifier: MIT */
#include "rs-trace-dat-import.h"
#include "rs-trace-dat-event-private.h"
#include "rs-trace-dat-kallsyms-private.h"
#include "rs-trace-dat-pages-private.h"
#include "rs-trace-error.h"

#include <ringside/cmdline.h>
#include <ringside/region.h>
#include <ringside/ring.h>
#include <rs-trace-symbol-file.h>
#include <string.h>

#define FIRST_BOOT 1u
#define SYMBOLS_MAX 8u /* sources that are told the symbols: they are large */

/* ---- what a source tells ---- */

static gboolean put_table(Import *import, const Source *source, guint kind, guint64 arg,
			  gconstpointer elements, guint count, guint stride, const GByteArray *data)
{
	const RsTraceWriterTable table = {
		arg, elements, count, stride, data ? data->data : NULL, data ? data->len : 0};

	return rs_trace_writer_put_table(import->writer, kind, source->number, &table,
					 import->error);
}

static gboolean begin_boot(Import *import, Source *source, guint32 boot, guint64 ns)
{
	source->boot = boot;
	source->boots[boot % RS_BOOTS] = (struct rs_boot){.boot = boot, .ts = ns};
	/* A name is of one boot. */
	g_hash_table_remove_all(source->pids);
	return put_table(import, source, RS_FILE_BOOTS, 1000000000, source->boots, RS_BOOTS,
			 sizeof(struct rs_boot), NULL);
}

static gboolean tell_symbols(Import *import, const Source *source)
{
	RsTraceWriterTable table = {.elements = &import->symbols_head,
				    .count = 1,
				    .stride = sizeof(import->symbols_head)};

	if (!import->symbols || import->symbols_told >= SYMBOLS_MAX)
		return TRUE;
	import->symbols_told++;
	table.data = g_bytes_get_data(import->symbols, &table.data_size);
	return rs_trace_writer_put_table(import->writer, RS_FILE_SYMBOLS, source->number, &table,
					 import->error);
}

static gboolean join(Import *import, Source *source)
{
	struct rs_file_source info = {.size = sizeof(info),
				      .ring_pages = 1,
				      .ring_page_size = RS_TRACE_PACK_PAGE,
				      .number = source->number,
				      .session_id = tracecmd_get_traceid(source->handle)};

	source->joined = TRUE;
	source->n_rings = (guint)CLAMP(tep_get_cpus(import->tep), 1, (int)RS_MAX_CPUS);
	source->rings = g_new0(Ring, source->n_rings);
	for (guint i = 0; i < source->n_rings; i++)
		source->rings[i].pack.size = RS_TRACE_PACK_PAGE;
	info.ring_count = source->n_rings;
	g_strlcpy(info.name, source->name, sizeof(info.name));
	g_strlcpy(info.kind, "trace.dat", sizeof(info.kind));
	return rs_trace_writer_put(import->writer, RS_FILE_SOURCE, source->number, &info,
				   sizeof(info), import->error) &&
	       begin_boot(import, source, FIRST_BOOT, 0) && tell_symbols(import, source);
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
				       .first_boot = FIRST_BOOT,
				       .last_boot = G_MAXUINT32,
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
	struct rs_cmdline_entry entry = {.sequence = 2, .pid = pid, .boot = source->boot};

	if (!g_hash_table_add(source->pids, GUINT_TO_POINTER(pid)) || !comm || !*comm ||
	    g_str_equal(comm, "<...>"))
		return TRUE;
	memcpy(entry.comm, comm, strnlen(comm, sizeof(entry.comm)));
	return put_table(import, source, RS_FILE_NAMES, 0, &entry, 1, sizeof(entry), NULL);
}

/* ---- records ---- */

/* Where a number of lost records is not known, it is at least one. */
static gboolean lose(Import *import, Source *source, const struct tep_record *record)
{
	long long missed = record->missed_events;

	return rs_trace_dat_pages_lose(import, source, (guint)record->cpu,
				       missed > 0 ? (guint64)missed : missed < 0);
}

/* The frames of an event of Linux that is nothing but the stack of the record before it. */
static guint take_frames(const RsTraceDatEvent *event, const struct tep_record *record,
			 guint64 frames[RS_STACK_MAX])
{
	struct tep_handle *tep = event->tep->tep;
	const int size = tep_get_long_size(tep) == 4 ? 4 : 8;
	const guint64 none = size == 4 ? G_MAXUINT32 : G_MAXUINT64;
	guint n = 0;

	for (int at = event->value_at; n < RS_STACK_MAX && at + size <= record->size; at += size) {
		frames[n] = tep_read_number(tep, (const guint8 *)record->data + at, size);
		if (frames[n] == none) /* older kernels end a stack with it */
			break;
		n++;
	}
	return n;
}

/* Whether the record was the stack of the one before it, which has it now. */
static gboolean is_stack_of_last(const Source *source, const struct tep_record *record,
				 const RsTraceDatEvent *event)
{
	const Held *held = &source->rings[record->cpu].held;

	return event->role == RS_TRACE_DAT_STACK && held->payload && !record->missed_events &&
	       held->pid == rs_trace_dat_event_pid(event, record);
}

static gboolean add(Import *import, Source *source, struct tep_record *record,
		    const RsTraceDatEvent *event)
{
	const Held held = {.id = event->id,
			   .ns = record->ts,
			   .pid = rs_trace_dat_event_pid(event, record),
			   .context = rs_trace_dat_event_context(event, record)};
	guint64 frames[RS_STACK_MAX];

	if (is_stack_of_last(source, record, event))
		return rs_trace_dat_pages_release(import, source, (guint)record->cpu, frames,
						  take_frames(event, record, frames));
	if (!lose(import, source, record) || !tell_task(import, source, held.pid))
		return FALSE;
	rs_trace_dat_event_payload(event, record, &import->text, import->payload);
	return rs_trace_dat_pages_hold(import, source, (guint)record->cpu, &held) &&
	       rs_trace_dat_pages_look(import);
}

/* What our own export says by events: that a guest has begun anew, and what was lost at the end. */
static gboolean obey(Import *import, Source *source, const struct tep_record *record,
		     const RsTraceDatEvent *event, gboolean *done)
{
	guint64 boot = 0;

	*done = TRUE;
	import->ns = MAX(import->ns, record->ts);
	if (event->role == RS_TRACE_DAT_END)
		return lose(import, source, record);
	if (event->role == RS_TRACE_DAT_BOOT && event->value_at + 4 <= record->size)
		boot = tep_read_number(event->tep->tep,
				       (const guint8 *)record->data + event->value_at, 4);
	if (boot <= source->boot) {
		*done = FALSE;
		return TRUE;
	}
	return lose(import, source, record) && rs_trace_dat_pages_flush(import, source) &&
	       begin_boot(import, source, (guint32)boot, record->ts);
}

/* Called by libtracecmd for each record, in the order of time. */
static int take(struct tracecmd_input *handle, struct tep_record *record, int cpu, void *data)
{
	Import *import = data;
	Source *source = tracecmd_get_private(handle);
	struct tep_event *tep = tep_find_event_by_record(import->tep, record);
	const RsTraceDatEvent *event = NULL;
	gboolean done;

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
	if (!event)
		return 0;
	if (!obey(import, source, record, event, &done))
		goto failed;
	if (done || add(import, source, record, event))
		return 0;
failed:
	import->failed = TRUE;
	return -1;
}

/* ---- the whole ---- */

static void source_free(gpointer data)
{
	Source *source = data;

	for (guint i = 0; i < source->n_rings; i++) {
		g_clear_pointer(&source->rings[i].pack.page, g_byte_array_unref);
		g_clear_pointer(&source->rings[i].held.payload, g_byte_array_unref);
	}
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
	return !import->failed && rs_trace_dat_pages_finish(import) &&
	       rs_trace_writer_close(import->writer, import->error);
}

/* A list that cannot be used is as none. */
static void make_symbols(Import *import)
{
	g_autofree char *text = rs_trace_dat_kallsyms_take();
	g_autoptr(RsTraceSymbolFile) file = NULL;

	if (text)
		file = rs_trace_symbol_file_new_text(text, "kallsyms", NULL);
	if (file)
		import->symbols = rs_trace_symbol_file_place(file, NULL, &import->symbols_head);
}

static gboolean convert(struct tracecmd_input *top, GOutputStream *out, GError **error)
{
	static const RsTraceWriterConfig config = {0};
	g_autoptr(RsTraceWriter) writer = rs_trace_writer_new(out, &config, error);
	g_autoptr(GPtrArray) sources = g_ptr_array_new_with_free_func(source_free);
	Import import = {.writer = writer,
			 .sources = sources,
			 .tep = tracecmd_get_tep(top),
			 .payload = g_byte_array_new(),
			 .error = error};
	gboolean ok;

	make_symbols(&import);
	trace_seq_init(&import.text);
	ok = read_all(&import, top);
	trace_seq_destroy(&import.text);
	g_clear_pointer(&import.symbols, g_bytes_unref);
	g_byte_array_unref(import.payload);
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
				    "it is cut or damaged: libtracecmd cannot read this trace.dat");
		return FALSE;
	}
	ok = convert(top, out, error);
	tracecmd_close(top);
	return ok;
}
