/* SPDX-License-Identifier: MIT */
#include "rs-trace-ctf-private.h"
#include "rs-trace-escape.h"

#include <ringside/types.h>
#include <string.h>

/* A string of TSDL. What is in it cannot end it: quotes and backslashes are escaped, and control
 * characters are written as \xNN before that. */
static void append_quoted(GString *out, const char *text)
{
	g_autofree char *plain = rs_trace_escape(text, -1, NULL);

	g_string_append_c(out, '"');
	for (const char *c = plain; *c; c++) {
		if (*c == '"' || *c == '\\')
			g_string_append_c(out, '\\');
		g_string_append_c(out, *c);
	}
	g_string_append_c(out, '"');
}

/* ---- the trace ---- */

static const char *architecture(guint arch)
{
	switch (arch) {
	case RS_ARCH_X86_64:
		return "x86_64";
	case RS_ARCH_AARCH64:
		return "aarch64";
	case RS_ARCH_RISCV64:
		return "riscv64";
	default:
		return "unknown";
	}
}

static void append_uuid(GString *out, const guint8 uuid[16])
{
	for (guint i = 0; i < 16; i++)
		g_string_append_printf(out, "%s%02x",
				       i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
}

static void append_env(GString *out, const struct rs_file_source *source)
{
	const char *kind = *source->kind ? source->kind : "unknown";
	gboolean hosted = g_str_equal(kind, "hosted");

	g_string_append_printf(out, "env {\n\tdomain = \"%s\";\n\ttracer_name = \"ringside\";\n",
			       hosted ? "ust" : "kernel");
	g_string_append(out, "\ttracer_major = 0;\n\ttracer_minor = 1;\n\tsource_name = ");
	append_quoted(out, source->name);
	g_string_append_printf(out, ";\n\tsource_number = %u;\n\tsource_kind = ", source->number);
	append_quoted(out, kind);
	g_string_append_printf(
		out,
		";\n\tarchitecture = \"%s\";\n\tsession_id = \"%016" G_GINT64_MODIFIER
		"x\";\n};\n\n",
		architecture(source->arch), source->session_id);
}

/* The clock is that of all sources, so all of them name it by one UUID. */
static void append_clock(GString *out, const struct rs_file_header *header)
{
	guint64 wall = header->wall_ns < RS_CTF_TIME_MAX ? header->wall_ns : 0;
	guint8 uuid[16] = {0};

	memcpy(uuid, &header->id, sizeof(header->id));
	memcpy(uuid + 8, &header->origin_ns, sizeof(header->origin_ns));
	g_string_append(out, "clock {\n\tname = \"monotonic\";\n\tuuid = \"");
	append_uuid(out, uuid);
	g_string_append_printf(out,
			       "\";\n\tdescription = \"The guest's clock, on the host's\";\n"
			       "\tfreq = 1000000000;\n\toffset_s = %" G_GUINT64_FORMAT
			       ";\n\toffset = %" G_GUINT64_FORMAT ";\n\tabsolute = %s;\n};\n\n",
			       wall / 1000000000, wall % 1000000000, wall ? "TRUE" : "FALSE");
}

#define TYPES                                                                                      \
	"typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"                 \
	"typealias integer { size = 16; align = 8; signed = false; } := uint16_t;\n"               \
	"typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"               \
	"typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n\n"

#define CLOCK_TYPE                                                                                 \
	"typealias integer { size = 64; align = 8; signed = false;\n"                              \
	"\tmap = clock.monotonic.value; } := uint64_clock_monotonic_t;\n\n"

#define STREAM                                                                                     \
	"stream {\n"                                                                               \
	"\tid = 0;\n"                                                                              \
	"\tpacket.context := struct {\n"                                                           \
	"\t\tuint64_clock_monotonic_t timestamp_begin;\n"                                          \
	"\t\tuint64_clock_monotonic_t timestamp_end;\n"                                            \
	"\t\tuint64_t content_size;\n"                                                             \
	"\t\tuint64_t packet_size;\n"                                                              \
	"\t\tuint64_t packet_seq_num;\n"                                                           \
	"\t\tuint64_t events_discarded;\n"                                                         \
	"\t\tuint32_t cpu_id;\n"                                                                   \
	"\t};\n"                                                                                   \
	"\tevent.header := struct {\n"                                                             \
	"\t\tuint16_t id;\n"                                                                       \
	"\t\tuint64_clock_monotonic_t timestamp;\n"                                                \
	"\t};\n"                                                                                   \
	"\tevent.context := struct {\n"                                                            \
	"\t\tuint32_t _tid;\n"                                                                     \
	"\t\tuint32_t _pid;\n"                                                                     \
	"\t\tstring _procname;\n"                                                                  \
	"\t\tstring _flags;\n"                                                                     \
	"\t\tuint8_t _cut;\n"                                                                      \
	"\t};\n"                                                                                   \
	"};\n\n"

#define BOOT_EVENT                                                                                 \
	"event {\n"                                                                                \
	"\tid = 0;\n"                                                                              \
	"\tname = \"ringside:boot\";\n"                                                            \
	"\tstream_id = 0;\n"                                                                       \
	"\tfields := struct {\n"                                                                   \
	"\t\tuint32_t _boot;\n"                                                                    \
	"\t};\n"                                                                                   \
	"};\n\n"

#define UNKNOWN_EVENT                                                                              \
	"event {\n"                                                                                \
	"\tid = 1;\n"                                                                              \
	"\tname = \"ringside:unknown\";\n"                                                         \
	"\tstream_id = 0;\n\tfields := struct {\n"                                                 \
	"\t\tuint16_t _id;\n"                                                                      \
	"\t\tuint32_t __raw_length;\n"                                                             \
	"\t\tinteger { size = 8; align = 8; signed = false; base = 16; } "                         \
	"_raw[ __raw_length ];\n"                                                                  \
	"\t};\n"                                                                                   \
	"};\n\n"

void rs_ctf_metadata(GString *out, const RsCtfTrace *trace)
{
	g_string_append(out, "/* CTF 1.8 */\n\n" TYPES);
	g_string_append(out, "trace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"");
	append_uuid(out, trace->uuid);
	g_string_append(out, "\";\n\tbyte_order = le;\n\tpacket.header := struct {\n"
			     "\t\tuint32_t magic;\n\t\tuint8_t uuid[16];\n"
			     "\t\tuint32_t stream_id;\n\t\tuint64_t stream_instance_id;\n"
			     "\t};\n};\n\n");
	append_env(out, trace->source);
	append_clock(out, trace->header);
	g_string_append(out, CLOCK_TYPE STREAM BOOT_EVENT UNKNOWN_EVENT);
}

/* ---- events ---- */

/* As in LTTng: of ours, 1 is critical and 5 verbose. */
static guint loglevel(guint level)
{
	static const guint levels[] = {0, 2, 3, 4, 6, 14};

	return levels[MIN(level, G_N_ELEMENTS(levels) - 1)];
}

static void append_integer(GString *out, guint size, gboolean is_signed, gboolean is_hex)
{
	g_string_append_printf(out, "integer { size = %u; align = 8; signed = %s; base = %u; }",
			       size * 8, is_signed ? "true" : "false", is_hex ? 16 : 10);
}

/* The few words of TSDL that begin with an underscore get another one. */
static const char *underscore(const char *name)
{
	return g_str_equal(name, "Bool") || g_str_equal(name, "Complex") ||
			       g_str_equal(name, "Imaginary")
		       ? "__"
		       : "_";
}

static void append_enum(GString *out, const RsTraceField *field)
{
	guint64 max =
		field->size < 8 ? (G_GUINT64_CONSTANT(1) << field->size * 8) - 1 : G_MAXUINT64;
	const char *between = " {\n\t\t\t";

	g_string_append(out, "enum : ");
	append_integer(out, field->size, FALSE, field->kind == RS_KIND_FLAGS);
	for (guint i = 0; i < field->n_symbols; i++) {
		if (field->symbols[i].value > max)
			continue;
		g_string_append(out, between);
		append_quoted(out, field->symbols[i].name);
		g_string_append_printf(out, " = %" G_GUINT64_FORMAT, field->symbols[i].value);
		between = ",\n\t\t\t";
	}
	g_string_append(out, "\n\t\t}");
}

static gboolean has_symbols(const RsTraceField *field)
{
	for (guint i = 0; i < field->n_symbols; i++)
		if (field->size == 8 || !(field->symbols[i].value >> field->size * 8))
			return TRUE;
	return FALSE;
}

/* The number of elements stands before them, under a name that no field has. */
static void append_sequence(GString *out, const RsTraceEvent *event, const RsTraceField *field)
{
	g_autoptr(GString) length = g_string_new("_");

	g_string_append_printf(length, "%s_length", field->name);
	while (rs_trace_event_field(event, length->str))
		g_string_prepend_c(length, '_');
	g_string_append_printf(out, "uint32_t _%s;\n\t\t", length->str);
	append_integer(out, field->elem_size, field->is_signed, field->is_hex);
	g_string_append_printf(out, " %s%s[ _%s ]", underscore(field->name), field->name,
			       length->str);
}

static void append_field(GString *out, const RsTraceEvent *event, const RsTraceField *field)
{
	switch (field->kind) {
	case RS_KIND_DYN_ARRAY:
		append_sequence(out, event, field);
		return;
	case RS_KIND_ARRAY:
		append_integer(out, field->elem_size, field->is_signed, field->is_hex);
		break;
	case RS_KIND_STRING:
	case RS_KIND_DYN_STRING:
		g_string_append(out, "string");
		break;
	case RS_KIND_ENUM:
	case RS_KIND_FLAGS:
		if (has_symbols(field)) {
			append_enum(out, field);
			break;
		}
		/* fall through */
	default:
		append_integer(out, field->size, field->is_signed,
			       field->is_hex || field->kind == RS_KIND_HEX ||
				       field->kind == RS_KIND_POINTER);
	}
	g_string_append_printf(out, " %s%s", underscore(field->name), field->name);
	if (field->kind == RS_KIND_ARRAY)
		g_string_append_printf(out, "[%u]", field->size / field->elem_size);
}

void rs_ctf_event_class(GString *out, const RsTraceEvent *event, guint n_stack)
{
	/* Names of systems and events need no escape: the schema has checked them. */
	g_string_append_printf(out, "\tname = \"%s:%s\";\n\tstream_id = 0;\n", event->system,
			       event->name);
	if (event->level)
		g_string_append_printf(out, "\tloglevel = %u;\n", loglevel(event->level));
	if (n_stack)
		g_string_append_printf(out,
				       "\tcontext := struct {\n\t\tinteger { size = 64; align = 8; "
				       "signed = false; base = 16; } _callstack[%u];\n\t};\n",
				       n_stack);
	g_string_append(out, "\tfields := struct {\n");
	for (guint i = 0; i < event->n_fields; i++) {
		g_string_append(out, "\t\t");
		append_field(out, event, &event->fields[i]);
		g_string_append(out, ";\n");
	}
	g_string_append(out, "\t};\n};\n\n");
}
