/* SPDX-License-Identifier: MIT */
#include "filter/cpus.h"

#include <errno.h>
#include <string.h>

/* A part of a list: from-to:used/group, the first `used` of each `group`. */
struct region {
	unsigned int from, to, used, group;
};

bool rs_filter_is_cpus(const struct rs_filter_ast *ast, const struct rs_filter_word *word)
{
	return !word->quote && word->length >= 5 && strncmp(ast->text + word->at, "CPUS{", 5) == 0;
}

static void skip_space(const char **s)
{
	while (**s == ' ')
		++*s;
}

/* Reads a number at *s and moves *s past it. */
static bool take_number(const char **s, unsigned int *out)
{
	if (!g_ascii_isdigit(**s))
		return false;
	for (*out = 0; g_ascii_isdigit(**s); (*s)++)
		*out = MIN(*out * 10 + (unsigned int)(**s - '0'), 100000);
	return true;
}

/* A number, or N for the last CPU that there may be. */
static bool take_cpu(const char **s, unsigned int *cpu, bool *open)
{
	if (**s != 'N')
		return take_number(s, cpu);
	++*s;
	*cpu = RS_MAX_CPUS - 1;
	return *open = true;
}

static bool take_region(const char **s, struct region *region, bool *open)
{
	*region = (struct region){.used = 1, .group = 1};
	if (g_str_has_prefix(*s, "all")) {
		*s += 3;
		region->to = RS_MAX_CPUS - 1;
		*open = true;
	} else {
		if (!take_cpu(s, &region->from, open))
			return false;
		region->to = region->from;
		if (**s == '-') {
			++*s;
			if (!take_cpu(s, &region->to, open))
				return false;
		}
	}
	if (**s != ':')
		return true;
	++*s;
	if (!take_number(s, &region->used) || *(*s)++ != '/' || !take_number(s, &region->group))
		return false;
	return region->used >= 1 && region->used <= region->group;
}

static void add_region(struct rs_filter_cpus *out, const struct region *region)
{
	for (unsigned int cpu = region->from; cpu <= region->to; cpu++) {
		uint8_t bit = (uint8_t)(1u << cpu % 8);

		if ((cpu - region->from) % region->group >= region->used)
			continue;
		out->count += !(out->map[cpu / 8] & bit);
		out->map[cpu / 8] |= bit;
	}
}

int rs_filter_cpus(const struct rs_filter_ast *ast, const struct rs_filter_word *word,
		   struct rs_filter_cpus *out, struct rs_filter_error *err)
{
	g_autofree char *text = g_strndup(ast->text + word->at, word->length);
	const char *s = text + 5;
	struct region region;

	memset(out, 0, sizeof(*out));
	for (;;) {
		skip_space(&s);
		if (!take_region(&s, &region, &out->open))
			break;
		if (region.from > region.to || region.to >= RS_MAX_CPUS)
			return rs_filter_error_set(err, EINVAL, word->at, word->length,
						   "CPUs are counted from 0 to %u, the lower first",
						   RS_MAX_CPUS - 1);
		add_region(out, &region);
		skip_space(&s);
		if (strcmp(s, "}") == 0)
			return 0;
		if (*s++ != ',')
			break;
	}
	return rs_filter_error_set(err, EINVAL, word->at, word->length,
				   "a CPU list is written CPUS{0-2,5}, CPUS{all} or "
				   "CPUS{0-N:1/2}");
}
