/* SPDX-License-Identifier: MIT */
#include "filter/predicate.h"
#include "filter/nearest.h"
#include "filter/number.h"

#include <errno.h>
#include <string.h>

/* What a term's name means: a field of the event, or one of the names that every event has. */
struct subject {
	const RsTraceField *field; /* NULL for the latter */
	char name[RS_NAME_MAX + 1];
	char type[RS_NAME_MAX + 1]; /* for messages */
	unsigned int bits;          /* integers */
	bool is_signed, is_text;
};

struct resolver {
	const struct rs_filter_ast *ast;
	const struct rs_filter_node *term;
	bool strict;
	struct subject subject;
	struct rs_filter_predicate *out;
	struct rs_filter_error *err;
};

#define SUGGESTED 4u /* a message names the first 4 below */

/* A field of the event hides the same name here. */
static const struct {
	const char *name;
	uint8_t source;
} COMMON[] = {
	{"COMM", RS_SRC_COMM},      {"CPU", RS_SRC_CPU},          {"PID", RS_SRC_PID},
	{"TGID", RS_SRC_TGID},      {"comm", RS_SRC_COMM},        {"cpu", RS_SRC_CPU},
	{"common_pid", RS_SRC_PID}, {"common_tgid", RS_SRC_TGID},
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

static int word_error(struct resolver *r, const struct rs_filter_word *word, const char *what)
{
	return rs_filter_error_set(r->err, EINVAL, word->at, word->length, "%s", what);
}

static int no_such_field(struct resolver *r, const RsTraceEvent *event)
{
	const struct rs_filter_word *word = &r->term->field;
	const char *nearest = rs_filter_nearest(&event, 1, r->subject.name);
	g_autoptr(GString) names = g_string_new(NULL);

	if (nearest)
		return rs_filter_error_set(r->err, ENOENT, word->at, word->length,
					   "%s:%s has no field '%s'; did you mean '%s'?",
					   event->system, event->name, r->subject.name, nearest);
	for (guint i = 0; i < event->n_fields && i < 12; i++)
		g_string_append_printf(names, "%s, ", event->fields[i].name);
	if (event->n_fields > 12)
		g_string_append(names, "…, ");
	for (unsigned int i = 0; i < SUGGESTED; i++)
		g_string_append_printf(names, "%s%s", i ? ", " : "", COMMON[i].name);
	return rs_filter_error_set(r->err, ENOENT, word->at, word->length,
				   "%s:%s has no field '%s'; it has: %s", event->system,
				   event->name, r->subject.name, names->str);
}

static int subject_of_field(struct resolver *r, const RsTraceField *field)
{
	struct rs_filter_predicate *out = r->out;
	struct subject *s = &r->subject;

	s->field = field;
	g_strlcpy(s->type, field->type ? field->type : "", sizeof(s->type));
	out->offset = (uint16_t)field->offset;
	out->width = (uint16_t)field->size;
	switch (field->kind) {
	case RS_KIND_STRING:
		s->is_text = true;
		out->source = RS_SRC_STRING;
		return 0;
	case RS_KIND_DYN_STRING:
		s->is_text = true;
		out->source = RS_SRC_DYN;
		out->width = (uint16_t)field->dyn_index;
		return 0;
	case RS_KIND_ARRAY:
	case RS_KIND_DYN_ARRAY:
		return rs_filter_error_set(r->err, EINVAL, r->term->field.at, r->term->field.length,
					   "'%s' is an array (%s): only numbers and strings can be "
					   "compared",
					   s->name, s->type);
	default:
		if (field->size != 1 && field->size != 2 && field->size != 4 && field->size != 8)
			return word_error(r, &r->term->field, "this field is of no size");
		s->bits = field->size * 8;
		s->is_signed = field->is_signed;
		out->source = RS_SRC_FIELD;
		return 0;
	}
}

/* Fills the subject. If a lenient look-up finds nothing, the verdict is UNKNOWN. */
static int find_subject(struct resolver *r, const RsTraceEvent *event)
{
	const struct rs_filter_word *word = &r->term->field;
	struct subject *s = &r->subject;
	const RsTraceField *field;

	/* a name that is too long is cut and matches no field, since those are shorter */
	memcpy(s->name, r->ast->text + word->at, MIN(word->length, sizeof(s->name) - 1));
	field = rs_trace_event_field(event, s->name);
	if (field)
		return subject_of_field(r, field);
	for (unsigned int i = 0; i < G_N_ELEMENTS(COMMON); i++) {
		if (strcmp(COMMON[i].name, s->name) != 0)
			continue;
		r->out->source = COMMON[i].source;
		s->is_text = COMMON[i].source == RS_SRC_COMM;
		s->bits = 32;
		if (s->is_text)
			g_snprintf(s->type, sizeof(s->type), "char[%u]", RS_COMM_LEN);
		else
			g_strlcpy(s->type, "u32", sizeof(s->type));
		return 0;
	}
	if (r->strict)
		return no_such_field(r, event);
	r->out->verdict = RS_PRED_UNKNOWN;
	return 0;
}

static int text_capacity(const struct rs_filter_predicate *p)
{
	if (p->source == RS_SRC_COMM)
		return RS_COMM_LEN;
	return p->source == RS_SRC_STRING ? MIN(p->width, RS_FILTER_MAX_STRING)
					  : (int)RS_FILTER_MAX_STRING;
}

static int resolve_glob(struct resolver *r, const char *pattern, size_t size)
{
	static const uint8_t ops[] = {[RS_GLOB_EXACT] = RS_OP_STR_EQ,
				      [RS_GLOB_PREFIX] = RS_OP_STR_PREFIX,
				      [RS_GLOB_SUFFIX] = RS_OP_STR_SUFFIX,
				      [RS_GLOB_TABLE] = RS_OP_STR_GLOB};
	const struct rs_filter_word *word = &r->term->value;
	struct rs_filter_predicate *out = r->out;
	size_t at;
	const char *why = rs_glob_parse(pattern, size, &out->glob, &at);

	if (why)
		return rs_filter_error_set(r->err, EINVAL, word->at + (unsigned int)at,
					   at < word->length ? word->length - (unsigned int)at : 0,
					   "%s", why);
	if (out->glob.shape == RS_GLOB_ALL)
		out->verdict = out->negate ? RS_PRED_NEVER : RS_PRED_ALWAYS;
	else
		out->op = ops[out->glob.shape];
	return 0;
}

static int resolve_text(struct resolver *r)
{
	const struct rs_filter_word *word = &r->term->value;
	enum rs_filter_cmp cmp = r->term->cmp;
	struct rs_filter_predicate *out = r->out;
	g_autoptr(GString) text = NULL;
	int ret = 0;

	if (cmp == RS_CMP_ANY || r->term->has_mask || (cmp >= RS_CMP_LT && cmp <= RS_CMP_GE))
		return rs_filter_error_set(
			r->err, EINVAL, r->term->field.at, r->term->field.length,
			"'%s' is a string: it can be compared with ==, !=, ~ and "
			"!~ only",
			r->subject.name);
	out->verdict = RS_PRED_TEXT;
	out->negate = cmp == RS_CMP_NE || cmp == RS_CMP_NOMATCH;
	if (cmp == RS_CMP_MATCH || cmp == RS_CMP_NOMATCH) {
		text = rs_filter_word_pattern(r->ast, word);
		ret = resolve_glob(r, text->str, text->len);
	} else {
		text = rs_filter_word_text(r->ast, word);
		out->op = RS_OP_STR_EQ;
		out->glob.literal = g_string_new_len(text->str, (gssize)text->len);
	}
	if (ret || out->verdict != RS_PRED_TEXT || out->op == RS_OP_STR_GLOB ||
	    out->glob.literal->len <= (gsize)text_capacity(out))
		return ret;
	if (r->strict)
		return rs_filter_error_set(r->err, EINVAL, word->at, word->length,
					   "'%s' (%s) holds %d bytes at most: it can never be this",
					   r->subject.name, r->subject.type, text_capacity(out));
	out->verdict = out->negate ? RS_PRED_ALWAYS : RS_PRED_NEVER;
	return 0;
}

static const char *wide_text(rs_wide_t value, char *buffer, size_t size)
{
	if (value < 0)
		g_snprintf(buffer, (gulong)size, "-%" G_GUINT64_FORMAT, (guint64)-value);
	else
		g_snprintf(buffer, (gulong)size, "%" G_GUINT64_FORMAT, (guint64)value);
	return buffer;
}

/* `what` stands before the field's name. */
static int range_error(struct resolver *r, const struct rs_filter_word *word, const char *what,
		       rs_wide_t value, rs_wide_t low, rs_wide_t high)
{
	const struct subject *s = &r->subject;
	rs_wide_t span = (rs_wide_t)1 << s->bits;
	char a[32], b[32], hint[64] = "";

	if (!s->is_signed && value < 0 && -value <= span)
		g_snprintf(hint, sizeof(hint), "; the same bits are 0x%" G_GINT64_MODIFIER "x",
			   (guint64)(span + value));
	else if (s->is_signed && value > high && value < span)
		g_snprintf(hint, sizeof(hint), "; the same bits are %s",
			   wide_text(value - span, a, sizeof(a)));
	return rs_filter_error_set(r->err, EINVAL, word->at, word->length,
				   "%s'%s' (%s) lies between %s and %s%s", what, s->name, s->type,
				   wide_text(low, a, sizeof(a)), wide_text(high, b, sizeof(b)),
				   hint);
}

/* Whether the comparison is true for all of low..high, for none of them, or for some. */
static enum rs_filter_verdict fold(enum rs_filter_cmp cmp, rs_wide_t value, rs_wide_t low,
				   rs_wide_t high)
{
	bool never = false, always = false;

	switch (cmp) {
	case RS_CMP_EQ:
		never = value < low || value > high;
		always = low == high && value == low;
		break;
	case RS_CMP_NE:
		always = value < low || value > high;
		never = low == high && value == low;
		break;
	case RS_CMP_LT:
		never = value <= low;
		always = value > high;
		break;
	case RS_CMP_LE:
		never = value < low;
		always = value >= high;
		break;
	case RS_CMP_GT:
		never = value >= high;
		always = value < low;
		break;
	default: /* GE */
		never = value > high;
		always = value <= low;
		break;
	}
	return never ? RS_PRED_NEVER : always ? RS_PRED_ALWAYS : RS_PRED_INTEGER;
}

static void emit_integer(struct resolver *r, bool is_signed, rs_wide_t mask, rs_wide_t value)
{
	static const uint8_t plain[] = {RS_OP_EQ, RS_OP_NE, RS_OP_LT, RS_OP_LE, RS_OP_GT, RS_OP_GE};
	static const uint8_t extended[] = {RS_OP_SEQ, RS_OP_SNE, RS_OP_SLT,
					   RS_OP_SLE, RS_OP_SGT, RS_OP_SGE};

	r->out->op = is_signed ? extended[r->term->cmp] : plain[r->term->cmp];
	r->out->mask = (uint64_t)mask;
	r->out->imm = (uint64_t)value;
}

/* Reads the mask and limits it to the bits that the field has. */
static int resolve_mask(struct resolver *r, const struct rs_filter_word *word, rs_wide_t *mask)
{
	const struct subject *s = &r->subject;
	rs_wide_t span = (rs_wide_t)1 << s->bits;
	rs_wide_t low = s->is_signed ? -(span >> 1) : 0;
	int ret;

	if (rs_filter_is_cpus(r->ast, word))
		return word_error(r, word, "a CPU list stands alone: CPU & CPUS{0-2,5}");
	ret = rs_filter_number(r->ast, word, s->field, s->name, mask, r->err);
	if (ret)
		return ret;
	if (*mask == 0)
		return word_error(r, word, "a mask of 0 leaves nothing to compare");
	if (*mask < low || *mask >= span) {
		if (r->strict || s->is_signed)
			return range_error(r, word, "a mask for ", *mask, low, span - 1);
		*mask &= span - 1; /* the bits above are 0 in the field */
	}
	return 0;
}

/* field & mask */
static int resolve_any(struct resolver *r)
{
	rs_wide_t mask;
	int ret = resolve_mask(r, &r->term->value, &mask);

	if (ret)
		return ret;
	r->out->verdict = mask ? RS_PRED_INTEGER : RS_PRED_NEVER;
	r->out->op = mask < 0 ? RS_OP_SNE : RS_OP_ANY;
	r->out->mask = (uint64_t)mask;
	return 0;
}

/* field & mask cmp value. A mask that is not negative makes the result an unsigned one. */
static int resolve_masked(struct resolver *r)
{
	const struct rs_filter_word *word = &r->term->value;
	enum rs_filter_cmp cmp = r->term->cmp;
	const struct subject *s = &r->subject;
	rs_wide_t span = (rs_wide_t)1 << s->bits, mask, value, low, high;
	int ret = resolve_mask(r, &r->term->mask, &mask);
	bool outside;

	if (!ret)
		ret = rs_filter_number(r->ast, word, s->field, s->name, &value, r->err);
	if (ret)
		return ret;
	low = mask < 0 ? -(span >> 1) : 0;
	high = mask < 0 ? (span >> 1) - 1 : mask;
	outside = (cmp == RS_CMP_EQ || cmp == RS_CMP_NE) && (value & ~mask);
	if (r->strict && (value < low || value > high || outside))
		return word_error(r, word, "under this mask the value can never be reached");
	r->out->verdict = fold(cmp, value, low, high);
	emit_integer(r, mask < 0, mask, value);
	return 0;
}

/* field cmp value */
static int resolve_plain(struct resolver *r)
{
	const struct rs_filter_word *word = &r->term->value;
	const struct subject *s = &r->subject;
	rs_wide_t span = (rs_wide_t)1 << s->bits, value;
	rs_wide_t low = s->is_signed ? -(span >> 1) : 0;
	rs_wide_t high = (s->is_signed ? span >> 1 : span) - 1;
	int ret = rs_filter_number(r->ast, word, s->field, s->name, &value, r->err);

	if (ret)
		return ret;
	if (r->strict && (value < low || value > high))
		return range_error(r, word, "", value, low, high);
	r->out->verdict = fold(r->term->cmp, value, low, high);
	emit_integer(r, s->is_signed, s->is_signed ? -1 : span - 1, value);
	return 0;
}

/* CPU & CPUS{..}, and CPU == CPUS{n} as Linux takes it. */
static int resolve_cpus(struct resolver *r)
{
	const struct rs_filter_word *word = &r->term->value;
	enum rs_filter_cmp cmp = r->term->cmp;
	uint8_t *set = r->out->cpus;
	bool tiny = r->subject.is_signed && r->subject.bits == 8;
	unsigned int count, first = 0;
	int ret = rs_filter_cpus(r->ast, word, set, &count, r->err);

	if (ret)
		return ret;
	if (r->out->source == RS_SRC_PID || r->out->source == RS_SRC_TGID)
		return word_error(r, word,
				  "a CPU list goes with CPU and with fields that are CPUs");
	if (r->term->has_mask || (cmp != RS_CMP_ANY && cmp != RS_CMP_EQ && cmp != RS_CMP_NE) ||
	    (cmp != RS_CMP_ANY && count != 1))
		return word_error(r, word, "a CPU list is asked with &: CPU & CPUS{0-2,5}");
	if (cmp == RS_CMP_ANY) {
		/* A negative value is read as a large one, and no CPU has its number. */
		if (tiny)
			memset(set + 128 / 8, 0, sizeof(r->out->cpus) - 128 / 8);
		r->out->verdict = RS_PRED_CPUS;
		r->out->op = RS_OP_CPUSET;
		return 0;
	}
	while (!(set[first / 8] >> first % 8 & 1))
		first++;
	if (tiny && first >= 128) {
		r->out->verdict = cmp == RS_CMP_EQ ? RS_PRED_NEVER : RS_PRED_ALWAYS;
		return 0;
	}
	r->out->verdict = RS_PRED_INTEGER;
	emit_integer(r, false, ((rs_wide_t)1 << r->subject.bits) - 1, first);
	return 0;
}

static int resolve_integer(struct resolver *r)
{
	enum rs_filter_cmp cmp = r->term->cmp;

	if (cmp == RS_CMP_MATCH || cmp == RS_CMP_NOMATCH)
		return rs_filter_error_set(r->err, EINVAL, r->term->field.at, r->term->field.length,
					   "'%s' (%s) is a number: ~ is for strings",
					   r->subject.name, r->subject.type);
	if (rs_filter_is_cpus(r->ast, &r->term->value))
		return resolve_cpus(r);
	if (cmp == RS_CMP_ANY)
		return resolve_any(r);
	return r->term->has_mask ? resolve_masked(r) : resolve_plain(r);
}

int rs_filter_resolve(const struct rs_filter_ast *ast, const struct rs_filter_node *term,
		      const RsTraceEvent *event, bool strict, struct rs_filter_predicate *out,
		      struct rs_filter_error *err)
{
	struct rs_filter_predicate predicate = {.verdict = RS_PRED_INTEGER};
	struct resolver r = {
		.ast = ast, .term = term, .strict = strict, .out = &predicate, .err = err};
	int ret = find_subject(&r, event);

	if (!ret && predicate.verdict != RS_PRED_UNKNOWN)
		ret = r.subject.is_text ? resolve_text(&r) : resolve_integer(&r);
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
