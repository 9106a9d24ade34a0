/* SPDX-License-Identifier: MIT */
#include "rs-trace-ctf-private.h"
#include "rs-trace-formats-private.h"

#include <glib/gi18n.h>
#include <ringside/name.h>
#include <string.h>

#define PACKET_MAX (64u << 10)  /* bytes; then a packet is ended and written */
#define BUFFERS_MAX (16u << 20) /* bytes; then all streams are written and give back memory */
#define SOURCES_MAX 65536u      /* each is a directory */
#define KNOWN_MAX 8192u         /* events whose class is remembered; a power of 2 */
#define DIGESTS_MAX 65536u      /* texts of classes that are remembered, of all sources */
#define STREAMS_MAX 131072u     /* of all sources: each is a file */
#define PLACES_MAX (1u << 20)   /* for streams, used or not */

typedef struct {
	RsCtfTrace trace;
	struct rs_file_source info; /* to which trace.source points */
	char *folder;
	GPtrArray *streams;  /* RsCtfStream *, by ring; may hold NULL */
	GHashTable *classes; /* SHA-256 of its text -> id: what is in the metadata; NULL: nothing */
	guint n_classes;
} Source;

/* The class of an event. */
typedef struct {
	guint64 event; /* RsTraceEvent.unique << 8 | frames; of one source. 0: none */
	guint id;
} Known;

typedef struct {
	const RsTraceExportConfig *config;
	GPtrArray *sources;  /* Source *, by source_index; may hold NULL */
	GHashTable *folders; /* names that are taken -> the number to try first for one more */
	gsize buffered;      /* bytes that came since all streams were written */
	guint n_streams;
	guint n_places; /* for streams, in all sources */
	guint n_digests;
	Known known[KNOWN_MAX];
} Ctf;

/* ---- files ---- */

static gboolean flush(Ctf *ctf, Source *source, RsCtfStream *stream, GError **error)
{
	g_autofree char *name = g_strdup_printf("stream-%u", stream->ring);

	rs_ctf_stream_end_packet(stream, &source->trace);
	if (!stream->bytes->len)
		return TRUE;
	if (!rs_trace_output_append(ctf->config->output, source->folder, name, stream->bytes->data,
				    stream->bytes->len, error))
		return FALSE;
	g_byte_array_set_size(stream->bytes, 0);
	return TRUE;
}

/* All streams, of which none keeps memory. */
static gboolean flush_all(Ctf *ctf, GError **error)
{
	ctf->buffered = 0;
	for (guint i = 0; i < ctf->sources->len; i++) {
		Source *source = ctf->sources->pdata[i];

		for (guint k = 0; source && k < source->streams->len; k++) {
			RsCtfStream *stream = source->streams->pdata[k];

			if (!stream)
				continue;
			if (g_cancellable_set_error_if_cancelled(ctf->config->cancellable, error) ||
			    !flush(ctf, source, stream, error))
				return FALSE;
			g_byte_array_unref(stream->bytes);
			stream->bytes = g_byte_array_new();
		}
	}
	return TRUE;
}

/* ---- sources ---- */

static void stream_free(gpointer data)
{
	RsCtfStream *stream = data;

	if (stream)
		g_byte_array_unref(stream->bytes);
	g_free(stream);
}

static void source_free(gpointer data)
{
	Source *source = data;

	if (!source)
		return;
	g_free(source->folder);
	g_ptr_array_unref(source->streams);
	g_clear_pointer(&source->classes, g_hash_table_unref);
	g_free(source);
}

/* The source's name, with other characters as '_', and a number if it is taken. */
static char *folder_name(Ctf *ctf, const struct rs_file_source *source)
{
	g_autofree char *plain = g_strdup(*source->name ? source->name : "source");
	guint n, first;
	char *name;

	for (char *c = plain; *c; c++)
		if (!rs_is_alnum(*c) && !strchr("_-.", *c))
			*c = '_';
	if (!rs_is_alnum(*plain))
		*plain = '_';
	name = g_strdup(plain);
	n = GPOINTER_TO_UINT(g_hash_table_lookup(ctf->folders, plain));
	for (first = MAX(n, 2), n = first; g_hash_table_contains(ctf->folders, name); n++) {
		g_free(name);
		name = g_strdup_printf("%s-%u", plain, n);
	}
	if (n > first)
		g_hash_table_insert(ctf->folders, g_strdup(plain), GUINT_TO_POINTER(n));
	g_hash_table_insert(ctf->folders, g_strdup(name), GUINT_TO_POINTER(2));
	return name;
}

static void make_uuid(Source *source, guint index)
{
	g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_MD5);
	const guint64 what[] = {source->trace.header->id, source->trace.header->origin_ns,
				source->info.session_id, index};
	gsize size = sizeof(source->trace.uuid);

	g_checksum_update(sum, (const guchar *)what, sizeof(what));
	g_checksum_get_digest(sum, source->trace.uuid, &size);
}

static Source *add_source(Ctf *ctf, const RsTraceExportItem *item, GError **error)
{
	Source *source = g_new0(Source, 1);
	g_autoptr(GString) text = g_string_new(NULL);

	source->info = *item->source;
	source->trace = (RsCtfTrace){.header = ctf->config->header, .source = &source->info};
	source->folder = folder_name(ctf, item->source);
	source->streams = g_ptr_array_new_with_free_func(stream_free);
	source->n_classes = RS_CTF_FIRST;
	make_uuid(source, item->source_index);
	ctf->sources->pdata[item->source_index] = source;
	rs_ctf_metadata(text, &source->trace);
	if (!rs_trace_output_make_folder(ctf->config->output, source->folder, error) ||
	    !rs_trace_output_append(ctf->config->output, source->folder, "metadata", text->str,
				    text->len, error))
		return NULL;
	return source;
}

static Source *find_source(Ctf *ctf, const RsTraceExportItem *item, GError **error)
{
	guint index = item->source_index;

	if (index >= SOURCES_MAX) {
		g_set_error(error, G_IO_ERROR, G_IO_ERROR_NO_SPACE,
			    "the trace has more than %u sources", SOURCES_MAX);
		return NULL;
	}
	if (index >= ctf->sources->len)
		g_ptr_array_set_size(ctf->sources, (gint)index + 1);
	if (ctf->sources->pdata[index])
		return ctf->sources->pdata[index];
	return add_source(ctf, item, error);
}

static RsCtfStream *add_stream(Ctf *ctf, Source *source, guint ring, GError **error)
{
	guint more = ring >= source->streams->len ? ring + 1 - source->streams->len : 0;
	RsCtfStream *stream;

	if (ctf->n_streams >= STREAMS_MAX || more > PLACES_MAX - ctf->n_places) {
		g_set_error(error, G_IO_ERROR, G_IO_ERROR_NO_SPACE,
			    "too many vCPUs for CTF: more than %u of all sources, or numbers of "
			    "them that are too high",
			    STREAMS_MAX);
		return NULL;
	}
	ctf->n_streams++;
	ctf->n_places += more;
	if (more)
		g_ptr_array_set_size(source->streams, (gint)ring + 1);
	source->streams->pdata[ring] = stream = g_new0(RsCtfStream, 1);
	stream->bytes = g_byte_array_new();
	stream->ring = ring;
	return stream;
}

static RsCtfStream *find_stream(Ctf *ctf, Source *source, guint ring, GError **error)
{
	if (ring < source->streams->len && source->streams->pdata[ring])
		return source->streams->pdata[ring];
	return add_stream(ctf, source, ring, error);
}

/* ---- classes of events ---- */

/* Classes that come once more are written once more, under another id. */
static void forget_digests(Ctf *ctf)
{
	for (guint i = 0; i < ctf->sources->len; i++) {
		Source *source = ctf->sources->pdata[i];

		if (source)
			g_clear_pointer(&source->classes, g_hash_table_unref);
	}
	ctf->n_digests = 0;
}

/*
 * Events that are described alike, as in two lives of a provider, are one class. *id is UNKNOWN if
 * there are too many.
 */
static gboolean add_class(Ctf *ctf, Source *source, const RsTraceRecord *record, guint *id,
			  GError **error)
{
	g_autoptr(GString) text = g_string_new(NULL);
	g_autofree char *digest = NULL, *head = NULL;
	gpointer known;

	rs_ctf_event_class(text, record->event, record->n_stack);
	digest = g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)text->str,
					     text->len);
	if (source->classes &&
	    g_hash_table_lookup_extended(source->classes, digest, NULL, &known)) {
		*id = GPOINTER_TO_UINT(known);
		return TRUE;
	}
	*id = RS_CTF_UNKNOWN;
	if (source->n_classes > RS_CTF_CLASSES_MAX)
		return TRUE;
	*id = source->n_classes++;
	if (ctf->n_digests == DIGESTS_MAX)
		forget_digests(ctf);
	ctf->n_digests++;
	if (!source->classes)
		source->classes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_hash_table_insert(source->classes, g_steal_pointer(&digest), GUINT_TO_POINTER(*id));
	head = g_strdup_printf("event {\n\tid = %u;\n", *id);
	g_string_prepend(text, head);
	return rs_trace_output_append(ctf->config->output, source->folder, "metadata", text->str,
				      text->len, error);
}

static gboolean find_class(Ctf *ctf, Source *source, const RsTraceRecord *record, guint *id,
			   GError **error)
{
	guint64 event;
	Known *known;

	*id = record->kind == RS_TRACE_RECORD_BOOT ? RS_CTF_BOOT : RS_CTF_UNKNOWN;
	if (record->kind == RS_TRACE_RECORD_BOOT || !record->event)
		return TRUE;
	event = record->event->unique << 8 | record->n_stack;
	known = &ctf->known[(record->event->unique ^ record->n_stack * 97) & (KNOWN_MAX - 1)];
	if (known->event != event) {
		if (!add_class(ctf, source, record, id, error))
			return FALSE;
		*known = (Known){.event = event, .id = *id};
	}
	*id = known->id;
	return TRUE;
}

/* ---- the format ---- */

static void ctf_free(gpointer self)
{
	Ctf *ctf = self;

	g_ptr_array_unref(ctf->sources);
	g_hash_table_unref(ctf->folders);
	g_free(ctf);
}

static gpointer ctf_open(const RsTraceExportConfig *config, GError **error)
{
	Ctf *ctf = g_new0(Ctf, 1);

	ctf->config = config;
	ctf->sources = g_ptr_array_new_with_free_func(source_free);
	ctf->folders = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	return ctf;
}

static gboolean ctf_record(gpointer self, const RsTraceExportItem *item, GError **error)
{
	Ctf *ctf = self;
	const RsTraceRecord *record = item->record;
	Source *source = find_source(ctf, item, error);
	RsCtfStream *stream;
	gsize before;
	guint id;

	if (!source)
		return FALSE;
	stream = find_stream(ctf, source, record->ring, error);
	if (!stream)
		return FALSE;
	before = stream->bytes->len;
	if (record->kind == RS_TRACE_RECORD_LOSS) {
		rs_ctf_stream_loss(stream, &source->trace, record->ns, record->lost);
	} else {
		if (!find_class(ctf, source, record, &id, error))
			return FALSE;
		rs_ctf_stream_event(stream, &source->trace, id, item);
	}
	ctf->buffered += stream->bytes->len - before;
	if (stream->bytes->len >= PACKET_MAX && !flush(ctf, source, stream, error))
		return FALSE;
	return ctf->buffered < BUFFERS_MAX || flush_all(ctf, error);
}

static gboolean ctf_close(gpointer self, GError **error)
{
	static const struct rs_file_source nobody = {.name = "trace"};
	const RsTraceExportItem none = {.source = &nobody};
	Ctf *ctf = self;

	/* A trace without records is one nevertheless. */
	if (!ctf->sources->len && !find_source(ctf, &none, error))
		return FALSE;
	return flush_all(ctf, error);
}

const RsTraceExportFormat rs_trace_export_ctf = {
	.name = "ctf",
	.summary = N_("Common Trace Format 1.8, a directory: babeltrace2, Trace Compass"),
	.suffix = ".ctf",
	.is_directory = TRUE,
	.open = ctf_open,
	.record = ctf_record,
	.close = ctf_close,
	.free = ctf_free,
};
