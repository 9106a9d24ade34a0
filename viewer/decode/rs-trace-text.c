/* SPDX-License-Identifier: MIT */
#include "rs-trace-text.h"
#include "rs-trace-append-private.h"
#include "rs-trace-escape.h"
#include "rs-trace-stack.h"

#include <string.h>

#define COMM_WIDTH 16u

/* Colours of a terminal (SGR). All else of a line has none, and texts of a guest are escaped. */
#define TASK_COLOR "\033[32m"
#define EVENT_COLOR "\033[1;36m"
#define LOSS_COLOR "\033[1;31m"
#define BOOT_COLOR "\033[1;33m"
#define NO_COLOR "\033[0m"

static void paint(GString *out, RsTraceTextStyle style, const char *color)
{
	if (style & RS_TRACE_TEXT_COLOR)
		rs_append_text(out, color);
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
	rs_append_fill(out, ' ', left ? 0 : fill);
	rs_append_text(out, prefix);
	rs_append_fill(out, '0', zeros);
	rs_append_bytes(out, digits, n_digits);
	rs_append_fill(out, ' ', left ? fill : 0);
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
	char digits[RS_APPEND_DIGITS];
	char *end = rs_put_decimal(digits, value < 0 ? -(guint64)value : (guint64)value);
	const char *prefix = "";

	if (value < 0)
		prefix = "-";
	else if (step->flags & RS_TRACE_PRINT_PLUS)
		prefix = "+";
	else if (step->flags & RS_TRACE_PRINT_SPACE)
		prefix = " ";
	append_number(out, step, prefix, digits, (gsize)(end - digits));
}

static void append_unsigned(GString *out, const RsTracePrintStep *step, guint64 value)
{
	char digits[24]; /* 22 of an octal number, and its 0 */
	char *at = digits + 1, *end;
	const char *prefix = "";
	gboolean alt = (step->flags & RS_TRACE_PRINT_ALT) && value;

	switch (step->conversion) {
	case 'x':
	case 'p':
		end = rs_put_based(at, value, 4, "0123456789abcdef");
		prefix = alt || step->conversion == 'p' ? "0x" : "";
		break;
	case 'X':
		end = rs_put_based(at, value, 4, "0123456789ABCDEF");
		prefix = alt ? "0X" : "";
		break;
	case 'o':
		/* The 0 before an octal number is one of its digits. */
		end = rs_put_based(at, value, 3, "01234567");
		if (alt && step->precision <= end - at)
			*--at = '0';
		break;
	default:
		end = rs_put_decimal(at, value);
	}
	append_number(out, step, prefix, at, (gsize)(end - at));
}

/* Nothing but the digits is wanted. */
static gboolean is_bare(const RsTracePrintStep *step)
{
	return !step->width && !step->flags && step->precision < 0;
}

static void append_integer(GString *out, const RsTracePrintStep *step, guint64 value)
{
	guint size = step->field->size;

	if (step->conversion == 'd' || step->conversion == 'i') {
		if (is_bare(step))
			rs_append_signed(out, as_signed(value, size));
		else
			append_signed(out, step, as_signed(value, size));
		return;
	}
	value = as_unsigned(value, size);
	if (step->conversion == 'u' && is_bare(step))
		rs_append_decimal(out, value);
	else
		append_unsigned(out, step, value);
}

static void append_plain(GString *out, const char *text, gsize size)
{
	rs_trace_append_escaped(out, text, size, NULL);
}

static void append_raw(GString *out, const char *text, gsize size)
{
	g_string_append_len(out, text, (gssize)size);
}

/* The precision counts bytes of the guest's text, as C does; what is left of it is escaped. */
static void append_cut_field(GString *out, const RsTracePrintStep *step,
			     const RsTraceRecord *record)
{
	const gsize start = out->len;
	char text[RS_TRACE_PRINT_WIDTH_MAX];
	gsize size;

	rs_trace_append_field(out, step->field, record->payload, record->size, append_raw);
	size = MIN(out->len - start, MIN((gsize)step->precision, sizeof(text)));
	memcpy(text, out->str + start, size);
	g_string_truncate(out, start);
	append_plain(out, text, size);
}

/* Pads what was appended since `start`. The width counts the characters that are shown. */
static void lay_out(GString *out, gsize start, const RsTracePrintStep *step)
{
	gsize size = out->len - start, width = (gsize)step->width;
	gsize fill = width - MIN((gsize)g_utf8_strlen(out->str + start, (gssize)size), width);

	rs_append_fill(out, ' ', fill);
	if (step->flags & RS_TRACE_PRINT_LEFT)
		return;
	memmove(out->str + start + fill, out->str + start, size);
	memset(out->str + start, ' ', fill);
}

/* %s: the field's text. */
static void append_text(GString *out, const RsTracePrintStep *step, const RsTraceRecord *record)
{
	gsize start = out->len;

	if (step->precision >= 0)
		append_cut_field(out, step, record);
	else
		rs_trace_append_field(out, step->field, record->payload, record->size,
				      append_plain);
	if (step->width)
		lay_out(out, start, step);
}

static void append_char(GString *out, const RsTracePrintStep *step, guint64 value)
{
	char c = (char)value;
	gsize fill = (gsize)(step->width - (step->width > 0));

	if (!(step->flags & RS_TRACE_PRINT_LEFT))
		rs_append_fill(out, ' ', fill);
	append_plain(out, &c, 1);
	if (step->flags & RS_TRACE_PRINT_LEFT)
		rs_append_fill(out, ' ', fill);
}

static gboolean is_address(const RsTracePrintStep *step)
{
	return step->field->size == 8 &&
	       (step->conversion == 'p' || step->field->kind == RS_KIND_POINTER);
}

/* "schedule+0x12" in place of an address. FALSE: it lies in no known symbol. */
static gboolean append_symbol(GString *out, const RsTracePrintStep *step,
			      const RsTraceRecord *record, guint64 address)
{
	gsize start = out->len;

	if (!rs_trace_symbols_append(record->symbols, record->when, address, append_plain, out))
		return FALSE;
	lay_out(out, start, step);
	return TRUE;
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
	if (record->symbols && is_address(step) && append_symbol(out, step, record, value))
		return;
	if (step->conversion == 'c')
		append_char(out, step, value);
	else
		append_integer(out, step, value);
}

void rs_trace_text_message(GString *out, const RsTraceRecord *record)
{
	const RsTraceEvent *event = record->event;
	gsize start = out->len;

	if (!event) {
		rs_append_text(out, "(unknown event, ");
		rs_append_decimal(out, record->size);
		rs_append_text(out, " bytes)");
		return;
	}
	for (guint i = 0; i < event->n_steps; i++) {
		const RsTracePrintStep *step = &event->steps[i];

		rs_append_bytes(out, step->literal, step->literal_size);
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
	g_string_append(out, "# tracer: nop\n#\n");
	if (written)
		g_string_append_printf(out,
				       "# entries-in-buffer/entries-written: %" G_GUINT64_FORMAT
				       "/%" G_GUINT64_FORMAT "   #P:%u\n#\n",
				       entries, written, cpus);
	else
		g_string_append_printf(out, "# CPUs: %u\n#\n", cpus);
	g_string_append(out, "#                                _-----=> irqs-off\n"
			     "#                               / _----=> need-resched\n"
			     "#                              | / _---=> hardirq/softirq\n"
			     "#                              || / _--=> preempt-depth\n"
			     "#                              ||| / _-=> migrate-disable\n"
			     "#                              |||| /     delay\n"
			     "#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n"
			     "#              | |         |   |||||     |         |\n");
}

/* With blanks or zeros before it, or more digits if it needs them. */
static char *put_padded(char *at, guint64 value, guint width, char fill)
{
	guint n = rs_count_digits(value);

	for (; width > n; width--)
		*at++ = fill;
	rs_put_digits(at, n, value);
	return at + n;
}

/* "SEC.PART". `second`: how many units of `time` it has. */
static inline char *put_seconds(char *at, guint64 time, guint64 second, guint digits)
{
	at = put_padded(at, time / second, 5, ' ');
	*at++ = '.';
	rs_put_digits(at, digits, time % second);
	return at + digits;
}

/* Microseconds are rounded, as ftrace and trace-cmd do. */
static char *put_time(char *at, guint64 ns, RsTraceTextStyle style)
{
	if (style & RS_TRACE_TEXT_NS)
		return put_seconds(at, ns, 1000000000, 9);
	return put_seconds(at, ns / 1000 + (ns % 1000 >= 500), 1000000, 6);
}

/* Right-aligned, like ftrace. */
static void append_comm(GString *out, const char *comm)
{
	static const char blanks[] = "                ";
	gsize start = out->len, length = strlen(comm);

	G_STATIC_ASSERT(sizeof(blanks) - 1 == COMM_WIDTH);
	rs_append_bytes(out, blanks, length < COMM_WIDTH ? COMM_WIDTH - length : 0);
	append_plain(out, comm, length);
	/* Escapes made the name longer, so take away as many blanks. */
	if (out->len - start > COMM_WIDTH && length < COMM_WIDTH)
		g_string_erase(out, (gssize)start,
			       (gssize)MIN(out->len - start - COMM_WIDTH, COMM_WIDTH - length));
}

/* "-PID     [CPU] FLAGS  TIME: " */
static void append_head(GString *out, const RsTraceRecord *record, RsTraceTextStyle style,
			const char *time)
{
	gsize size = time ? strlen(time) : 0;
	char *at = rs_append_room(out, 96 + size), *start;

	*at++ = '-';
	start = at;
	at = rs_put_decimal(at, record->pid);
	while (at < start + 7)
		*at++ = ' ';
	at = rs_put_bytes(at, " [", 2);
	at = put_padded(at, record->ring, 3, '0');
	at = rs_put_bytes(at, "] ", 2);
	rs_trace_text_flags(record->context, at);
	at += 5;
	*at++ = ' ';
	if (time)
		at = rs_put_bytes(at, time, size);
	else
		at = put_time(at, record->ns, style);
	rs_append_done(out, rs_put_bytes(at, ": ", 2));
}

const char *rs_trace_text_source(const RsTraceRecord *record, RsTraceTextStyle style)
{
	return style & RS_TRACE_TEXT_SOURCE && record->origin ? record->origin->escaped : NULL;
}

static void append_source(GString *out, const char *source)
{
	if (!source)
		return;
	rs_append_text(out, source);
	rs_append_char(out, '/');
}

/* "system:event: ". Names are shorter than RS_NAME_MAX. */
static void append_name(GString *out, const RsTraceRecord *record, RsTraceTextStyle style)
{
	char *at;

	if (!record->event) {
		rs_append_char(out, '#');
		rs_append_decimal(out, record->id);
		rs_append_text(out, ": ");
		return;
	}
	at = rs_append_room(out, 2 * RS_NAME_MAX + 4);
	if (!(style & RS_TRACE_TEXT_SHORT)) {
		at = g_stpcpy(at, record->event->system);
		*at++ = ':';
	}
	at = g_stpcpy(at, record->event->name);
	*at++ = ':';
	*at++ = ' ';
	rs_append_done(out, at);
}

static void append_boot(GString *out, const RsTraceRecord *record, const char *source,
			RsTraceTextStyle style, const char *time)
{
	char own[2 * RS_APPEND_DIGITS];

	*put_time(own, record->ns, style) = 0;
	time = time ? time : own;
	paint(out, style, BOOT_COLOR);
	g_string_append_printf(out, "[BOOT %u%s%s AT %s]", record->when.boot, source ? " OF " : "",
			       source ? source : "", time + strspn(time, " "));
	paint(out, style, NO_COLOR);
	rs_append_char(out, '\n');
}

static void append_loss(GString *out, const RsTraceRecord *record, const char *source,
			RsTraceTextStyle style)
{
	paint(out, style, LOSS_COLOR);
	append_source(out, source);
	g_string_append_printf(out, "CPU:%u [LOST %" G_GUINT64_FORMAT " EVENTS]", record->ring,
			       record->lost);
	paint(out, style, NO_COLOR);
	rs_append_char(out, '\n');
}

void rs_trace_text_line(GString *out, const RsTraceRecord *record, const RsTraceTask *task,
			RsTraceTextStyle style)
{
	rs_trace_text_line_at(out, record, task, style, NULL);
}

void rs_trace_text_line_at(GString *out, const RsTraceRecord *record, const RsTraceTask *task,
			   RsTraceTextStyle style, const char *time)
{
	const char *source = rs_trace_text_source(record, style);

	if (record->kind == RS_TRACE_RECORD_BOOT) {
		append_boot(out, record, source, style, time);
		return;
	}
	if (record->kind == RS_TRACE_RECORD_LOSS) {
		append_loss(out, record, source, style);
		return;
	}
	paint(out, style, TASK_COLOR);
	append_comm(out, task->comm);
	paint(out, style, NO_COLOR);
	append_head(out, record, style, time);
	paint(out, style, EVENT_COLOR);
	append_source(out, source);
	append_name(out, record, style);
	paint(out, style, NO_COLOR);
	if (style & RS_TRACE_TEXT_RAW)
		rs_trace_text_raw(out, record);
	else
		rs_trace_text_message(out, record);
	rs_append_char(out, '\n');
	if (record->n_stack)
		rs_trace_stack_text(out, record);
}
