/* SPDX-License-Identifier: MIT */
/*
 * Numbers at the limits of each integer field, plainly and under masks: which are accepted, and
 * what the program says of values at the same limits. 128 bits hold all of them.
 */
#include "filter.h"
#include "sample.h"

#include <errno.h>
#include <string.h>

typedef __int128 wide;

static const char *const OPS[] = {"==", "!=", "<", "<=", ">", ">="};

static bool holds(unsigned int op, wide a, wide b)
{
	switch (op) {
	case 0:
		return a == b;
	case 1:
		return a != b;
	case 2:
		return a < b;
	case 3:
		return a <= b;
	case 4:
		return a > b;
	default:
		return a >= b;
	}
}

/* In decimal; a negative one may have 64 bits beside its sign. */
static char *text_of(wide value)
{
	guint64 low = (guint64)(value < 0 ? -value : value);

	if (value >= (wide)1 << 64)
		return g_strdup_printf("1%s", "8446744073709551616"); /* 2^64 */
	return g_strdup_printf("%s%" G_GUINT64_FORMAT, value < 0 ? "-" : "", low);
}

/* Numbers around the field's limits. */
static unsigned int limits_of(const RsTraceField *field, wide out[])
{
	wide span = (wide)1 << (field->size * 8);
	wide low = field->is_signed ? -(span >> 1) : 0;
	wide high = low + span - 1;
	const wide all[] = {low - 1, low, low + 1, -1, 0, 1, high - 1, high, high + 1};

	memcpy(out, all, sizeof(all));
	return G_N_ELEMENTS(all);
}

/* The program's verdict on each value that the field can have. */
static void check_program(const GByteArray *program, const RsTraceField *field, unsigned int op,
			  wide mask, wide value)
{
	wide values[9];
	unsigned int n = limits_of(field, values);

	for (unsigned int i = 1; i + 1 < n; i++) {
		struct sample entry;
		const struct rs_filter_input in = {.entry = &entry, .entry_size = sizeof(entry)};
		uint64_t bytes = (uint64_t)values[i];

		if (values[i] < values[1])
			continue; /* the field has no -1 */
		memset(&entry, 0xa5, sizeof(entry));
		memcpy((uint8_t *)&entry + field->offset, &bytes, field->size);
		g_assert_cmpint(rs_filter_run((const void *)program->data, program->len, &in), ==,
				holds(op, values[i] & mask, value));
	}
}

static void check(const RsTraceField *field, const char *masked, unsigned int op, wide mask,
		  wide value, bool good)
{
	g_autofree char *number = text_of(value);
	g_autofree char *expression =
		g_strdup_printf("%s%s %s %s", field->name, masked, OPS[op], number);
	GByteArray *program = NULL;

	g_test_message("%s", expression);
	g_assert_cmpint(sample_compile(expression, &program, NULL), ==, good ? 0 : -EINVAL);
	if (!good)
		return;
	check_program(program, field, op, mask, value);
	g_byte_array_unref(program);
}

static bool is_number(const RsTraceField *field)
{
	return field->kind == RS_KIND_UINT || field->kind == RS_KIND_SINT ||
	       field->kind == RS_KIND_HEX || field->kind == RS_KIND_POINTER;
}

static void test_plain(void)
{
	for (unsigned int f = 0; f < sample_event.n_fields; f++) {
		const RsTraceField *field = &sample_fields[f];
		wide values[9];
		unsigned int n = is_number(field) ? limits_of(field, values) : 0;

		for (unsigned int i = 0; i < n; i++)
			for (unsigned int op = 0; op < G_N_ELEMENTS(OPS); op++)
				check(field, "", op, -1, values[i],
				      values[i] >= values[1] && values[i] <= values[7]);
	}
}

/* The value must be one that the masked field can have or, for an order, lie between such. */
static void check_masked(const RsTraceField *field, wide mask, const wide *values, unsigned int n)
{
	g_autofree char *number = text_of(mask);
	g_autofree char *masked = g_strdup_printf(" & %s", number);
	wide span = (wide)1 << (field->size * 8);
	wide low = mask < 0 ? -(span >> 1) : 0, high = mask < 0 ? (span >> 1) - 1 : mask;
	bool good = mask && mask < span && (mask >= 0 || (field->is_signed && mask >= low));

	for (unsigned int i = 0; i < n; i++) {
		for (unsigned int op = 0; op < G_N_ELEMENTS(OPS); op++) {
			bool reached = values[i] >= low && values[i] <= high;

			if (op < 2)
				reached = reached && (values[i] & mask) == values[i];
			check(field, masked, op, mask, values[i], good && reached);
		}
	}
}

static void test_masked(void)
{
	for (unsigned int f = 0; f < sample_event.n_fields; f++) {
		const RsTraceField *field = &sample_fields[f];
		wide values[14], masks[11];
		unsigned int n = is_number(field) ? limits_of(field, values) : 0;

		if (!n)
			continue;
		memcpy(masks, values, n * sizeof(wide));
		masks[n] = -2;
		masks[n + 1] = ((wide)1 << (field->size * 8)) - 1;
		memcpy(values + n,
		       (const wide[]){-2, 2, masks[n + 1], masks[n + 1] + 1, masks[n + 1] - 1},
		       5 * sizeof(wide));
		for (unsigned int i = 0; i < n + 2; i++)
			check_masked(field, masks[i], values, n + 5);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/filter/limits/plain", test_plain);
	g_test_add_func("/filter/limits/masked", test_masked);
	return g_test_run();
}
