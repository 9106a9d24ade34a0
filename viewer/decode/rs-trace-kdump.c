/* SPDX-License-Identifier: MIT */
#include "rs-trace-kdump-private.h"

#include "rs-trace-escape.h"
#include "rs-trace-text.h"

#include <ringside/facility.h>
#include <string.h>

#define LINUX_RESTARTSYS 512

typedef gboolean (*Show)(const RsTraceKdump *kdump, GString *out, const RsTraceRecord *record);

/* ---- fields ---- */

static gboolean get_bytes(const RsTraceRecord *record, const char *name, const guint8 **bytes,
			  guint *size)
{
	const RsTraceField *field = rs_trace_event_field(record->event, name);

	if (!field || field->kind < RS_KIND_ARRAY)
		return FALSE;
	return rs_trace_field_bytes(field, record->payload, record->size, bytes, size);
}

static gboolean get_int(const RsTraceRecord *record, const char *name, gint64 *value)
{
	const RsTraceField *field = rs_trace_event_field(record->event, name);
	const guint8 *bytes;
	guint size;

	if (!field || field->kind >= RS_KIND_ARRAY ||
	    !rs_trace_field_bytes(field, record->payload, record->size, &bytes, &size))
		return FALSE;
	*value = (gint64)rs_trace_load_integer(bytes, field->size, field->is_signed);
	return TRUE;
}

/* ---- one function for each kind of record; FALSE: a field is missing ---- */

/* A value or address: hexadecimal unless -d. */
static void append_number(GString *out, const RsTraceKdumpOptions *options, gint64 value)
{
	if (options->decimal)
		g_string_append_printf(out, "%" G_GINT64_FORMAT, value);
	else
		g_string_append_printf(out, "%#" G_GINT64_MODIFIER "x", (guint64)value);
}

static void append_call(GString *out, const RsTraceKdumpOptions *options, gint64 code)
{
	const char *name = NULL;

	if (options->call_name)
		name = options->call_name(code, options->data);
	if (name)
		rs_trace_append_escaped(out, name, strlen(name), NULL);
	else
		g_string_append_printf(out, "[%" G_GINT64_FORMAT "]", code);
}

static gboolean show_call(const RsTraceKdump *kdump, GString *out, const RsTraceRecord *record)
{
	gint64 code, argsize;
	const guint8 *args;
	guint size;

	if (!get_int(record, "code", &code) || !get_int(record, "argsize", &argsize) ||
	    !get_bytes(record, "args", &args, &size))
		return FALSE;
	append_call(out, &kdump->options, code);
	g_string_append_c(out, '(');
	for (guint at = 0; size - at >= 8; at += 8) {
		if (at)
			g_string_append_c(out, ',');
		append_number(out, &kdump->options,
			      (gint64)rs_trace_load_integer(args + at, 8, FALSE));
	}
	if ((guint64)argsize > size)
		g_string_append(out, size ? ",..." : "...");
	g_string_append(out, ")\n");
	return TRUE;
}

static gboolean show_ret(const RsTraceKdump *kdump, GString *out, const RsTraceRecord *record)
{
	const RsTraceKdumpOptions *options = &kdump->options;
	gint64 code, error, value;

	if (!get_int(record, "code", &code) || !get_int(record, "error", &error) ||
	    !get_int(record, "retval", &value))
		return FALSE;
	append_call(out, options, code);
	g_string_append_c(out, ' ');
	if (error == RS_KTR_RESTART || error == LINUX_RESTARTSYS) {
		g_string_append(out, "RESTART");
	} else if (error == RS_KTR_JUSTRETURN) {
		g_string_append(out, "JUSTRETURN");
	} else if (error) {
		g_string_append(out, "-1");
		rs_trace_kdump_errno(out, options, error);
	} else if (options->plain) {
		append_number(out, options, value);
	} else {
		g_string_append_printf(out, "%" G_GINT64_FORMAT, value);
		if ((value < 0 || value > 9) && !options->decimal)
			g_string_append_printf(out, "/%#" G_GINT64_MODIFIER "x", (guint64)value);
	}
	g_string_append_c(out, '\n');
	return TRUE;
}

/* A path or name in quotes. What was cut shows, as the record has the whole length. */
static gboolean show_text(GString *out, const RsTraceRecord *record, const char *name)
{
	gint64 length;
	const guint8 *bytes;
	guint size;

	if (!get_int(record, "length", &length) || !get_bytes(record, name, &bytes, &size))
		return FALSE;
	rs_trace_kdump_quote(out, bytes, size);
	if ((guint64)length > size)
		g_string_append_printf(out, "... (%" G_GUINT64_FORMAT " bytes)", (guint64)length);
	g_string_append_c(out, '\n');
	return TRUE;
}

static gboolean show_namei(const RsTraceKdump *kdump, GString *out, const RsTraceRecord *record)
{
	return show_text(out, record, "path");
}

static gboolean show_emul(const RsTraceKdump *kdump, GString *out, const RsTraceRecord *record)
{
	return show_text(out, record, "name");
}

static gboolean show_genio(const RsTraceKdump *kdump, GString *out, const RsTraceRecord *record)
{
	gint64 fd, rw, error, length, offset;
	const guint8 *data;
	guint size;

	if (!get_int(record, "fd", &fd) || !get_int(record, "rw", &rw) ||
	    !get_int(record, "error", &error) || !get_int(record, "length", &length) ||
	    !get_int(record, "offset", &offset) || !get_bytes(record, "data", &data, &size))
		return FALSE;
	g_string_append_printf(out, "fd %" G_GINT64_FORMAT " %s", fd, rw ? "wrote" : "read");
	if (error) {
		rs_trace_kdump_errno(out, &kdump->options, error);
		g_string_append_c(out, '\n');
		return TRUE;
	}
	g_string_append_printf(out, " %u bytes", size);
	if (offset || (guint64)length != size)
		g_string_append_printf(out, " at %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT, offset,
				       length);
	g_string_append_c(out, '\n');
	rs_trace_kdump_data(out, &kdump->options, data, size);
	return TRUE;
}

static void append_named(GString *out, const RsTraceKdump *kdump, const RsTraceRecord *record,
			 const char *field, const char *shown)
{
	gint64 value;

	if (!get_int(record, field, &value) || !value)
		return;
	g_string_append_printf(out, " %s=", shown);
	if (rs_trace_event_field(record->event, field)->kind == RS_KIND_HEX)
		append_number(out, &kdump->options, value);
	else
		g_string_append_printf(out, "%" G_GINT64_FORMAT, value);
}

static gboolean show_psig(const RsTraceKdump *kdump, GString *out, const RsTraceRecord *record)
{
	static const char *const known[] = {" SIG_ERR", " SIG_DFL", " SIG_IGN"};
	gint64 number, action, mask, code, has_info;

	if (!get_int(record, "signo", &number) || !get_int(record, "action", &action) ||
	    !get_int(record, "mask", &mask) || !get_int(record, "code", &code) ||
	    !get_int(record, "has_info", &has_info))
		return FALSE;
	rs_trace_kdump_signal(out, number);
	if (action >= -1 && action <= 1) {
		g_string_append(out, known[action + 1]);
	} else {
		g_string_append(out, " caught handler=");
		append_number(out, &kdump->options, action);
	}
	g_string_append(out, " mask=");
	append_number(out, &kdump->options, mask);
	g_string_append_printf(out, " code=%" G_GINT64_FORMAT, code);
	if (has_info) {
		gint64 si_code;

		if (get_int(record, "si_code", &si_code))
			g_string_append_printf(out, " si_code=%" G_GINT64_FORMAT, si_code);
		append_named(out, kdump, record, "si_errno", "errno");
		append_named(out, kdump, record, "si_pid", "pid");
		append_named(out, kdump, record, "si_uid", "uid");
		append_named(out, kdump, record, "si_status", "status");
		append_named(out, kdump, record, "addr", "addr");
		append_named(out, kdump, record, "value", "value");
	}
	g_string_append_c(out, '\n');
	return TRUE;
}

static gboolean show_csw(const RsTraceKdump *kdump, GString *out, const RsTraceRecord *record)
{
	gint64 waits, user;

	if (!get_int(record, "out", &waits) || !get_int(record, "user", &user))
		return FALSE;
	g_string_append_printf(out, "%s %s\n", waits ? "stop" : "resume", user ? "user" : "kernel");
	return TRUE;
}

/* `name`, its bytes, and the block of data. */
static gboolean show_data(const RsTraceKdump *kdump, GString *out, const RsTraceRecord *record,
			  const char *what, const char *field)
{
	RsTraceKdumpOptions options = kdump->options;
	const guint8 *name, *data;
	guint name_size, size;
	gint64 length;

	if (!get_int(record, "length", &length) || !get_bytes(record, field, &name, &name_size) ||
	    !get_bytes(record, "data", &data, &size))
		return FALSE;
	g_string_append(out, what);
	rs_trace_kdump_quote(out, name, name_size);
	g_string_append_printf(out, " %u bytes", size);
	if ((guint64)length != size)
		g_string_append_printf(out, " of %" G_GUINT64_FORMAT, (guint64)length);
	g_string_append_c(out, '\n');
	if (*what && !options.hex_ascii)
		options.hex = TRUE; /* a structure is no text */
	rs_trace_kdump_data(out, &options, data, size);
	return TRUE;
}

static gboolean show_struct(const RsTraceKdump *kdump, GString *out, const RsTraceRecord *record)
{
	return show_data(kdump, out, record, "struct ", "name");
}

static gboolean show_user(const RsTraceKdump *kdump, GString *out, const RsTraceRecord *record)
{
	return show_data(kdump, out, record, "", "label");
}

static gboolean show_exec(const RsTraceKdump *kdump, GString *out, const RsTraceRecord *record)
{
	const guint8 *data;
	guint size;
	gint64 length;

	if (!get_int(record, "length", &length) || !get_bytes(record, "data", &data, &size))
		return FALSE;
	g_string_append_printf(out, "%" G_GUINT64_FORMAT " bytes\n", (guint64)length);
	rs_trace_kdump_strings(out, data, size, (guint64)length);
	return TRUE;
}

/* ---- which record, and its header ---- */

static const struct {
	const char *event, *type;
	char letter;
	Show show;
} kinds[] = {
	{"syscall", "CALL", 'c', show_call}, {"sysret", "RET", 'c', show_ret},
	{"namei", "NAMI", 'n', show_namei},  {"genio", "GIO", 'i', show_genio},
	{"psig", "PSIG", 's', show_psig},    {"csw", "CSW", 'w', show_csw},
	{"emul", "EMUL", 'e', show_emul},    {"struct", "STRU", 't', show_struct},
	{"user", "USER", 'u', show_user},    {"execargs", "ARGS", 'x', show_exec},
	{"execenv", "ENV", 'X', show_exec},
};

#define ALL ((1u << G_N_ELEMENTS(kinds)) - 1)
#define NOTHING (1u << 31) /* with letters: 0 would be the default */

static guint32 points_of(char letter)
{
	guint32 points = 0;

	for (guint i = 0; i < G_N_ELEMENTS(kinds); i++)
		if (kinds[i].letter == letter)
			points |= 1u << i;
	return points;
}

const char *rs_trace_kdump_points(const char *letters, guint32 *points)
{
	guint32 all = NOTHING;

	for (const char *at = letters; *at || at == letters; at++) {
		if (*at == '+')
			all |= ALL & ~points_of('X');
		else if (points_of(*at))
			all |= points_of(*at);
		else if (*at != 'p')
			return at;
	}
	*points = all;
	return NULL;
}

void rs_trace_kdump_init(RsTraceKdump *kdump, const RsTraceKdumpOptions *options)
{
	*kdump = (RsTraceKdump){.options = *options};
	if (!options->points)
		kdump->options.points = ALL & ~points_of('X');
}

static guint32 process_of(const RsTraceRecord *record, const RsTraceTask *task)
{
	if (record->tgid)
		return record->tgid;
	return task->tgid ? task->tgid : record->pid;
}

static void append_time(GString *out, RsTraceKdump *kdump, guint64 ns)
{
	const RsTraceKdumpOptions *options = &kdump->options;
	guint64 from = 0, passed;

	if (!kdump->began)
		kdump->first_ns = kdump->last_ns = ns;
	kdump->began = TRUE;
	if (options->relative)
		from = options->absolute ? kdump->first_ns : kdump->last_ns;
	kdump->last_ns = ns;
	if (!options->relative && !options->absolute)
		return;
	passed = ns > from ? (ns - from) / 1000 : 0;
	g_string_append_printf(out, "%" G_GUINT64_FORMAT ".%06" G_GUINT64_FORMAT " ",
			       passed / 1000000, passed % 1000000);
}

static void append_header(GString *out, RsTraceKdump *kdump, const RsTraceRecord *record,
			  const RsTraceTask *task, const char *source, const char *type)
{
	g_autofree char *comm = rs_trace_escape(task->comm, -1, NULL);

	if (source)
		g_string_append_printf(out, "%s/", source);
	g_string_append_printf(out, "%6u", process_of(record, task));
	if (kdump->options.threads)
		g_string_append_printf(out, "/%-7u", record->pid);
	g_string_append_printf(out, " %s", comm);
	for (glong n = g_utf8_strlen(comm, -1); n < 8; n++)
		g_string_append_c(out, ' ');
	g_string_append_c(out, ' ');
	append_time(out, kdump, record->ns);
	g_string_append_printf(out, "%-4s  ", type);
}

/* -u: the data alone. */
/* Whether a user record has the label that is asked for. */
static gboolean is_labelled(const RsTraceKdump *kdump, const RsTraceRecord *record)
{
	const char *wanted = kdump->options.label;
	const guint8 *label;
	guint size;

	return get_bytes(record, "label", &label, &size) && size == strlen(wanted) &&
	       !memcmp(label, wanted, size);
}

/* The record's kind. FALSE: it is none of ktrace, or is not to be shown. */
static gboolean choose(const RsTraceKdump *kdump, const RsTraceRecord *record,
		       const RsTraceTask *task, guint *kind)
{
	const RsTraceKdumpOptions *options = &kdump->options;

	if (!record->event || strcmp(record->event->system, "ktrace") ||
	    (options->pid && process_of(record, task) != options->pid))
		return FALSE;
	for (*kind = 0; *kind < G_N_ELEMENTS(kinds); ++*kind)
		if (!strcmp(record->event->name, kinds[*kind].event))
			break;
	if (*kind == G_N_ELEMENTS(kinds))
		return FALSE;
	return options->label ? kinds[*kind].letter == 'u' && is_labelled(kdump, record)
			      : (options->points & 1u << *kind) != 0;
}

gboolean rs_trace_kdump_wants(const RsTraceKdump *kdump, const RsTraceRecord *record,
			      const RsTraceTask *task)
{
	guint kind;

	return record->kind == RS_TRACE_RECORD_EVENT ? choose(kdump, record, task, &kind)
						     : !kdump->options.label;
}

static void append_labelled(GString *out, const RsTraceKdump *kdump, const RsTraceRecord *record)
{
	const guint8 *data;
	guint size;

	if (!get_bytes(record, "data", &data, &size))
		return;
	size = (guint)MIN((guint64)size, kdump->options.max_data);
	rs_trace_append_escaped(out, (const char *)data, size, "\n\t");
	if (!size || data[size - 1] != '\n')
		g_string_append_c(out, '\n');
}

void rs_trace_kdump_record(RsTraceKdump *kdump, GString *out, const RsTraceRecord *record,
			   const RsTraceTask *task, RsTraceTextStyle style)
{
	guint kind;
	gsize start;

	if (record->kind != RS_TRACE_RECORD_EVENT) {
		if (!kdump->options.label)
			rs_trace_text_line(out, record, task, style);
		return;
	}
	if (!choose(kdump, record, task, &kind))
		return;
	if (kdump->options.label) {
		append_labelled(out, kdump, record);
		return;
	}
	append_header(out, kdump, record, task, rs_trace_text_source(record, style),
		      kinds[kind].type);
	start = out->len;
	if (kinds[kind].show(kdump, out, record))
		return;
	g_string_truncate(out, start);
	rs_trace_text_message(out, record);
	g_string_append_c(out, '\n');
}
