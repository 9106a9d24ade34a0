/* SPDX-License-Identifier: MIT */
#include "text.h"
#include "escape.h"
#include "print.h"

/* The payload that is shown. */
struct payload {
	const uint8_t *bytes;
	uint32_t size;
};

/* ---- fields ---- */

/* An integer of 1, 2, 4 or 8 bytes at any address. */
static uint64_t load(const uint8_t *bytes, uint32_t size, bool is_signed)
{
	uint32_t unused = 64 - 8 * size;
	uint64_t value = 0;

	for (uint32_t i = 0; i < size; i++)
		value |= (uint64_t)bytes[i] << (8 * i);
	if (is_signed)
		return (uint64_t)((int64_t)(value << unused) >> unused);
	return value;
}

static uint32_t text_length(const uint8_t *bytes, uint32_t size)
{
	uint32_t n = 0;

	while (n < size && bytes[n])
		n++;
	return n;
}

static bool lies_inside(const struct payload *payload, uint32_t offset, uint32_t size)
{
	return offset <= payload->size && size <= payload->size - offset;
}

/*
 * Its own bytes, or those that its locator names. False: they do not lie inside. *cut: they are
 * only its front.
 */
static bool find_bytes(const struct rs_field_info *field, const struct payload *payload,
		       const uint8_t **bytes, uint32_t *length, bool *cut)
{
	uint32_t offset = field->offset, size = field->size;

	*cut = false;
	if (!lies_inside(payload, offset, size))
		return false;
	if (field->kind >= RS_KIND_DYN_ARRAY) {
		uint32_t locator = (uint32_t)load(payload->bytes + offset, 4, false);

		offset = rs_locator_offset(locator);
		size = rs_locator_length(locator);
		if (!lies_inside(payload, offset, size))
			return false;
		*cut = locator & RS_LOCATOR_CUT;
	}
	*bytes = payload->bytes + offset;
	*length = rs_field_is_text(field) ? text_length(*bytes, size) : size;
	return true;
}

static void put_integer(struct rs_out *out, uint64_t value, bool is_signed)
{
	if (is_signed && (int64_t)value < 0) {
		rs_put(out, '-');
		value = -value;
	}
	rs_put_number(out, value, 0, ' ');
}

static void put_array(struct rs_out *out, const struct rs_field_info *field, const uint8_t *bytes,
		      uint32_t length, bool cut)
{
	bool is_hex = rs_field_is_hex(field), is_signed = rs_field_is_signed(field) && !is_hex;
	uint32_t size = field->elem_size;

	rs_put(out, '{');
	for (uint32_t at = 0; size && length - at >= size; at += size) {
		uint64_t value = load(bytes + at, size, is_signed);

		if (at)
			rs_put(out, ',');
		if (is_hex)
			rs_put_hex(out, value);
		else
			put_integer(out, value, is_signed);
	}
	if (cut)
		rs_put_text(out, size && length >= size ? ",..." : "...");
	rs_put(out, '}');
}

/* Where texts go: escaped, or, if they are to be cut before that, as they are. */
typedef void (*put_func)(struct rs_out *out, const char *text, uint32_t size);

static void put_raw(struct rs_out *out, const char *text, uint32_t size)
{
	while (size--)
		rs_put(out, *text++);
}

static void put_name(struct rs_out *out, const char *name, put_func put)
{
	put(out, name, text_length((const uint8_t *)name, RS_SYMBOL_LEN));
}

static void put_enum(struct rs_out *out, const struct rs_field_info *field, uint64_t value,
		     put_func put)
{
	for (uint32_t i = 0; i < field->symbol_count; i++) {
		if (field->symbols[i].value == value) {
			put_name(out, field->symbols[i].name, put);
			return;
		}
	}
	rs_put_hex(out, value);
}

/* What no flag stands for follows in hex. */
static void put_flags(struct rs_out *out, const struct rs_field_info *field, uint64_t value,
		      put_func put)
{
	uint32_t start = out->at;

	for (uint32_t i = 0; i < field->symbol_count; i++) {
		uint64_t bits = field->symbols[i].value;

		if (!bits || (value & bits) != bits)
			continue;
		value &= ~bits;
		if (out->at != start)
			rs_put(out, '|');
		put_name(out, field->symbols[i].name, put);
	}
	if (!value)
		return;
	if (out->at != start)
		rs_put(out, '|');
	rs_put_hex(out, value);
}

/* A field that is shown by %s. */
static void put_field(struct rs_out *out, const struct rs_field_info *field,
		      const struct payload *payload, put_func put)
{
	const uint8_t *bytes;
	uint32_t length;
	bool cut;

	if (!find_bytes(field, payload, &bytes, &length, &cut)) {
		rs_put_text(out, "(cut)");
	} else if (rs_field_is_text(field)) {
		put(out, (const char *)bytes, length);
		if (cut)
			rs_put_text(out, "...");
	} else if (field->kind == RS_KIND_ENUM) {
		put_enum(out, field, load(bytes, length, false), put);
	} else if (field->kind == RS_KIND_FLAGS) {
		put_flags(out, field, load(bytes, length, false), put);
	} else {
		put_array(out, field, bytes, length, cut);
	}
}

/* ---- conversions ---- */

/* A precision counts bytes before they are escaped. */
static void put_shown(struct rs_out *out, const struct rs_print_step *step,
		      const struct payload *payload)
{
	char buffer[RS_PRINT_WIDTH_MAX + 1];
	struct rs_out text = {.out = buffer, .size = sizeof(buffer)};

	if (step->precision < 0) {
		put_field(out, step->field, payload, rs_put_escaped);
		return;
	}
	put_field(&text, step->field, payload, put_raw);
	if (text.at > (uint32_t)step->precision)
		text.at = (uint32_t)step->precision;
	rs_put_escaped(out, buffer, text.at);
}

/* A width counts characters that are shown, so they are counted first. */
static void put_text(struct rs_out *out, const struct rs_print_step *step,
		     const struct payload *payload)
{
	bool left = step->flags & RS_PRINT_LEFT;
	struct rs_out counted = {.size = 0};
	uint32_t fill = 0;

	if (step->width) {
		put_shown(&counted, step, payload);
		if (counted.chars < (uint32_t)step->width)
			fill = (uint32_t)step->width - counted.chars;
	}
	rs_put_fill(out, ' ', left ? 0 : fill);
	put_shown(out, step, payload);
	rs_put_fill(out, ' ', left ? fill : 0);
}

static void put_character(struct rs_out *out, const struct rs_print_step *step, uint64_t value)
{
	uint32_t fill = step->width > 0 ? (uint32_t)step->width - 1 : 0;
	char c = (char)value;

	rs_put_fill(out, ' ', step->flags & RS_PRINT_LEFT ? 0 : fill);
	rs_put_escaped(out, &c, 1);
	rs_put_fill(out, ' ', step->flags & RS_PRINT_LEFT ? fill : 0);
}

/* A number's sign or "0x", and its digits. */
struct number {
	const char *prefix;
	const char *digits;
	uint32_t count;
};

static uint32_t missing(uint32_t wanted, uint32_t have)
{
	return wanted > have ? wanted - have : 0;
}

/* As printf lays it out. Of 0, a precision of 0 shows no digit. */
static void put_laid_out(struct rs_out *out, const struct rs_print_step *step,
			 struct number *number)
{
	bool left = step->flags & RS_PRINT_LEFT;
	bool octal_zero = step->conversion == 'o' && step->flags & RS_PRINT_ALT;
	uint32_t precision = step->precision > 0 ? (uint32_t)step->precision : 0;
	uint32_t zeros, fill, used = 0;

	if (!step->precision && number->count == 1 && *number->digits == '0' && !octal_zero)
		number->count = 0;
	while (number->prefix[used])
		used++;
	zeros = missing(precision, number->count);
	fill = missing((uint32_t)step->width, used + zeros + number->count);
	if (step->flags & RS_PRINT_ZERO && !left && step->precision < 0) {
		zeros += fill;
		fill = 0;
	}
	rs_put_fill(out, ' ', left ? 0 : fill);
	rs_put_text(out, number->prefix);
	rs_put_fill(out, '0', zeros);
	put_raw(out, number->digits, number->count);
	rs_put_fill(out, ' ', left ? fill : 0);
}

static const char *sign_of(const struct rs_print_step *step, bool negative)
{
	if (negative)
		return "-";
	if (step->flags & RS_PRINT_PLUS)
		return "+";
	return step->flags & RS_PRINT_SPACE ? " " : "";
}

static void put_number(struct rs_out *out, const struct rs_print_step *step, uint64_t value)
{
	char buffer[72], *end = buffer + sizeof(buffer), *at;
	bool alt = step->flags & RS_PRINT_ALT && value, negative;
	struct number number = {.prefix = ""};

	switch (step->conversion) {
	case 'd':
	case 'i':
		negative = (int64_t)value < 0;
		number.prefix = sign_of(step, negative);
		at = rs_digits(end, negative ? -value : value, 10, "0123456789");
		break;
	case 'x':
	case 'p':
		at = rs_digits(end, value, 16, "0123456789abcdef");
		number.prefix = alt || step->conversion == 'p' ? "0x" : "";
		break;
	case 'X':
		at = rs_digits(end, value, 16, "0123456789ABCDEF");
		number.prefix = alt ? "0X" : "";
		break;
	case 'o':
		at = rs_digits(end, value, 8, "01234567");
		/* The 0 before an octal number is one of its digits. */
		if (alt && step->precision <= end - at)
			*--at = '0';
		break;
	default:
		at = rs_digits(end, value, 10, "0123456789");
	}
	number.digits = at;
	number.count = (uint32_t)(end - at);
	put_laid_out(out, step, &number);
}

/* What C's printf makes of the value: an int, or of 8 bytes a long long. */
static uint64_t as_argument(uint64_t value, uint32_t size, bool is_signed)
{
	if (is_signed)
		return size == 4 ? (uint64_t)(int64_t)(int32_t)value : value;
	return size == 8 ? value : (uint32_t)value;
}

static void put_step(struct rs_out *out, const struct rs_print_step *step,
		     const struct payload *payload)
{
	const struct rs_field_info *field = step->field;
	bool is_signed = step->conversion == 'd' || step->conversion == 'i';
	uint64_t value;

	if (step->conversion == 's') {
		put_text(out, step, payload);
		return;
	}
	if (!lies_inside(payload, field->offset, field->size)) {
		rs_put_text(out, "(cut)");
		return;
	}
	value = load(payload->bytes + field->offset, field->size, rs_field_is_signed(field));
	if (step->low_bytes)
		value = load((const uint8_t *)&value, step->low_bytes, is_signed);
	if (step->conversion == 'c')
		put_character(out, step, value);
	else
		put_number(out, step, as_argument(value, field->size, is_signed));
}

/* "%%" is "%". */
static void put_literal(struct rs_out *out, const struct rs_print_step *step)
{
	uint32_t from = 0, at = 0;

	for (; at < step->literal_size; at++) {
		if (step->literal[at] != '%')
			continue;
		rs_put_escaped(out, step->literal + from, ++at - from);
		from = at + 1;
	}
	rs_put_escaped(out, step->literal + from, missing(at, from));
}

void rs_put_message(struct rs_out *out, const struct rs_event_info *info, const void *payload,
		    uint32_t size, bool cut)
{
	const struct payload all = {payload, size};
	uint32_t start = out->at;
	struct rs_print_step step;
	struct rs_print print;

	if (!info || !rs_print_is_good(info)) {
		rs_put_text(out, "(unknown event, ");
		rs_put_number(out, size, 0, ' ');
		rs_put_text(out, " bytes)");
		return;
	}
	out->limit = start + RS_MESSAGE_MAX;
	rs_print_begin(&print, info);
	while (rs_print_next(&print, &step)) {
		put_literal(out, &step);
		if (step.field)
			put_step(out, &step, &all);
		if (out->at - start > RS_MESSAGE_MAX) {
			out->at = out->last;
			rs_put_text(out, "...");
			break;
		}
	}
	if (cut)
		rs_put_text(out, " (cut)");
}
