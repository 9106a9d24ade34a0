/* SPDX-License-Identifier: MIT */
#include "cli/engine_place.h"

#include <errno.h>

const char *rs_cli_engine_parse_number(const char *text, uint64_t *out)
{
	char *end;

	if (!g_ascii_isdigit(*text))
		return NULL;
	errno = 0;
	*out = g_ascii_strtoull(text, &end, 0);
	return errno || g_ascii_isalnum(*end) || *end == '_' ? NULL : end;
}

/* One term of a sum; returns where it ends, or NULL. */
static const char *parse_term(const char *text, bool minus, const RsTraceRegisterSet *set,
			      struct rs_cli_engine_place *place)
{
	size_t size = 0;
	const RsTraceRegister *reg;
	uint64_t number;
	const char *end = rs_cli_engine_parse_number(text, &number);

	if (end) {
		place->number += minus ? -number : number;
		return end;
	}
	while (g_ascii_isalnum(text[size]))
		size++;
	reg = rs_trace_register_find(set, text, size);
	if (!reg || minus || place->times[reg->number] == UINT8_MAX)
		return NULL;
	place->times[reg->number]++;
	place->uses_registers = true;
	return text + size;
}

int rs_cli_engine_parse_place(const char *text, const RsTraceRegisterSet *set,
			      struct rs_cli_engine_place *out, struct rs_error *err)
{
	bool minus = *text == '-';
	const char *at = text + minus;

	*out = (struct rs_cli_engine_place){0};
	for (;;) {
		at = parse_term(at, minus, set, out);
		if (!at)
			break;
		if (!*at)
			return 0;
		if (*at != '+' && *at != '-')
			break;
		minus = *at++ == '-';
	}
	return rs_error_set(err, EINVAL, "'%s' is no number, register or sum such as rsp+8", text);
}

uint64_t rs_cli_engine_place_value(const struct rs_cli_engine_place *place,
				   const uint64_t values[RS_REGISTERS_MAX])
{
	uint64_t sum = place->number;

	for (unsigned int i = 0; i < RS_REGISTERS_MAX; i++)
		sum += place->times[i] * (place->times[i] ? values[i] : 0);
	return sum;
}
