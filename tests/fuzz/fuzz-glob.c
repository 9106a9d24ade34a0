/* SPDX-License-Identifier: MIT */
/* Globs, beside a matcher that goes through both texts step by step. Input: glob, NUL, name. */
#include "rs-trace-glob.h"
#include "seed.h"

#include <stdlib.h>
#include <string.h>

#define NAME_MAX_SIZE 300u

/* Whether c is in the set, which is `size` bytes behind a '['. */
static gboolean in_set(const char *set, size_t size, char c)
{
	const gboolean negate = *set == '!' || *set == '^';
	gboolean hit = FALSE;

	for (size_t i = negate; i < size;) {
		if (i + 2 < size && set[i + 1] == '-') {
			hit |= (guchar)set[i] <= (guchar)c && (guchar)c <= (guchar)set[i + 2];
			i += 3;
		} else {
			hit |= set[i++] == c;
		}
	}
	return hit != negate;
}

/* The size of the element at `at`; sets *hit if it accepts c. */
static size_t element(const char *at, char c, gboolean *hit)
{
	size_t skip = at[0] == '[' && (at[1] == '!' || at[1] == '^') ? 2 : 1;
	const char *end = at[0] == '[' && at[skip] ? strchr(at + skip + 1, ']') : NULL;

	if (end) {
		*hit = in_set(at + 1, (size_t)(end - at - 1), c);
		return (size_t)(end - at) + 1;
	}
	if (at[0] == '\\' && at[1]) {
		*hit = at[1] == c;
		return 2;
	}
	*hit = at[0] == '?' || at[0] == c;
	return 1;
}

/* After each byte of the text: at which places of the glob one can be. */
static gboolean stepwise(const char *glob, const char *text)
{
	const size_t size = strlen(glob);
	gboolean now[RS_TRACE_GLOB_MAX + 2] = {TRUE}, next[RS_TRACE_GLOB_MAX + 2];

	for (;; text++) {
		memset(next, 0, sizeof(next));
		for (size_t i = 0; i < size; i++) {
			gboolean hit = FALSE;
			size_t step;

			if (!now[i])
				continue;
			if (glob[i] == '*') {
				now[i + 1] = next[i] = TRUE;
				continue;
			}
			step = element(glob + i, *text, &hit);
			if (*text && hit)
				next[i + step] = TRUE;
		}
		if (!*text)
			return now[size];
		memcpy(now, next, sizeof(now));
	}
}

/* As docs say: an event by its system or name, by both, or by "system:". */
static gboolean event_stepwise(const char *glob, const RsTraceEvent *event)
{
	g_autofree char *full = g_strconcat(event->system, ":", event->name, NULL);
	g_autofree char *open = g_strconcat(glob, "*", NULL);

	if (!strchr(glob, ':'))
		return stepwise(glob, event->system) || stepwise(glob, event->name);
	return stepwise(g_str_has_suffix(glob, ":") ? open : glob, full);
}

/* The name is a system and a name, with a blank between them. A name has no colon. */
static void check_event(const RsTraceGlob *compiled, const char *glob, char *text)
{
	char *blank = strchr(g_strdelimit(text, ":", '_'), ' ');
	const RsTraceEvent event = {.system = text, .name = blank ? blank + 1 : ""};

	if (blank)
		*blank = 0;
	if (rs_trace_glob_matches_event(compiled, &event) != event_stepwise(glob, &event))
		abort();
}

static void rs_fuzz_seeds(void)
{
	static const char switches[] = "sched:*\0sched:switch", set[] = "[!a-c]?*x\0zyx",
			  quoted[] = "\\*[]a]*\0*]", all[] = "sched:\0sched switch",
			  either[] = "sw*\0sched switch", both[] = "s*:sw*\0sched switch";

	rs_fuzz_seed("switch", switches, sizeof(switches) - 1);
	rs_fuzz_seed("set", set, sizeof(set) - 1);
	rs_fuzz_seed("all", all, sizeof(all) - 1);
	rs_fuzz_seed("either", either, sizeof(either) - 1);
	rs_fuzz_seed("both", both, sizeof(both) - 1);
	rs_fuzz_seed("quoted", quoted, sizeof(quoted) - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *nul = memchr(data, 0, size);
	size_t split = nul ? (size_t)(nul - data) : size;
	g_autofree char *glob = g_strndup((const char *)data, split);
	g_autofree char *text =
		nul ? g_strndup((const char *)nul + 1, size - split - 1) : g_strdup("");
	RsTraceGlob *compiled = rs_trace_glob_new(glob);

	if (!compiled != (split > RS_TRACE_GLOB_MAX))
		abort();
	if (strlen(text) > NAME_MAX_SIZE)
		text[NAME_MAX_SIZE] = 0;
	if (compiled && rs_trace_glob_matches(compiled, text) != stepwise(glob, text))
		abort();
	if (compiled)
		check_event(compiled, glob, text);
	rs_trace_glob_free(compiled);
	return 0;
}
