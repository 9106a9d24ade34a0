/* SPDX-License-Identifier: MIT */
/*
 * printf on the first serial port, a line at a time, without interrupts. Bytes go out in bursts of
 * one FIFO, since each port access leaves a guest.
 */
#include "internal.h"

#define PORT 0x3f8
#define FIFO 16
#define LSR_EMPTY 0x20

static uint32_t lock;

void rs_console_init(void)
{
	rs_out8(PORT + 1, 0);
	rs_out8(PORT + 3, 0x80);
	rs_out8(PORT + 0, 1);
	rs_out8(PORT + 1, 0);
	rs_out8(PORT + 3, 0x03);
	rs_out8(PORT + 2, 0x07);
}

static void burst(const char *text, size_t n)
{
	/* Bounded: a missing port that never empties must not hang the guest. */
	for (uint32_t i = 0; i < 10000 && !(rs_in8(PORT + 5) & LSR_EMPTY); i++)
		rs_pause();
	__asm__ volatile("rep outsb" : "+S"(text), "+c"(n) : "d"((uint16_t)PORT) : "memory");
}

static void write_text(const char *text, size_t n)
{
	/* No task is switched while it holds the lock, so only another vCPU can hold it here. */
	bool on = rs_irq_save();
	uint64_t start = rs_tsc();
	while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE)) {
		if (rs_tsc() - start > 4000000000ull)
			break; /* the owner is gone: mixed lines are better than none */
		rs_pause();
	}
	for (size_t at = 0; at < n; at += FIFO)
		burst(text + at, n - at < FIFO ? n - at : FIFO);
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
	rs_irq_restore(on);
}

void rs_console_break_lock(void)
{
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

void rs_puts(const char *text)
{
	write_text(text, strlen(text));
}

void rs_printf(const char *format, ...)
{
	char line[512];
	va_list args;
	va_start(args, format);
	int n = rs_vsnprintf(line, sizeof line, format, args);
	va_end(args);
	write_text(line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
}

/* ---- formatting ---- */

struct out {
	char *at;
	size_t room; /* with the NUL */
	size_t length;
};

static void put(struct out *out, char c)
{
	if (out->length + 1 < out->room)
		out->at[out->length] = c;
	out->length++;
}

static void put_padded(struct out *out, const char *text, int n, int width, bool left, char pad)
{
	for (int i = n; !left && i < width; i++)
		put(out, pad);
	for (int i = 0; i < n; i++)
		put(out, text[i]);
	for (int i = n; left && i < width; i++)
		put(out, ' ');
}

static void put_number(struct out *out, uint64_t value, uint32_t base, bool minus, int width,
		       bool left, char pad)
{
	char digits[24];
	int at = sizeof digits;
	do
		digits[--at] = "0123456789abcdef"[value % base];
	while (value /= base);
	if (minus && pad == '0') {
		put(out, '-');
		width--;
	} else if (minus) {
		digits[--at] = '-';
	}
	put_padded(out, digits + at, (int)sizeof digits - at, width, left, pad);
}

static uint64_t next_integer(va_list *args, int longs, bool is_signed)
{
	if (longs)
		return va_arg(*args, uint64_t);
	uint32_t value = va_arg(*args, uint32_t);
	return is_signed ? (uint64_t)(int64_t)(int32_t)value : value;
}

static void convert(struct out *out, char c, va_list *args, int longs, int width, int precision,
		    bool left, char pad)
{
	switch (c) {
	case 'd':
	case 'i': {
		int64_t value = (int64_t)next_integer(args, longs, true);
		uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
		put_number(out, size, 10, value < 0, width, left, pad);
		return;
	}
	case 'u':
		put_number(out, next_integer(args, longs, false), 10, false, width, left, pad);
		return;
	case 'x':
		put_number(out, next_integer(args, longs, false), 16, false, width, left, pad);
		return;
	case 'p':
		put(out, '0');
		put(out, 'x');
		put_number(out, va_arg(*args, uint64_t), 16, false, width, left, pad);
		return;
	case 'c':
		put(out, (char)va_arg(*args, int));
		return;
	case 's': {
		const char *text = va_arg(*args, const char *);
		int n = 0;
		text = text ? text : "(null)";
		while ((precision < 0 || n < precision) && text[n])
			n++;
		put_padded(out, text, n, width, left, ' ');
		return;
	}
	default:
		put(out, c);
	}
}

static int read_int(const char **format, va_list *args)
{
	int value = 0;
	if (**format == '*') {
		(*format)++;
		return va_arg(*args, int);
	}
	while (**format >= '0' && **format <= '9')
		value = value * 10 + *(*format)++ - '0';
	return value;
}

int rs_vsnprintf(char *text, size_t size, const char *format, va_list list)
{
	struct out out = {text, size, 0};
	va_list args;
	va_copy(args, list);
	while (*format) {
		if (*format != '%') {
			put(&out, *format++);
			continue;
		}
		bool left = false;
		char pad = ' ';
		for (format++; *format == '-' || *format == '0'; format++) {
			left = left || *format == '-';
			pad = *format == '0' ? '0' : pad;
		}
		int width = read_int(&format, &args), precision = -1, longs = 0;
		if (*format == '.') {
			format++;
			precision = read_int(&format, &args);
		}
		for (; *format == 'l' || *format == 'z' || *format == 'h'; format++)
			longs += *format != 'h';
		if (*format)
			convert(&out, *format++, &args, longs, width, precision, left, pad);
	}
	va_end(args);
	if (size)
		text[out.length < size ? out.length : size - 1] = 0;
	return (int)out.length;
}

int rs_snprintf(char *text, size_t size, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int n = rs_vsnprintf(text, size, format, args);
	va_end(args);
	return n;
}
