/* SPDX-License-Identifier: MIT */
#include "reference.h"

#include <stdlib.h>
#include <string.h>

static bool in_class(const char *p, const char *close, unsigned char c)
{
	bool negate = *p == '!' || *p == '^', found = false;

	for (p += negate; p < close; p++) {
		unsigned char from, to;

		p += *p == '\\';
		from = to = (unsigned char)*p;
		if (p + 2 < close && p[1] == '-') {
			to = (unsigned char)p[2];
			p += 2;
		}
		found |= c >= from && c <= to;
	}
	return found != negate;
}

static const char *class_end(const char *p, const char *end)
{
	const char *first = p + 1, *q;

	first += first < end && (*first == '!' || *first == '^');
	for (q = first; q < end && (*q != ']' || q == first); q++)
		q += *q == '\\';
	return q;
}

bool reference_glob(const char *p, const char *end, const char *s)
{
	if (p == end)
		return !*s;
	if (*p == '*')
		return reference_glob(p + 1, end, s) || (*s && reference_glob(p, end, s + 1));
	if (!*s)
		return false;
	if (*p == '?')
		return reference_glob(p + 1, end, s + 1);
	if (*p == '[') {
		const char *close = class_end(p, end);

		return in_class(p + 1, close, (unsigned char)*s) &&
		       reference_glob(close + 1, end, s + 1);
	}
	if (*p == '\\' && p + 1 < end)
		p++;
	return *p == *s && reference_glob(p + 1, end, s + 1);
}

static bool judge_text(const struct rs_filter_node *node, const char *want, const char *have)
{
	switch (node->cmp) {
	case RS_CMP_EQ:
		return strcmp(want, have) == 0;
	case RS_CMP_NE:
		return strcmp(want, have) != 0;
	case RS_CMP_MATCH:
		return reference_glob(want, want + strlen(want), have);
	default:
		return !reference_glob(want, want + strlen(want), have);
	}
}

static __int128 number(const RsTraceField *field, const char *text)
{
	g_auto(GStrv) parts = g_strsplit(text, "|", -1);
	__int128 value = 0;

	for (unsigned int i = 0; parts[i]; i++) {
		bool negative = parts[i][0] == '-';
		char *digits = parts[i] + negative + (negative && parts[i][1] == '(');
		__int128 part = strtoull(digits, NULL, 0);

		for (guint k = 0; field && k < field->n_symbols; k++) {
			if (strcmp(field->symbols[k].name, parts[i]) == 0)
				part = field->symbols[k].value;
		}
		value |= negative ? -part : part;
	}
	return value;
}

static bool judge_number(const struct rs_filter_node *node, __int128 have, __int128 want)
{
	switch (node->cmp) {
	case RS_CMP_EQ:
		return have == want;
	case RS_CMP_NE:
		return have != want;
	case RS_CMP_LT:
		return have < want;
	case RS_CMP_LE:
		return have <= want;
	case RS_CMP_GT:
		return have > want;
	case RS_CMP_GE:
		return have >= want;
	default:
		return (have & want) != 0;
	}
}

static __int128 load(const RsTraceField *field, const guint8 *entry)
{
	uint64_t raw = 0;
	unsigned int up = 64 - 8 * field->size;

	memcpy(&raw, entry + field->offset, field->size);
	return field->is_signed ? (__int128)((int64_t)(raw << up) >> up) : (__int128)raw;
}

static bool cpu_listed(const char *list, unsigned int cpu)
{
	g_auto(GStrv) parts = g_strsplit(list + 5, ",", -1);
	bool found = false;

	for (unsigned int i = 0; parts[i]; i++) {
		unsigned int from = (unsigned int)atoi(parts[i]), to = from;
		char *dash = strchr(parts[i], '-');

		if (dash)
			to = (unsigned int)atoi(dash + 1);
		found |= cpu >= from && cpu <= to;
	}
	return found;
}

static char *value_of(const struct rs_filter_ast *ast, const struct rs_filter_node *node)
{
	bool glob = node->cmp == RS_CMP_MATCH || node->cmp == RS_CMP_NOMATCH;

	return g_string_free(
		(glob ? rs_filter_word_pattern : rs_filter_word_text)(ast, &node->value), FALSE);
}

static char *word(const struct rs_filter_ast *ast, const struct rs_filter_word *w)
{
	return g_string_free(rs_filter_word_text(ast, w), FALSE);
}

static enum reference judge_term(const struct rs_filter_ast *ast, const struct rs_filter_node *node,
				 const RsTraceEvent *event, const struct rs_filter_input *in)
{
	g_autofree char *name = word(ast, &node->field), *value = value_of(ast, node);
	g_autofree char *mask = word(ast, &node->mask), *text = NULL;
	const RsTraceField *field = NULL;
	__int128 have;

	for (guint i = 0; i < event->n_fields; i++) {
		if (strcmp(event->fields[i].name, name) == 0)
			field = &event->fields[i];
	}
	if (field && field->kind == RS_KIND_STRING)
		text = g_strndup((const char *)in->entry + field->offset, field->size);
	else if (field && field->kind == RS_KIND_DYN_STRING)
		text = g_strndup(in->dyn[field->dyn_index].data, in->dyn[field->dyn_index].size);
	else if (!field && g_ascii_strcasecmp(name, "COMM") == 0)
		text = g_strndup(in->comm, RS_COMM_LEN);
	if (text)
		return judge_text(node, value, text) ? REF_TRUE : REF_FALSE;
	if (field)
		have = load(field, in->entry);
	else if (strcmp(name, "TGID") == 0 || strcmp(name, "common_tgid") == 0)
		have = in->tgid;
	else if (strcmp(name, "PID") == 0 || strcmp(name, "common_pid") == 0)
		have = in->pid;
	else if (g_ascii_strcasecmp(name, "CPU") == 0)
		have = in->cpu;
	else
		return REF_UNKNOWN;
	if (g_str_has_prefix(value, "CPUS{"))
		return (have >= 0 && cpu_listed(value, (unsigned int)have)) ==
				       (node->cmp != RS_CMP_NE)
			       ? REF_TRUE
			       : REF_FALSE;
	if (node->has_mask)
		have &= number(field, mask);
	return judge_number(node, have, number(field, value)) ? REF_TRUE : REF_FALSE;
}

/* An unknown term is neutral: && and || ignore it. */
static enum reference judge(const struct rs_filter_ast *ast, unsigned int index,
			    const RsTraceEvent *event, const struct rs_filter_input *in)
{
	const struct rs_filter_node *node = rs_filter_node(ast, index);
	enum reference sum = REF_UNKNOWN;

	if (node->kind == RS_FILTER_TERM)
		return judge_term(ast, node, event, in);
	for (unsigned int i = node->child; i != RS_FILTER_NONE; i = rs_filter_node(ast, i)->next) {
		enum reference one = judge(ast, i, event, in);

		if (node->kind == RS_FILTER_NOT)
			return one == REF_UNKNOWN ? one : one == REF_TRUE ? REF_FALSE : REF_TRUE;
		if (one == REF_UNKNOWN)
			continue;
		if (sum == REF_UNKNOWN)
			sum = one;
		else if (node->kind == RS_FILTER_AND)
			sum = sum == REF_TRUE && one == REF_TRUE ? REF_TRUE : REF_FALSE;
		else
			sum = sum == REF_TRUE || one == REF_TRUE ? REF_TRUE : REF_FALSE;
	}
	return sum;
}

enum reference reference_run(const struct rs_filter_ast *ast, const RsTraceEvent *event,
			     const struct rs_filter_input *input)
{
	return judge(ast, ast->root, event, input);
}
