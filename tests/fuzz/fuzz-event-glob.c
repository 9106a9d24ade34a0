/* SPDX-License-Identifier: MIT */
/*
 * Globs with a selection by level and keyword, beside a judge that reads the selection in another
 * way. Input: level of an event (1 byte), its keyword (8 bytes), then the glob.
 */
#include "seed.h"
#include "session/event_glob.h"
#include <rs-trace-glob.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD 9u

struct judge {
	unsigned long level, any, all; /* 0: not given */
	bool wrong;
};

/* The digits of `text` up to `end`, or 0, which no value may be. */
static unsigned long number(const char *text, size_t size, bool level)
{
	g_autofree char *digits = g_strndup(text, size);
	const bool hex =
		!level && (g_str_has_prefix(digits, "0x") || g_str_has_prefix(digits, "0X"));
	const char *from = digits + (hex ? 2 : 0);
	unsigned long value = 0;

	for (const char *c = from; *c; c++) {
		int digit = hex ? g_ascii_xdigit_value(*c) : g_ascii_digit_value(*c);

		if (digit < 0 || __builtin_mul_overflow(value, hex ? 16ul : 10ul, &value) ||
		    __builtin_add_overflow(value, (unsigned long)digit, &value))
			return 0;
	}
	return level && (size != 1 || value > 5) ? 0 : value;
}

static void judge_term(struct judge *judge, const char *term, size_t size)
{
	static const char *const keys[] = {"level=", "keyword=", "keyword-all="};
	unsigned long *const to[] = {&judge->level, &judge->any, &judge->all};

	for (guint i = 0; i < 3; i++) {
		size_t length = strlen(keys[i]);

		if (size < length || memcmp(term, keys[i], length) != 0)
			continue;
		judge->wrong |= *to[i] != 0;
		*to[i] = number(term + length, size - length, i == 0);
		judge->wrong |= *to[i] == 0;
		return;
	}
	judge->wrong = true;
}

static struct judge judge_selection(const char *glob)
{
	const char *at = strchr(glob, '@');
	struct judge judge = {.wrong = at == glob};

	const size_t names = at ? (size_t)(at - glob) : strlen(glob);
	const char *slash = memchr(glob, '/', names);
	const size_t source = slash ? (size_t)(slash - glob) : 0;

	/* Each part has its own bound. */
	judge.wrong |=
		source > RS_TRACE_GLOB_MAX || names - (slash ? source + 1 : 0) > RS_TRACE_GLOB_MAX;
	while (at) {
		const char *end = strchr(at + 1, ',');

		judge_term(&judge, at + 1, end ? (size_t)(end - at - 1) : strlen(at + 1));
		at = end;
	}
	return judge;
}

void rs_fuzz_seeds(void)
{
	static const char level[] = "\3\2\0\0\0\0\0\0\0net:*@level=3",
			  all[] = "\5\6\0\0\0\0\0\0\0*@keyword-all=0x6,level=5,keyword=2",
			  plain[] = "\0\0\0\0\0\0\0\0\0fuzz/net:sent";

	rs_fuzz_seed("level", level, sizeof(level) - 1);
	rs_fuzz_seed("all", all, sizeof(all) - 1);
	rs_fuzz_seed("plain", plain, sizeof(plain) - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	RsTraceEvent event = {.system = (char *)"net", .name = (char *)"sent"};
	g_autofree char *text = NULL, *names = NULL;
	RsTraceEventGlob *glob, *bare;
	struct judge judge;
	bool yes;

	if (size < HEAD)
		return 0;
	event.level = data[0] % 6;
	memcpy(&event.keyword, data + 1, 8);
	text = g_strndup((const char *)data + HEAD, size - HEAD);
	names = g_strndup(text, strcspn(text, "@"));
	judge = judge_selection(text);
	if ((rs_event_glob_check(text, NULL) != 0) != judge.wrong)
		abort();
	glob = rs_trace_event_glob_new(text, NULL);
	bare = rs_trace_event_glob_new(names, NULL);
	yes = !judge.wrong && rs_trace_event_glob_matches(bare, "fuzz", &event);
	yes &= !judge.level || (event.level && event.level <= judge.level);
	yes &= !judge.any || (event.keyword & judge.any);
	yes &= (event.keyword & judge.all) == judge.all;
	if (rs_trace_event_glob_matches(glob, "fuzz", &event) != yes)
		abort();
	rs_trace_event_glob_free(glob);
	rs_trace_event_glob_free(bare);
	return 0;
}
