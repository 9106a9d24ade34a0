/* SPDX-License-Identifier: MIT */
/*
 * Records that call themselves ktrace's, with fields of any kind that a schema lets through, as
 * kdump shows them. Input: a header, a kind and a place for each field, then the payload.
 */
#include "input.h"
#include "rs-trace-kdump.h"
#include "seed.h"

#include <ringside/record.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"code",  "argsize", "args", "error",    "retval",  "length",
				    "path",  "name",    "fd",   "rw",       "offset",  "data",
				    "signo", "action",  "mask", "has_info", "si_code", "si_pid",
				    "addr",  "out",     "user", "label"};
static const char *const events[] = {"syscall", "sysret", "namei", "genio",    "psig",   "csw",
				     "emul",    "struct", "user",  "execargs", "execenv"};

struct head {
	uint8_t event, options, max_data, entry_size, pid, cut, point, fill;
};

/* What the schema guarantees: a size that the kind can have, within the fixed part. */
static void make_field(RsTraceField *field, const char *name, uint8_t kind, uint8_t place,
		       guint entry_size)
{
	static const guint8 sizes[] = {1, 2, 4, 8};

	*field = (RsTraceField){.name = name, .type = "any", .kind = 1 + kind % RS_KIND_DYN_STRING};
	field->size = field->kind < RS_KIND_ARRAY ? sizes[kind / 16 % 4] : 1 + kind / 16;
	if (field->kind == RS_KIND_POINTER)
		field->size = 8;
	if (field->kind >= RS_KIND_DYN_ARRAY)
		field->size = 4;
	field->elem_size = 1;
	field->elem_count = field->size;
	field->is_signed = field->kind == RS_KIND_SINT;
	field->is_hex = field->kind == RS_KIND_HEX;
	field->offset = place % (entry_size - field->size + 1);
}

/* Whole lines, of characters that print. */
RS_FUZZ_NOT_SEEN static void check_lines(const GString *out, gboolean tabs)
{
	if (out->len && out->str[out->len - 1] != '\n')
		abort();
	if (!g_utf8_validate(out->str, (gssize)out->len, NULL))
		abort();
	for (gsize i = 0; i < out->len; i++)
		if ((guchar)out->str[i] < ' ' && out->str[i] != '\n' &&
		    !(tabs && out->str[i] == '\t'))
			abort();
}

static void show(const RsTraceRecord *record, const struct head *head)
{
	static const RsTraceTask task = {.comm = "\x1b\xff"};
	const RsTraceKdumpOptions options = {
		.decimal = head->options & 1,
		.threads = (head->options & 2) != 0,
		.plain = (head->options & 4) != 0,
		.relative = (head->options & 8) != 0,
		.absolute = (head->options & 16) != 0,
		.hex = (head->options & 32) != 0,
		.hex_ascii = (head->options & 64) != 0,
		.label = head->options & 128 ? "mark" : NULL,
		.max_data = head->max_data,
		.points = head->point ? 1u << head->point % 12 : G_MAXUINT32,
		.call_name = rs_trace_kdump_linux_call,
	};
	g_autoptr(GString) out = g_string_new(NULL);
	RsTraceKdump kdump;

	rs_trace_kdump_init(&kdump, &options);
	rs_trace_kdump_record(&kdump, out, record, &task,
			      head->fill & 1 ? RS_TRACE_TEXT_SOURCE : RS_TRACE_TEXT_NONE);
	rs_trace_kdump_record(&kdump, out, record, &task, RS_TRACE_TEXT_NONE);
	check_lines(out, options.label != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const RsTracePrintStep end = {.literal = "text", .literal_size = 4};
	struct rs_fuzz_input in = {data, size};
	RsTraceField fields[G_N_ELEMENTS(names)];
	RsTraceEvent event = {.system = "ktrace",
			      .n_fields = G_N_ELEMENTS(names),
			      .fields = fields,
			      .n_steps = 1};
	static const RsTraceOrigin origin = {.name = "source", .escaped = "source"};
	RsTraceRecord record = {.event = &event, .origin = &origin};
	g_autofree guint8 *payload = NULL;
	struct head head;

	if (!rs_fuzz_take(&in, &head, sizeof(head)))
		return 0;
	event.name = events[head.event % G_N_ELEMENTS(events)];
	event.entry_size = 16 + head.entry_size % 112;
	event.steps = &end;
	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		uint8_t kind = rs_fuzz_u8(&in), place = rs_fuzz_u8(&in);

		make_field(&fields[i], names[i], kind, place, event.entry_size);
	}
	payload = g_memdup2(in.data, in.left);
	record.payload = payload;
	record.size = (guint)MIN(in.left, RS_REC_MAX - 8);
	record.pid = head.pid;
	record.cut = head.cut & 1;
	show(&record, &head);
	return 0;
}

/* Each event with integers of 8 bytes, and bytes and a label behind the fixed part. */
static void rs_fuzz_seeds(void)
{
	static const char text[] = "mark\0line\n\x1b[2J\xff and more of it";
	const uint8_t integer = 51, array = RS_KIND_DYN_ARRAY - 1; /* as make_field() reads them */

	for (guint i = 0; i < G_N_ELEMENTS(events); i++) {
		struct head head = {.event = (uint8_t)i, .max_data = 16, .entry_size = 112 - 16};
		g_autoptr(GByteArray) bytes = g_byte_array_new();
		guint8 payload[112] = {0};

		g_byte_array_append(bytes, (const guint8 *)&head, sizeof(head));
		for (guint n = 0; n < G_N_ELEMENTS(names); n++) {
			gboolean is_label = strcmp(names[n], "label") == 0;
			gboolean dynamic = is_label || strstr("args path name data", names[n]);
			guint32 locator = is_label ? rs_locator(112, 4) : rs_locator(117, 24);
			guint8 spec[2] = {dynamic ? array : integer, (guint8)(4 * n)};

			if (dynamic)
				memcpy(payload + 4 * n, &locator, sizeof(locator));
			g_byte_array_append(bytes, spec, sizeof(spec));
		}
		g_byte_array_append(bytes, payload, sizeof(payload));
		g_byte_array_append(bytes, (const guint8 *)text, sizeof(text));
		rs_fuzz_seed(events[i], bytes->data, bytes->len);
	}
}
