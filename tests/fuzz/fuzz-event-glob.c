/* SPDX-License-Identifier: MIT */
/*
 * Lists of globs with a selection by level and keyword, beside a judge that reads lists and
 * selections in another way. Input: level of an event (1 byte), its keyword (8 bytes), then the
 * list.
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

static bool may_name(const char *text, const char *name, const RsTraceEvent *event)
{
	g_autoptr(RsTraceGlob) glob = rs_trace_glob_new(text);

	return glob && (event ? rs_trace_glob_matches_event(glob, event)
			      : rs_trace_glob_matches(glob, name));
}

/* One glob of a list, without its '!'. *wrong: it is none. Returns whether the event is meant. */
static bool judge_part(const char *part, const RsTraceEvent *event, bool *wrong)
{
	const char *at = strchr(part, '@');
	g_autofree char *names = at ? g_strndup(part, (gsize)(at - part)) : g_strdup(part);
	char *slash = strchr(names, '/'), *event_names = slash ? slash + 1 : names;
	struct judge judge = {.wrong = at == part};
	bool yes;

	if (slash)
		*slash = 0;
	/* Each part has its own bound. */
	judge.wrong |= strlen(event_names) > RS_TRACE_GLOB_MAX ||
		       (slash && strlen(names) > RS_TRACE_GLOB_MAX);
	while (at) {
		const char *end = strchr(at + 1, ',');

		judge_term(&judge, at + 1, end ? (size_t)(end - at - 1) : strlen(at + 1));
		at = end;
	}
	*wrong |= judge.wrong;
	yes = may_name(event_names, NULL, event) && (!slash || may_name(names, "fuzz", NULL));
	yes &= !judge.level || (event->level && event->level <= judge.level);
	yes &= !judge.any || (event->keyword & judge.any);
	return yes && (event->keyword & judge.all) == judge.all;
}

/* Where the part at `from` ends: at a comma that no term of its selection follows. */
static const char *end_of(const char *from)
{
	const char *end = from + strcspn(from, ",@");
	bool selects = *end == '@';

	for (;;) {
		const char *next;

		end += strcspn(end, ",");
		next = end + 1;
		if (!*end || !selects)
			return end;
		next += strcspn(next, ",=@");
		if (*next != '=' && next != end + 1)
			return end;
		if (*next == '@')
			return end;
		end++;
	}
}

static bool judge_list(const char *text, const RsTraceEvent *event, bool *wrong)
{
	bool in = false, out = false, any = false;
	guint count = 0;

	for (const char *from = text, *end;; from = end + 1) {
		g_autofree char *part = NULL;
		bool excluded = *from == '!', yes;

		end = end_of(from);
		part = g_strndup(from + excluded, (gsize)(end - from) - excluded);
		if (end != from) {
			count++;
			*wrong |= !*part;
			yes = judge_part(part, event, wrong);
			any |= !excluded;
			in |= yes && !excluded;
			out |= yes && excluded;
		}
		if (!*end)
			break;
	}
	*wrong |= count > RS_TRACE_EVENT_GLOB_PARTS;
	return !*wrong && count && (in || !any) && !out;
}

void rs_fuzz_seeds(void)
{
	static const char level[] = "\3\2\0\0\0\0\0\0\0net:*@level=3",
			  all[] = "\5\6\0\0\0\0\0\0\0*@keyword-all=0x6,level=5,keyword=2",
			  plain[] = "\0\0\0\0\0\0\0\0\0fuzz/net:sent",
			  list[] = "\1\2\0\0\0\0\0\0\0a:b,!*@level=2,keyword=1,net:*,,!x";

	rs_fuzz_seed("level", level, sizeof(level) - 1);
	rs_fuzz_seed("all", all, sizeof(all) - 1);
	rs_fuzz_seed("plain", plain, sizeof(plain) - 1);
	rs_fuzz_seed("list", list, sizeof(list) - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	RsTraceEvent event = {.system = (char *)"net", .name = (char *)"sent"};
	g_autofree char *text = NULL;
	RsTraceEventGlob *glob;
	bool wrong = false, yes;

	if (size < HEAD)
		return 0;
	event.level = data[0] % 6;
	memcpy(&event.keyword, data + 1, 8);
	text = g_strndup((const char *)data + HEAD, size - HEAD);
	yes = judge_list(text, &event, &wrong);
	if ((rs_event_glob_check(text, NULL) != 0) != wrong)
		abort();
	glob = rs_trace_event_glob_new(text, NULL);
	if (rs_trace_event_glob_matches(glob, "fuzz", &event) != yes)
		abort();
	rs_trace_event_glob_free(glob);
	return 0;
}
