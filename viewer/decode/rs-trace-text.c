/* SPDX-License-Identifier: MIT */
#include "rs-trace-text.h"
#include "rs-trace-escape.h"

#include <string.h>

#define COMM_WIDTH 16u

guint64 rs_trace_load_integer(const guint8 *bytes, guint size, gboolean is_signed)
{
	guint64 value = 0;

	switch (size) {
	case 1:
		return is_signed ? (guint64)(gint64)(gint8)bytes[0] : bytes[0];
	case 2:
		memcpy(&value, bytes, 2);
		return is_signed ? (guint64)(gint64)(gint16)value : value;
	case 4:
		memcpy(&value, bytes, 4);
		return is_signed ? (guint64)(gint64)(gint32)value : value;
	default:
		memcpy(&value, bytes, 8);
		return value;
	}
}

gboolean rs_trace_field_bytes(const RsTraceField *field, const guint8 *payload, guint size,
			      const guint8 **bytes, guint *length)
{
	guint32 locator;

	if (field->offset > size || field->size > size - field->offset)
		return FALSE;
	*bytes = payload + field->offset;
	*length = field->size;
	if (field->kind >= RS_KIND_DYN_ARRAY) {
		memcpy(&locator, *bytes, sizeof(locator));
		if ((locator & 0xffff) > size || locator >> 16 > size - (locator & 0xffff))
			return FALSE;
		*bytes = payload + (locator & 0xffff);
		*length = locator >> 16;
	}
	if (field->kind == RS_KIND_STRING || field->kind == RS_KIND_DYN_STRING)
		*length = (guint)strnlen((const char *)*bytes, *length);
	return TRUE;
}

/* Digits of `value`, ending at `end`; returns their start. */
static char *put_decimal(char *end, guint64 value)
{
	do
		*--end = (char)('0' + value % 10);
	while (value /= 10);
	return end;
}

static char *put_based(char *end, guint64 value, guint shift, const char *digits)
{
	do
		*--end = digits[value & ((1u << shift) - 1)];
	while (value >>= shift);
	return end;
}

static void append_decimal(GString *out, guint64 value)
{
	char buffer[24], *end = buffer + sizeof(buffer), *at = put_decimal(end, value);

	g_string_append_len(out, at, end - at);
}

static void append_hex(GString *out, guint64 value)
{
	char buffer[24], *end = buffer + sizeof(buffer);
	char *at = put_based(end, value, 4, "0123456789abcdef");

	*--at = 'x';
	*--at = '0';
	g_string_append_len(out, at, end - at);
}

static void append_fill(GString *out, char c, gsize count)
{
	gsize at = out->len;

	g_string_set_size(out, at + count);
	memset(out->str + at, c, count);
}

/* Sign or prefix, then digits, laid out as printf does. Of 0, a precision of 0 shows no digit. */
static void append_number(GString *out, const RsTracePrintStep *step, const char *prefix,
			  const char *digits, gsize n_digits)
{
	gboolean left = (step->flags & RS_TRACE_PRINT_LEFT) != 0;
	gsize used, zeros, fill;

	if (!step->precision && n_digits == 1 && *digits == '0' &&
	    !(step->conversion == 'o' && (step->flags & RS_TRACE_PRINT_ALT)))
		n_digits = 0;
	zeros = (gsize)MAX(step->precision, (gint)n_digits) - n_digits;
	used = strlen(prefix) + zeros + n_digits;
	fill = MAX((gsize)step->width, used) - used;
	if ((step->flags & RS_TRACE_PRINT_ZERO) && !left && step->precision < 0) {
		zeros += fill;
		fill = 0;
	}
	append_fill(out, ' ', left ? 0 : fill);
	g_string_append(out, prefix);
	append_fill(out, '0', zeros);
	g_string_append_len(out, digits, (gssize)n_digits);
	append_fill(out, ' ', left ? fill : 0);
}

/* The value that an unsigned conversion of C's printf would show for the field's value. */
static guint64 as_unsigned(guint64 value, guint size)
{
	guint bits = MAX(size, 4u) * 8;

	return bits == 64 ? value : value & ((G_GUINT64_CONSTANT(1) << bits) - 1);
}

static gint64 as_signed(guint64 value, guint size)
{
	return size == 4 ? (gint64)(gint32)value : (gint64)value;
}

static void append_signed(GString *out, const RsTracePrintStep *step, gint64 value)
{
	char buffer[24], *end = buffer + sizeof(buffer);
	char *at = put_decimal(end, value < 0 ? -(guint64)value : (guint64)value);
	const char *prefix = "";

	if (value < 0)
		prefix = "-";
	else if (step->flags & RS_TRACE_PRINT_PLUS)
		prefix = "+";
	else if (step->flags & RS_TRACE_PRINT_SPACE)
		prefix = " ";
	append_number(out, step, prefix, at, (gsize)(end - at));
}

static void append_integer(GString *out, const RsTracePrintStep *step, guint64 value)
{
	char buffer[72], *end = buffer + sizeof(buffer), *at;
	const char *prefix = "";
	gboolean alt = (step->flags & RS_TRACE_PRINT_ALT) && value;

	switch (step->conversion) {
	case 'd':
	case 'i':
		append_signed(out, step, as_signed(value, step->field->size));
		return;
	case 'x':
	case 'p':
		at = put_based(end, value, 4, "0123456789abcdef");
		prefix = alt || step->conversion == 'p' ? "0x" : "";
		break;
	case 'X':
		at = put_based(end, value, 4, "0123456789ABCDEF");
		prefix = alt ? "0X" : "";
		break;
	case 'o':
		/* The 0 before an octal number is one of its digits. */
		at = put_based(end, value, 3, "01234567");
		if (alt && step->precision <= end - at)
			*--at = '0';
		break;
	default:
		at = put_decimal(end, value);
	}
	append_number(out, step, prefix, at, (gsize)(end - at));
}

void rs_trace_append_symbols(GString *out, const RsTraceField *field, guint64 value,
			     RsTraceAppendFunc append)
{
	gsize start = out->len;

	for (guint i = 0; i < field->n_symbols; i++) {
		const RsTraceSymbol *symbol = &field->symbols[i];

		if (field->kind == RS_KIND_ENUM) {
			if (symbol->value != value)
				continue;
			append(out, symbol->name, strlen(symbol->name));
			return;
		}
		if (!symbol->value || (value & symbol->value) != symbol->value)
			continue;
		if (out->len != start)
			g_string_append_c(out, '|');
		append(out, symbol->name, strlen(symbol->name));
		value &= ~symbol->value;
	}
	/* Like the kernel's __print_symbolic and __print_flags, show the rest in hex. */
	if (field->kind == RS_KIND_ENUM) {
		append_hex(out, value);
	} else if (value) {
		if (out->len != start)
			g_string_append_c(out, '|');
		append_hex(out, value);
	}
}

static void append_plain(GString *out, const char *text, gsize size)
{
	rs_trace_append_escaped(out, text, size, NULL);
}

/* A page bounds its length. */
static void append_array(GString *out, const RsTraceField *field, const guint8 *bytes, guint length)
{
	g_string_append_c(out, '{');
	for (guint at = 0; length - at >= field->elem_size; at += field->elem_size) {
		guint64 value =
			rs_trace_load_integer(bytes + at, field->elem_size, field->is_signed);

		if (at)
			g_string_append_c(out, ',');
		if (field->is_hex) {
			append_hex(out, rs_trace_load_integer(bytes + at, field->elem_size, FALSE));
		} else {
			if (field->is_signed && (gint64)value < 0) {
				g_string_append_c(out, '-');
				value = -value;
			}
			append_decimal(out, value);
		}
	}
	g_string_append_c(out, '}');
}

/* Integers in decimal or hex, symbols, arrays as {1,2}, strings. `append` gets texts unescaped. */
static void append_field(GString *out, const RsTraceField *field, const guint8 *payload, guint size,
			 RsTraceAppendFunc append)
{
	const guint8 *bytes;
	guint length;
	guint64 value;

	if (!rs_trace_field_bytes(field, payload, size, &bytes, &length)) {
		g_string_append(out, "(cut)");
		return;
	}
	if (field->kind == RS_KIND_STRING || field->kind == RS_KIND_DYN_STRING) {
		append(out, (const char *)bytes, length);
		return;
	}
	if (field->kind >= RS_KIND_ARRAY) {
		append_array(out, field, bytes, length);
		return;
	}
	value = rs_trace_load_integer(bytes, field->size, field->is_signed);
	if (field->kind >= RS_KIND_ENUM) {
		rs_trace_append_symbols(out, field, value, append);
	} else if (field->is_hex) {
		append_hex(out, value);
	} else {
		if (field->is_signed && (gint64)value < 0) {
			g_string_append_c(out, '-');
			value = -value;
		}
		append_decimal(out, value);
	}
}

static void append_raw(GString *out, const char *text, gsize size)
{
	g_string_append_len(out, text, (gssize)size);
}

/* The precision counts bytes of the guest's text, as C does; what is left of it is escaped. */
static void append_cut_field(GString *out, const RsTracePrintStep *step,
			     const RsTraceRecord *record)
{
	g_autoptr(GString) text = g_string_new(NULL);

	append_field(text, step->field, record->payload, record->size, append_raw);
	append_plain(out, text->str, MIN(text->len, (gsize)step->precision));
}

/* %s: the field's text. The width counts the characters that are shown. */
static void append_text(GString *out, const RsTracePrintStep *step, const RsTraceRecord *record)
{
	gsize start = out->len, width = (gsize)step->width, size, fill;

	if (step->precision >= 0)
		append_cut_field(out, step, record);
	else
		append_field(out, step->field, record->payload, record->size, append_plain);
	size = out->len - start;
	fill = width - MIN((gsize)g_utf8_strlen(out->str + start, (gssize)size), width);
	append_fill(out, ' ', fill);
	if (!(step->flags & RS_TRACE_PRINT_LEFT)) {
		memmove(out->str + start + fill, out->str + start, size);
		memset(out->str + start, ' ', fill);
	}
}

static void append_char(GString *out, const RsTracePrintStep *step, guint64 value)
{
	char c = (char)value;
	gsize fill = (gsize)(step->width - (step->width > 0));

	if (!(step->flags & RS_TRACE_PRINT_LEFT))
		append_fill(out, ' ', fill);
	append_plain(out, &c, 1);
	if (step->flags & RS_TRACE_PRINT_LEFT)
		append_fill(out, ' ', fill);
}

static void append_step(GString *out, const RsTracePrintStep *step, const RsTraceRecord *record)
{
	const RsTraceField *field = step->field;
	gboolean is_signed;
	guint64 value;

	if (step->conversion == 's') {
		append_text(out, step, record);
		return;
	}
	if (field->offset > record->size || field->size > record->size - field->offset) {
		g_string_append(out, "(cut)");
		return;
	}
	is_signed = step->conversion == 'd' || step->conversion == 'i';
	value = rs_trace_load_integer(record->payload + field->offset, field->size,
				      field->is_signed);
	if (step->low_bytes)
		value = rs_trace_load_integer((const guint8 *)&value, step->low_bytes, is_signed);
	if (step->conversion == 'c')
		append_char(out, step, value);
	else
		append_integer(out, step, is_signed ? value : as_unsigned(value, field->size));
}

void rs_trace_text_message(GString *out, const RsTraceRecord *record)
{
	const RsTraceEvent *event = record->event;
	gsize start = out->len;

	if (!event) {
		g_string_append_printf(out, "(unknown event, %u bytes)", record->size);
		return;
	}
	for (guint i = 0; i < event->n_steps; i++) {
		const RsTracePrintStep *step = &event->steps[i];

		g_string_append_len(out, step->literal, step->literal_size);
		if (step->field)
			append_step(out, step, record);
		if (out->len - start > RS_TRACE_TEXT_MAX) {
			gsize end = start + RS_TRACE_TEXT_MAX;

			/* Do not cut in the middle of a character. */
			while (end > start && ((guchar)out->str[end] & 0xc0) == 0x80)
				end--;
			g_string_truncate(out, end);
			g_string_append(out, "...");
			break;
		}
	}
	if (record->cut)
		g_string_append(out, " (cut)");
}

void rs_trace_text_flags(guint context, char out[5])
{
	guint preempt = context >> RS_CTX_PREEMPT_SHIFT & RS_CTX_PREEMPT_MAX;
	guint migrate = context >> RS_CTX_MIGRATE_SHIFT & RS_CTX_MIGRATE_MAX;
	gboolean hard = (context & RS_CTX_HARDIRQ) != 0, soft = (context & RS_CTX_SOFTIRQ) != 0;

	out[0] = context & RS_CTX_IRQS_OFF ? 'd' : '.';
	out[1] = context & RS_CTX_NEED_RESCHED ? 'n' : '.';
	if (context & RS_CTX_NMI)
		out[2] = hard ? 'Z' : 'z';
	else if (hard)
		out[2] = soft ? 'H' : 'h';
	else
		out[2] = soft ? 's' : '.';
	out[3] = preempt ? "0123456789abcdef"[preempt] : '.';
	out[4] = migrate ? (char)('0' + migrate) : '.';
}

void rs_trace_text_header(GString *out, guint64 entries, guint64 written, guint cpus)
{
	g_string_append_printf(out,
			       "# tracer: nop\n#\n"
			       "# entries-in-buffer/entries-written: %" G_GUINT64_FORMAT
			       "/%" G_GUINT64_FORMAT "   #P:%u\n#\n"
			       "#                                _-----=> irqs-off\n"
			       "#                               / _----=> need-resched\n"
			       "#                              | / _---=> hardirq/softirq\n"
			       "#                              || / _--=> preempt-depth\n"
			       "#                              ||| / _-=> migrate-disable\n"
			       "#                              |||| /     delay\n"
			       "#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n"
			       "#              | |         |   |||||     |         |\n",
			       entries, written, cpus);
}

/* "[003]", with more digits if the number needs them. */
static char *put_padded(char *end, guint64 value, guint width, char fill)
{
	char *at = put_decimal(end, value);

	while ((guint)(end - at) < width)
		*--at = fill;
	return at;
}

/* Right-aligned, like ftrace. */
static void append_comm(GString *out, const char *comm)
{
	gsize start = out->len, length = strlen(comm);

	append_fill(out, ' ', length < COMM_WIDTH ? COMM_WIDTH - length : 0);
	append_plain(out, comm, length);
	/* Escapes made the name longer, so take away as many blanks. */
	if (out->len - start > COMM_WIDTH && length < COMM_WIDTH)
		g_string_erase(out, (gssize)start,
			       (gssize)MIN(out->len - start - COMM_WIDTH, COMM_WIDTH - length));
}

static void append_source(GString *out, const char *source)
{
	if (!source)
		return;
	g_string_append(out, source);
	g_string_append_c(out, '/');
}

/* "system:event: ". Names are shorter than RS_NAME_MAX. */
static void append_name(GString *out, const RsTraceRecord *record, RsTraceTextStyle style)
{
	char name[2 * RS_NAME_MAX + 4], *at = name;

	if (!record->event) {
		g_string_append_printf(out, "#%u: ", record->id);
		return;
	}
	if (!(style & RS_TRACE_TEXT_SHORT)) {
		at = g_stpcpy(at, record->event->system);
		*at++ = ':';
	}
	at = g_stpcpy(at, record->event->name);
	*at++ = ':';
	*at++ = ' ';
	g_string_append_len(out, name, at - name);
}

void rs_trace_text_line(GString *out, const RsTraceRecord *record, const RsTraceTask *task,
			const char *source, RsTraceTextStyle style)
{
	char buffer[96], *end = buffer + sizeof(buffer), *at = end;

	if (record->kind == RS_TRACE_RECORD_BOOT) {
		g_string_append_printf(
			out, "[BOOT %u%s%s AT %" G_GUINT64_FORMAT ".%06" G_GUINT64_FORMAT "]\n",
			record->when.boot, source ? " OF " : "", source ? source : "",
			record->ns / 1000000000, record->ns / 1000 % 1000000);
		return;
	}
	if (record->kind == RS_TRACE_RECORD_LOSS) {
		append_source(out, source);
		g_string_append_printf(out, "CPU:%u [LOST %" G_GUINT64_FORMAT " EVENTS]\n",
				       record->ring, record->lost);
		return;
	}
	append_comm(out, task->comm);

	/* From the right: "-PID     [CPU] FLAGS  SEC.USEC: " */
	*--at = ' ';
	*--at = ':';
	at = put_padded(at, record->ns / 1000 % 1000000, 6, '0');
	*--at = '.';
	at = put_padded(at, record->ns / 1000000000, 5, ' ');
	*--at = ' ';
	at -= 5;
	rs_trace_text_flags(record->context, at);
	*--at = ' ';
	*--at = ']';
	at = put_padded(at, record->ring, 3, '0');
	*--at = '[';
	*--at = ' ';
	char pid[12], *pid_end = pid + sizeof(pid), *pid_at = put_decimal(pid_end, record->pid);
	for (gsize n = (gsize)(pid_end - pid_at); n < 7; n++)
		*--at = ' ';
	at -= pid_end - pid_at;
	memcpy(at, pid_at, (gsize)(pid_end - pid_at));
	*--at = '-';
	g_string_append_len(out, at, end - at);

	append_source(out, source);
	append_name(out, record, style);
	rs_trace_text_message(out, record);
	g_string_append_c(out, '\n');
}
