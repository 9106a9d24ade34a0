/* SPDX-License-Identifier: MIT */
/* Filter expressions: an accepted one verifies and runs, the error of a refused one renders. */
#include "../../guest-agent/core/filter.h"
#include "../unit/filter/sample.h"
#include "filter/filter.h"
#include "seed.h"

#include <string.h>

static void rs_fuzz_seeds(void)
{
	static const char *const seeds[] = {
		"u64 > 5 && s8 >= -3",
		"u8 & 0xc0 == 0x40 || !(s32 & -4)",
		"state == \"long wait\"",
		"bits & A|B",
		"why ~ \"*[!a-c]?\\*\"",
		"CPU & CPUS{0-1,3}",
		"((PID != 1))",
		"COMM !~ k*/[0-9]",
		"name == 'a\\'b' && u16 == 010",
		"s16 == -(0x10)",
		"mac == 3",
		"list == 3",
		"CPU == CPUS{0-1}",
		"u8 & CPUS{300}",
		"CPU & CPUS{1000-1023}",
		"s8 == 0xfe",
		"u8 == -9223372036854775808",
		"why == [x && name == y] || why == {a",
		"why ~ [a\\] \\(]* || why == -(1)",
		"why == CPUS{ 1, 2-3}x",
		"nxme == \"x\"",
		"CPU == CPUS{1} || s8 != CPUS{200}",
		"s8 & CPUS{ 1 ,200 } && u64 == CPUS{3}",
		"TGID & CPUS{1}",
		"s8 == 200",
		"u8 == -( 5 ) || u8 == -x",
		"u8 == \"\" || u8 == \"x\"",
		"u8 == \"x\"",
		"u8 && !name || -1 < s8 && 'x' != why",
		"mac[5] == 1 && list[3] != mac[0]",
		"mac & CPUS{0-N:1/2} || list == CPUS{1,40}",
		"u8 < s16 || PID == list[1] || u8 == only",
		"addr.function == main",
		"why ~ '!*a?*' && name == a=b",
		"why ~ *aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab*",
		"u8 =~ 3 and u8 <> 4",
		"'' (",
		"name == “x”"};
	g_autoptr(GString) longer = g_string_new(NULL);
	char name[16];

	for (unsigned int i = 0; i < sizeof(seeds) / sizeof(*seeds); i++) {
		snprintf(name, sizeof(name), "seed%u", i);
		rs_fuzz_seed(name, seeds[i], strlen(seeds[i]));
	}
	/* At the limits: nesting, comparisons, bytes of patterns, bytes of the expression. */
	for (unsigned int i = 0; i <= RS_FILTER_MAX_NESTING; i++)
		g_string_append_c(longer, '(');
	rs_fuzz_seed("nested", longer->str, longer->len);
	g_string_assign(longer, "u8 == 1");
	for (unsigned int i = 0; i <= RS_FILTER_MAX_INSNS; i++)
		g_string_append_printf(longer, " || u8 == %u", i);
	rs_fuzz_seed("comparisons", longer->str, longer->len);
	g_string_assign(longer, "COMM ~ [a-z]*");
	for (unsigned int i = 0; i < 120; i++)
		g_string_append_printf(longer, " || why ~ *[a-z]?[!%c]x*", 'a' + i % 26);
	rs_fuzz_seed("patterns", longer->str, longer->len);
	while (longer->len <= RS_FILTER_MAX_EXPRESSION)
		g_string_append(longer, " && u8 == 1");
	rs_fuzz_seed("long", longer->str, longer->len);
}

static void run(const GByteArray *program, const RsTraceEvent *event)
{
	/* on the heap, each with its exact size, so that ASan sees an access outside */
	g_autofree char *entry = g_malloc0(event->entry_size);
	g_autofree char *comm = g_strndup("sixteen-bytes-ab", 16), *text = g_strdup("disk full");
	g_autofree void *list = g_memdup2("\1\0\2\0\3", 5);
	struct rs_dyn dyn[2] = {{list, 5}, {text, 10}};
	struct rs_filter_input in = {.entry = entry,
				     .entry_size = event->entry_size,
				     .dyn = dyn,
				     .dyn_count = rs_filter_dyn_count(event),
				     .comm = comm};

	rs_filter_run((const struct rs_filter_program *)program->data, program->len, &in);
}

/* To parse is most of the work, so an input is compiled for one event or for two, and not both. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const RsTraceEvent *events[] = {&sample_event, &other_event};
	g_autofree char *expression = g_strndup((const char *)data, size);
	GByteArray *programs[2] = {NULL, NULL};
	const size_t count = 1 + size / 2 % 2;
	struct rs_filter_error err;
	int wrong = size % 4 == 3 ? rs_filter_check(expression, &err) : 0;
	int ret = rs_filter_compile(events, count, expression, programs, &err);

	if (wrong && !ret)
		abort();
	if (ret)
		g_free(rs_filter_error_render(&err, expression));
	for (size_t i = 0; i < count; i++) {
		if (!programs[i])
			continue;
		run(programs[i], events[i]);
		g_byte_array_unref(programs[i]);
	}
	return 0;
}
