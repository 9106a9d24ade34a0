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
	bool glob = node->cmp == RS_CMP_MATCH || node->cmp == RS_CMP_NOMATCH;

	if (node->cmp == RS_CMP_TRUE)
		return *have;
	if (glob && *want == '!')
		return reference_glob(want + 1, want + strlen(want), have) !=
		       (node->cmp == RS_CMP_MATCH);
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
	case RS_CMP_TRUE:
		return have != 0;
	default:
		return (have & want) != 0;
	}
}

static __int128 load(const void *at, unsigned int size, bool is_signed)
{
	uint64_t raw = 0;
	unsigned int up = 64 - 8 * size;

	memcpy(&raw, at, size);
	return is_signed ? (__int128)((int64_t)(raw << up) >> up) : (__int128)raw;
}

/* In a list, which has no blanks but after commas. */
static bool cpu_listed(const char *list, unsigned int cpu)
{
	g_auto(GStrv) parts = g_strsplit(list + 5, ",", -1);
	bool found = false;

	for (unsigned int i = 0; parts[i]; i++) {
		const char *part = g_strstrip(parts[i]), *dash = strchr(part, '-');
		const char *colon = strchr(part, ':');
		unsigned int from = g_str_has_prefix(part, "all") ? 0 : (unsigned int)atoi(part);
		unsigned int to = g_str_has_prefix(part, "all") ? 1023 : from, used = 1, group = 1;

		if (dash)
			to = dash[1] == 'N' ? 1023 : (unsigned int)atoi(dash + 1);
		if (colon) {
			used = (unsigned int)atoi(colon + 1);
			group = (unsigned int)atoi(strchr(colon, '/') + 1);
		}
		found |= cpu >= from && cpu <= to && (cpu - from) % group < used;
	}
	return found;
}

/* What a name stands for in an entry. */
struct thing {
	enum { NOTHING, GONE, NUMBER, TEXT, BITS } kind;
	__int128 number;
	char *text; /* to be freed */
	const uint8_t *bits;
	unsigned int size;
	const RsTraceField *field;
};

static void find_in_array(const RsTraceField *field, const struct rs_filter_input *in, int index,
			  struct thing *out)
{
	bool dynamic = field->kind == RS_KIND_DYN_ARRAY;

	out->bits = dynamic ? in->dyn[field->dyn_index].data
			    : (const uint8_t *)in->entry + field->offset;
	out->size = dynamic ? in->dyn[field->dyn_index].size : field->size;
	if (!out->bits)
		out->size = 0;
	out->kind = BITS;
	if (index < 0)
		return;
	out->kind = GONE;
	if ((unsigned int)index >= out->size / field->elem_size)
		return;
	out->kind = NUMBER;
	out->field = NULL;
	out->number = load(out->bits + (unsigned int)index * field->elem_size, field->elem_size,
			   field->is_signed);
}

static struct thing find(const RsTraceEvent *event, const struct rs_filter_input *in,
			 const char *name, int index)
{
	struct thing out = {.kind = NUMBER};

	for (guint i = 0; i < event->n_fields; i++) {
		if (strcmp(event->fields[i].name, name) == 0)
			out.field = &event->fields[i];
	}
	if (out.field && (out.field->kind == RS_KIND_ARRAY || out.field->kind == RS_KIND_DYN_ARRAY))
		find_in_array(out.field, in, index, &out);
	else if (out.field && out.field->kind == RS_KIND_STRING)
		out.text = g_strndup((const char *)in->entry + out.field->offset, out.field->size);
	else if (out.field && out.field->kind == RS_KIND_DYN_STRING)
		out.text = g_strndup(in->dyn[out.field->dyn_index].data,
				     in->dyn[out.field->dyn_index].size);
	else if (out.field)
		out.number = load((const uint8_t *)in->entry + out.field->offset, out.field->size,
				  out.field->is_signed);
	else if (g_ascii_strcasecmp(name, "COMM") == 0)
		out.text = g_strndup(in->comm, RS_COMM_LEN);
	else if (strcmp(name, "TGID") == 0 || strcmp(name, "common_tgid") == 0)
		out.number = in->tgid;
	else if (strcmp(name, "PID") == 0 || strcmp(name, "common_pid") == 0)
		out.number = in->pid;
	else if (g_ascii_strcasecmp(name, "CPU") == 0 || strcmp(name, "common_cpu") == 0)
		out.number = in->cpu;
	else
		out.kind = NOTHING;
	if (out.text)
		out.kind = TEXT;
	return out;
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

static bool judge_bits(const struct rs_filter_node *node, const struct thing *have,
		       const char *list)
{
	bool meet = false, same = true;

	for (unsigned int cpu = 0; cpu < 1024; cpu++) {
		bool bit = cpu / 8 < have->size && have->bits[cpu / 8] >> cpu % 8 & 1;

		meet |= bit && cpu_listed(list, cpu);
		same &= bit == cpu_listed(list, cpu);
	}
	return node->cmp == RS_CMP_ANY ? meet : same == (node->cmp == RS_CMP_EQ);
}

static bool judge_cpu(const struct rs_filter_node *node, __int128 have, const char *list)
{
	return (have >= 0 && have < 1024 && cpu_listed(list, (unsigned int)have)) ==
	       (node->cmp != RS_CMP_NE);
}

/* The value is a name: what that stands for. */
static struct thing find_other(const RsTraceEvent *event, const struct rs_filter_input *in,
			       const RsTraceField *field, const char *value)
{
	g_auto(GStrv) parts = g_strsplit(value, "[", 2);

	for (guint i = 0; field && i < field->n_symbols; i++) {
		if (strcmp(field->symbols[i].name, value) == 0)
			return (struct thing){.kind = NOTHING};
	}
	return find(event, in, parts[0] ? parts[0] : "",
		    parts[0] && parts[1] ? atoi(parts[1]) : -1);
}

static enum reference judge_integer(const struct rs_filter_ast *ast,
				    const struct rs_filter_node *node, const RsTraceEvent *event,
				    const struct rs_filter_input *in, const struct thing *have,
				    const char *value)
{
	g_autofree char *mask = word(ast, &node->mask);
	struct thing other = {.kind = NOTHING};
	__int128 number_of = have->number;

	if (g_str_has_prefix(value, "CPUS{"))
		return judge_cpu(node, have->number, value) ? REF_TRUE : REF_FALSE;
	if (!node->value.quote)
		other = find_other(event, in, have->field, value);
	g_free(other.text);
	if (other.kind == GONE)
		return REF_FALSE;
	if (other.kind == NUMBER)
		return judge_number(node, have->number, other.number) ? REF_TRUE : REF_FALSE;
	if (g_ascii_isalpha(*value) && !(have->field && have->field->n_symbols))
		return REF_UNKNOWN; /* a field of another event */
	if (node->has_mask)
		number_of &= number(have->field, mask);
	return judge_number(node, number_of, number(have->field, value)) ? REF_TRUE : REF_FALSE;
}

static enum reference judge_term(const struct rs_filter_ast *ast, const struct rs_filter_node *node,
				 const RsTraceEvent *event, const struct rs_filter_input *in)
{
	g_autofree char *name = word(ast, &node->field), *value = value_of(ast, node);
	struct thing have = find(event, in, name, node->has_index ? (int)node->index : -1);
	bool yes = false;

	if (have.kind == NOTHING)
		return REF_UNKNOWN;
	if (have.kind == TEXT)
		yes = judge_text(node, value, have.text);
	else if (have.kind == BITS)
		yes = judge_bits(node, &have, value);
	else if (have.kind == NUMBER)
		return judge_integer(ast, node, event, in, &have, value);
	g_free(have.text);
	return yes ? REF_TRUE : REF_FALSE;
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
