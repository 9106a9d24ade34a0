/* SPDX-License-Identifier: MIT */
#include "filter/predicate.h"
#include "filter/cpus.h"
#include "filter/nearest.h"
#include "filter/resolve.h"

#include <errno.h>
#include <string.h>

#define SUGGESTED 4u /* a message names the first 4 below */

/* A field of the event hides the same name here. */
static const struct {
	const char *name;
	uint8_t source;
} COMMON[] = {
	{"COMM", RS_SRC_COMM},      {"CPU", RS_SRC_CPU},        {"PID", RS_SRC_PID},
	{"TGID", RS_SRC_TGID},      {"comm", RS_SRC_COMM},      {"cpu", RS_SRC_CPU},
	{"common_cpu", RS_SRC_CPU}, {"common_pid", RS_SRC_PID}, {"common_tgid", RS_SRC_TGID},
};

/* Comparing costs time, and a guest may describe very many fields. */
#define MAX_COMPARED 1000u

const char *rs_filter_nearest(const RsTraceEvent *const *events, size_t count, const char *name)
{
	struct rs_nearest nearest = rs_nearest_to(name);
	unsigned int left = MAX_COMPARED;

	for (size_t e = 0; e < count; e++) {
		for (guint i = 0; i < events[e]->n_fields && left; i++, left--)
			rs_nearest_offer(&nearest, events[e]->fields[i].name);
	}
	for (unsigned int i = 0; i < SUGGESTED; i++)
		rs_nearest_offer(&nearest, COMMON[i].name);
	return nearest.found;
}

int rs_resolve_error(struct rs_resolver *r, const struct rs_filter_word *word, const char *format,
		     ...)
{
	g_autofree char *text = NULL;
	va_list args;

	va_start(args, format);
	text = g_strdup_vprintf(format, args);
	va_end(args);
	return rs_filter_error_set(r->err, EINVAL, word->at, word->length, "%s", text);
}

static int no_such_field(struct rs_resolver *r, const struct rs_filter_word *word, const char *name)
{
	const RsTraceEvent *event = r->event;
	const char *nearest = rs_filter_nearest(&event, 1, name);
	g_autoptr(GString) names = g_string_new(NULL);

	if (nearest)
		return rs_filter_error_set(r->err, ENOENT, word->at, word->length,
					   "%s:%s has no field '%s'; did you mean '%s'?",
					   event->system, event->name, name, nearest);
	for (guint i = 0; i < event->n_fields && i < 12; i++)
		g_string_append_printf(names, "%s, ", event->fields[i].name);
	if (event->n_fields > 12)
		g_string_append(names, "…, ");
	for (unsigned int i = 0; i < SUGGESTED; i++)
		g_string_append_printf(names, "%s%s", i ? ", " : "", COMMON[i].name);
	return rs_filter_error_set(r->err, ENOENT, word->at, word->length,
				   "%s:%s has no field '%s'; it has: %s", event->system,
				   event->name, name, names->str);
}

static bool is_array(const RsTraceField *field)
{
	return field->kind == RS_KIND_ARRAY || field->kind == RS_KIND_DYN_ARRAY;
}

/* One element of an array is an integer without symbols. */
static int take_element(struct rs_resolver *r, const struct rs_filter_word *word,
			const RsTraceField *field, uint32_t index, struct rs_subject *s)
{
	uint64_t at = (uint64_t)index * field->elem_size;

	s->field = NULL;
	g_snprintf(s->name, sizeof(s->name), "%s[%u]", field->name, index);
	g_snprintf(s->type, sizeof(s->type), "%c%u", field->is_signed ? 's' : 'u',
		   field->elem_size * 8);
	s->bits = field->elem_size * 8;
	s->is_signed = field->is_signed;
	if (field->kind == RS_KIND_ARRAY) {
		s->source = RS_SRC_FIELD;
		s->width = (uint16_t)field->elem_size;
		s->offset = (uint16_t)(field->offset + at);
		s->is_beyond = index >= field->elem_count;
	} else {
		s->source = RS_SRC_DYN_INT;
		s->width = (uint16_t)(field->elem_size | field->dyn_index << 8);
		s->offset = (uint16_t)at;
		s->is_beyond = at > UINT16_MAX;
	}
	if (!s->is_beyond || !r->strict)
		return 0;
	return field->kind == RS_KIND_ARRAY
		       ? rs_resolve_error(r, word, "'%s' has %u elements, counted from 0",
					  field->name, field->elem_count)
		       : rs_resolve_error(r, word, "a filter looks at the first %u bytes of '%s'",
					  UINT16_MAX + 1, field->name);
}

static int take_field(struct rs_resolver *r, const struct rs_filter_word *word,
		      const RsTraceField *field, struct rs_subject *s)
{
	s->field = field;
	g_strlcpy(s->type, field->type ? field->type : "", sizeof(s->type));
	s->offset = (uint16_t)field->offset;
	s->width = (uint16_t)field->size;
	s->is_signed = field->is_signed;
	switch (field->kind) {
	case RS_KIND_STRING:
		s->is_text = true;
		s->source = RS_SRC_STRING;
		return 0;
	case RS_KIND_DYN_STRING:
		s->is_text = true;
		s->source = RS_SRC_DYN;
		s->width = (uint16_t)field->dyn_index;
		return 0;
	case RS_KIND_ARRAY:
		s->is_array = true;
		s->source = RS_SRC_FIELD;
		s->width = 0; /* who looks at integers of it says how wide they are */
		s->bits = field->size * 8;
		return 0;
	case RS_KIND_DYN_ARRAY:
		s->is_array = true;
		s->source = RS_SRC_DYN_INT;
		s->offset = 0;
		s->width = (uint16_t)(field->dyn_index << 8);
		return 0;
	default:
		if (field->size != 1 && field->size != 2 && field->size != 4 && field->size != 8)
			return rs_resolve_error(r, word, "this field is of no size");
		s->bits = field->size * 8;
		s->source = RS_SRC_FIELD;
		return 0;
	}
}

static int take_common(struct rs_subject *s)
{
	for (unsigned int i = 0; i < G_N_ELEMENTS(COMMON); i++) {
		if (strcmp(COMMON[i].name, s->name) != 0)
			continue;
		s->source = COMMON[i].source;
		s->is_text = s->source == RS_SRC_COMM;
		s->bits = 32;
		if (s->is_text)
			g_snprintf(s->type, sizeof(s->type), "char[%u]", RS_COMM_LEN);
		else
			g_strlcpy(s->type, "u32", sizeof(s->type));
		return 0;
	}
	return 1;
}

int rs_resolve_name(struct rs_resolver *r, const struct rs_filter_word *word, const char *name,
		    bool has_index, uint32_t index, struct rs_subject *out)
{
	const RsTraceField *field = rs_trace_event_field(r->event, name);
	int ret;

	*out = (struct rs_subject){0};
	/* a name that is too long is cut, and is none of an event, since those are shorter */
	g_strlcpy(out->name, name, sizeof(out->name));
	if (field && has_index && is_array(field))
		return take_element(r, word, field, index, out);
	ret = field ? take_field(r, word, field, out) : take_common(out);
	if (ret || !has_index)
		return ret;
	return rs_resolve_error(r, word, "'%s' is no array, but %s", out->name,
				out->is_text ? "a string" : "a number");
}

/* Fills the subject. If a lenient look-up finds nothing, the verdict is UNKNOWN. */
static int find_subject(struct rs_resolver *r)
{
	const struct rs_filter_node *term = r->term;
	g_autofree char *name = g_strndup(r->ast->text + term->field.at, term->field.length);
	int ret = rs_resolve_name(r, &term->field, name, term->has_index, term->index, &r->subject);

	if (ret < 0)
		return ret;
	if (ret && r->strict)
		return no_such_field(r, &term->field, name);
	r->out->source = r->subject.source;
	r->out->width = r->subject.width;
	r->out->offset = r->subject.offset;
	if (ret)
		r->out->verdict = RS_PRED_UNKNOWN;
	else if (r->subject.is_beyond)
		r->out->verdict = RS_PRED_NEVER;
	return 0;
}

static int resolve_glob(struct rs_resolver *r, const char *pattern, size_t size)
{
	static const uint8_t ops[] = {[RS_GLOB_EXACT] = RS_OP_STR_EQ,
				      [RS_GLOB_PREFIX] = RS_OP_STR_PREFIX,
				      [RS_GLOB_SUFFIX] = RS_OP_STR_SUFFIX,
				      [RS_GLOB_INSIDE] = RS_OP_STR_SUB,
				      [RS_GLOB_TABLE] = RS_OP_STR_GLOB};
	const struct rs_filter_word *word = &r->term->value;
	struct rs_filter_predicate *out = r->out;
	bool inverted = *pattern == '!'; /* as in Linux */
	size_t at;
	const char *why = rs_glob_parse(pattern + inverted, size - inverted, &out->glob, &at);

	if (why) {
		at = MIN(at + inverted, word->length);
		return rs_filter_error_set(r->err, EINVAL, word->at + (unsigned int)at,
					   word->length - (unsigned int)at, "%s", why);
	}
	out->negate ^= inverted;
	if (out->glob.shape == RS_GLOB_ALL)
		out->verdict = out->negate ? RS_PRED_NEVER : RS_PRED_ALWAYS;
	else
		out->op = ops[out->glob.shape];
	return 0;
}

/* Whether the text must be as long as that, at least. */
static bool has_length(const struct rs_filter_predicate *p)
{
	return p->op != RS_OP_STR_GLOB &&
	       p->glob.literal->len > rs_filter_capacity(p->source, p->width);
}

static int resolve_text(struct rs_resolver *r)
{
	const struct rs_filter_word *word = &r->term->value;
	enum rs_filter_cmp cmp = r->term->cmp;
	struct rs_filter_predicate *out = r->out;
	struct rs_subject other;
	g_autoptr(GString) text = NULL;
	int ret = 0;

	if (cmp == RS_CMP_ANY || r->term->has_mask || (cmp >= RS_CMP_LT && cmp <= RS_CMP_GE))
		return rs_resolve_error(r, &r->term->field,
					"'%s' is a string: it can be compared with ==, !=, ~ and "
					"!~ only",
					r->subject.name);
	out->verdict = RS_PRED_TEXT;
	out->op = RS_OP_STR_EQ;
	out->negate = cmp == RS_CMP_NE || cmp == RS_CMP_NOMATCH || cmp == RS_CMP_TRUE;
	text = cmp == RS_CMP_TRUE ? g_string_new(NULL) : rs_filter_word_text(r->ast, word);
	if (rs_resolve_is_name(r) && !rs_resolve_name(r, word, text->str, false, 0, &other) &&
	    other.is_text)
		return rs_resolve_error(r, word,
					"'%s' is a field, and two strings cannot be compared; in "
					"quotes it is a text",
					text->str);
	if (cmp == RS_CMP_MATCH || cmp == RS_CMP_NOMATCH) {
		g_string_free(text, TRUE);
		text = rs_filter_word_pattern(r->ast, word);
		ret = resolve_glob(r, text->str, text->len);
	} else {
		out->glob.literal = g_steal_pointer(&text);
	}
	if (ret || out->verdict != RS_PRED_TEXT || !has_length(out))
		return ret;
	if (r->strict)
		return rs_resolve_error(r, word,
					"'%s' (%s) holds %u bytes at most: it can never be this",
					r->subject.name, r->subject.type,
					rs_filter_capacity(out->source, out->width));
	out->verdict = out->negate ? RS_PRED_ALWAYS : RS_PRED_NEVER;
	return 0;
}

bool rs_resolve_is_name(const struct rs_resolver *r)
{
	const struct rs_filter_word *word = &r->term->value;
	const char *s = r->ast->text + word->at;
	unsigned int n = 0;

	if (word->quote || !word->length || g_ascii_isdigit(*s))
		return false;
	while (n < word->length && (g_ascii_isalnum(s[n]) || s[n] == '_'))
		n++;
	return n == word->length || s[n] == '[';
}

static int resolve_array(struct rs_resolver *r)
{
	if (rs_filter_is_cpus(r->ast, &r->term->value))
		return rs_resolve_cpus(r);
	return rs_resolve_error(r, &r->term->field,
				"'%s' is an array (%s): compare one element, as %s[0], or all of "
				"it with CPUS{}",
				r->subject.name, r->subject.type, r->subject.name);
}

int rs_filter_resolve(const struct rs_filter_ast *ast, const struct rs_filter_node *term,
		      const RsTraceEvent *event, bool strict, struct rs_filter_predicate *out,
		      struct rs_filter_error *err)
{
	struct rs_filter_predicate predicate = {.verdict = RS_PRED_INTEGER};
	struct rs_resolver r = {.ast = ast,
				.term = term,
				.event = event,
				.strict = strict,
				.out = &predicate,
				.err = err};
	int ret = find_subject(&r);

	if (!ret && predicate.verdict == RS_PRED_INTEGER)
		ret = term->function       ? rs_resolve_function(&r)
		      : r.subject.is_text  ? resolve_text(&r)
		      : r.subject.is_array ? resolve_array(&r)
					   : rs_resolve_integer(&r);
	if (ret)
		rs_filter_predicate_clear(&predicate);
	else
		*out = predicate;
	return ret;
}

void rs_filter_predicate_clear(struct rs_filter_predicate *predicate)
{
	rs_glob_clear(&predicate->glob);
}
