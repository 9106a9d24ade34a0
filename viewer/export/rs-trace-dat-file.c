/* SPDX-License-Identifier: MIT */
/*
 * A trace.dat of version 7 is a head, and sections one behind the other: id, flags, a name for
 * people, size, data. The section of options says where all others are. It comes last here, since
 * the sizes of all are known by then: so the file is written from front to back.
 */
#include "rs-trace-dat-private.h"

#include <string.h>

enum {
	OPTION_DONE = 0, /* also the id of the section of options */
	OPTION_CPUSTAT = 2,
	OPTION_BUFFER = 3,
	OPTION_TRACECLOCK = 4,
	OPTION_UNAME = 5,
	OPTION_CPUCOUNT = 8,
	OPTION_VERSION = 9,
	OPTION_TRACEID = 11,
	OPTION_HEADER_INFO = 16,
	OPTION_FTRACE_EVENTS,
	OPTION_EVENT_FORMATS,
	OPTION_KALLSYMS,
	OPTION_PRINTK,
	OPTION_CMDLINES,
};

#define SECTION_HEAD 16u
#define CLOCK "mono"

static const char magic[] = "\x17\x08\x44"
			    "tracing"
			    "7"; /* with its NUL */

/* Where the fields of a page and of a record lie, as the kernel describes them. */
static const char header_page[] =
	"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
	"\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
	"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
	"\tfield: char data;\toffset:16;\tsize:%" G_GSIZE_FORMAT ";\tsigned:0;\n";
static const char header_event[] = "# compressed entry header\n"
				   "\ttype_len    :    5 bits\n"
				   "\ttime_delta  :   27 bits\n"
				   "\tarray       :   32 bits\n\n"
				   "\tpadding     : type == 29\n"
				   "\ttime_extend : type == 30\n"
				   "\ttime_stamp : type == 31\n"
				   "\tdata max type_len  == 28\n";

static void put(GByteArray *out, guint64 value, guint size)
{
	value = GUINT64_TO_LE(value);
	g_byte_array_append(out, (const guint8 *)&value, size);
}

static void put_bytes(GByteArray *out, const char *bytes, gsize size)
{
	g_byte_array_append(out, (const guint8 *)bytes, (guint)size);
}

/* With its NUL. */
static void put_name(GByteArray *out, const char *name)
{
	put_bytes(out, name, strlen(name) + 1);
}

/* The parts of the file in memory: its head, all sections but the pages, and the options. */
typedef struct {
	const RsTraceDatFile *file;
	GByteArray *out, *options;
} Parts;

static void put_option(Parts *parts, guint id, const char *data, gsize size)
{
	put(parts->options, id, 2);
	put(parts->options, size, 4);
	put_bytes(parts->options, data, size);
}

/* It has a name for people, too. Old readers warn of the table of names, so there is none. */
static void put_section_head(Parts *parts, guint id, guint64 size)
{
	put(parts->out, id, 2);
	put(parts->out, 0, 2);
	put(parts->out, 0, 4);
	put(parts->out, size, 8);
}

/* A section, and the option that says where it is. */
static void put_section(Parts *parts, guint id, GByteArray *data)
{
	guint64 at = GUINT64_TO_LE((guint64)parts->out->len);

	put_option(parts, id, (const char *)&at, sizeof(at));
	put_section_head(parts, id, data->len);
	put_bytes(parts->out, (const char *)data->data, data->len);
	g_byte_array_unref(data);
}

static gsize first_page_size(const RsTraceDatFile *file)
{
	return file->n_buffers ? file->buffers[0].page_size : 4096;
}

static GByteArray *headers(const RsTraceDatFile *file)
{
	GByteArray *out = g_byte_array_new();
	g_autofree char *page =
		g_strdup_printf(header_page, first_page_size(file) - RS_TRACE_DAT_PAGE_HEADER);

	put_name(out, "header_page");
	put(out, strlen(page), 8);
	put_bytes(out, page, strlen(page));
	put_name(out, "header_event");
	put(out, strlen(header_event), 8);
	put_bytes(out, header_event, strlen(header_event));
	return out;
}

static GByteArray *formats(const RsTraceDatFile *file)
{
	GByteArray *out = g_byte_array_new();
	guint n_systems = 0;

	for (guint i = 0; i < file->n_events; i++)
		n_systems += !i || strcmp(file->events[i].system, file->events[i - 1].system);
	put(out, n_systems, 4);
	for (guint i = 0, n; i < file->n_events; i += n) {
		const char *system = file->events[i].system;

		for (n = 1; i + n < file->n_events; n++)
			if (strcmp(file->events[i + n].system, system))
				break;
		put_name(out, system);
		put(out, n, 4);
		for (guint k = i; k < i + n; k++) {
			put(out, strlen(file->events[k].text), 8);
			put_bytes(out, file->events[k].text, strlen(file->events[k].text));
		}
	}
	return out;
}

/* A text behind its size, which has `bytes` bytes. */
static GByteArray *sized(const char *text, guint bytes)
{
	GByteArray *out = g_byte_array_new();

	put(out, strlen(text), bytes);
	put_bytes(out, text, strlen(text));
	return out;
}

static void put_head(Parts *parts)
{
	put_bytes(parts->out, magic, sizeof(magic));
	put(parts->out, 0, 1); /* little-endian */
	put(parts->out, 8, 1); /* bytes of a long */
	put(parts->out, first_page_size(parts->file), 4);
	put_name(parts->out, "none"); /* how it is compressed, and by which version */
	put_name(parts->out, "");
}

/* What the kernel tells of each CPU's buffer. */
static void put_stats(Parts *parts)
{
	const RsTraceDatBuffer *buffer = parts->file->buffers;

	if (parts->file->n_buffers != 1)
		return;
	for (guint i = 0; i < buffer->n_lanes; i++) {
		const RsTraceDatLane *lane = buffer->lanes[i];
		g_autofree char *text = g_strdup_printf(
			"CPU: %u\nentries: 0\noverrun: %" G_GUINT64_FORMAT "\ncommit overrun: 0\n"
			"bytes: 0\ndropped events: 0\nread events: %" G_GUINT64_FORMAT "\n",
			i, lane->lost, lane->events);

		put_option(parts, OPTION_CPUSTAT, text, strlen(text) + 1);
	}
}

static void put_general_options(Parts *parts)
{
	static const char version[] = "ringside " RS_VERSION, clock[] = "[" CLOCK "]";
	guint32 cpus = 0;
	guint64 id = GUINT64_TO_LE(parts->file->id);

	for (guint i = 0; i < parts->file->n_buffers; i++)
		cpus = MAX(cpus, parts->file->buffers[i].n_lanes);
	cpus = GUINT32_TO_LE(cpus);
	put_option(parts, OPTION_CPUCOUNT, (const char *)&cpus, sizeof(cpus));
	put_option(parts, OPTION_TRACECLOCK, clock, sizeof(clock));
	put_option(parts, OPTION_UNAME, "Ringside", sizeof("Ringside"));
	put_option(parts, OPTION_VERSION, version, sizeof(version));
	put_option(parts, OPTION_TRACEID, (const char *)&id, sizeof(id));
	put_stats(parts);
}

static guint64 round_up(guint64 at, gsize to)
{
	return (at + to - 1) / to * to;
}

/*
 * The option of a buffer whose section begins at `at` and whose pages begin at `data`. Returns
 * where they end.
 */
static guint64 put_buffer_option(Parts *parts, const RsTraceDatBuffer *buffer, guint64 at,
				 guint64 data)
{
	g_autoptr(GByteArray) option = g_byte_array_new();

	put(option, at, 8);
	put_name(option, buffer->name);
	put_name(option, CLOCK);
	put(option, buffer->page_size, 4);
	put(option, buffer->n_lanes, 4);
	for (guint i = 0; i < buffer->n_lanes; i++) {
		guint64 size = buffer->lanes[i]->chain.size;

		put(option, i, 4);
		put(option, data, 8);
		put(option, size, 8);
		data += size;
	}
	put_option(parts, OPTION_BUFFER, (const char *)option->data, option->len);
	return data;
}

static gboolean write_bytes(GByteArray *bytes, GOutputStream *out, GCancellable *cancellable,
			    GError **error)
{
	gboolean ok =
		g_output_stream_write_all(out, bytes->data, bytes->len, NULL, cancellable, error);

	g_byte_array_set_size(bytes, 0);
	return ok;
}

/* The pages of one buffer. *at: where in the file it begins, and then where it ends. */
static gboolean write_buffer(Parts *parts, const RsTraceDatBuffer *buffer, guint64 *at,
			     RsTraceDatSpool *spool, GOutputStream *out, GCancellable *cancellable,
			     GError **error)
{
	guint64 data = round_up(*at + SECTION_HEAD, buffer->page_size);
	guint64 end = put_buffer_option(parts, buffer, *at, data);

	put_section_head(parts, OPTION_BUFFER, end - *at - SECTION_HEAD);
	while (*at + parts->out->len < data)
		put(parts->out, 0, 1);
	*at = end;
	if (!write_bytes(parts->out, out, cancellable, error))
		return FALSE;
	for (guint i = 0; i < buffer->n_lanes; i++)
		if (!rs_trace_dat_spool_copy(spool, &buffer->lanes[i]->chain, out, cancellable,
					     error))
			return FALSE;
	return TRUE;
}

/* Where the options will be: the buffers follow at `at`, and their sizes are known. */
static guint64 options_place(const RsTraceDatFile *file, guint64 at)
{
	if (file->n_buffers != 1)
		at += SECTION_HEAD;
	for (guint i = 0; i < file->n_buffers; i++) {
		at = round_up(at + SECTION_HEAD, file->buffers[i].page_size);
		for (guint k = 0; k < file->buffers[i].n_lanes; k++)
			at += file->buffers[i].lanes[k]->chain.size;
	}
	return at;
}

static gboolean write_parts(Parts *parts, RsTraceDatSpool *spool, GOutputStream *out,
			    GCancellable *cancellable, GError **error)
{
	const RsTraceDatFile *file = parts->file;
	static const RsTraceDatBuffer none = {.name = "", .page_size = 4096};
	guint64 at, place, hole;

	put_head(parts);
	hole = parts->out->len;
	put(parts->out, 0, 8);
	put_section(parts, OPTION_HEADER_INFO, headers(file));
	put_section(parts, OPTION_FTRACE_EVENTS, sized("", 4));
	put_section(parts, OPTION_EVENT_FORMATS, formats(file));
	put_section(parts, OPTION_KALLSYMS, sized(file->kallsyms, 4));
	put_section(parts, OPTION_PRINTK, sized("", 4));
	put_section(parts, OPTION_CMDLINES, sized(file->cmdlines, 8));
	put_general_options(parts);
	at = parts->out->len;
	place = GUINT64_TO_LE(options_place(file, at));
	memcpy(parts->out->data + hole, &place, sizeof(place));
	/* Readers want a buffer without a name. If others have names, it is empty. */
	if (file->n_buffers != 1) {
		put_buffer_option(parts, &none, at, 0);
		put_section_head(parts, OPTION_BUFFER, 0);
		at += SECTION_HEAD;
		if (!write_bytes(parts->out, out, cancellable, error))
			return FALSE;
	} else {
		if (!write_bytes(parts->out, out, cancellable, error))
			return FALSE;
	}
	for (guint i = 0; i < file->n_buffers; i++)
		if (!write_buffer(parts, &file->buffers[i], &at, spool, out, cancellable, error))
			return FALSE;
	put_option(parts, OPTION_DONE, "\0\0\0\0\0\0\0", 8);
	put_section_head(parts, OPTION_DONE, parts->options->len);
	return write_bytes(parts->out, out, cancellable, error) &&
	       write_bytes(parts->options, out, cancellable, error);
}

gboolean rs_trace_dat_write(const RsTraceDatFile *file, RsTraceDatSpool *spool, GOutputStream *out,
			    GCancellable *cancellable, GError **error)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new(), options = g_byte_array_new();
	Parts parts = {.file = file, .out = bytes, .options = options};

	return write_parts(&parts, spool, out, cancellable, error);
}
