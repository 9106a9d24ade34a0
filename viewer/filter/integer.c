/* SPDX-License-Identifier: MIT */
/* Terms that compare numbers. */
#include "filter/resolve.h"

#include "filter/cpus.h"
#include <errno.h>
#include <string.h>

static const char *wide_text(rs_wide_t value, char *buffer, size_t size)
{
	if (value < 0)
		g_snprintf(buffer, (gulong)size, "-%" G_GUINT64_FORMAT, (guint64)-value);
	else
		g_snprintf(buffer, (gulong)size, "%" G_GUINT64_FORMAT, (guint64)value);
	return buffer;
}

/* `what` stands before the field's name. */
static int range_error(struct rs_resolver *r, const struct rs_filter_word *word, const char *what,
		       rs_wide_t value, rs_wide_t low, rs_wide_t high)
{
	const struct rs_subject *s = &r->subject;
	rs_wide_t span = (rs_wide_t)1 << s->bits;
	char a[32], b[32], hint[64] = "";

	if (!s->is_signed && value < 0 && -value <= span)
		g_snprintf(hint, sizeof(hint), "; the same bits are 0x%" G_GINT64_MODIFIER "x",
			   (guint64)(span + value));
	else if (s->is_signed && value > high && value < span)
		g_snprintf(hint, sizeof(hint), "; the same bits are %s",
			   wide_text(value - span, a, sizeof(a)));
	return rs_resolve_error(r, word, "%s'%s' (%s) lies between %s and %s%s", what, s->name,
				s->type, wide_text(low, a, sizeof(a)),
				wide_text(high, b, sizeof(b)), hint);
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

void rs_resolve_compare(struct rs_resolver *r, bool is_signed, rs_wide_t mask, rs_wide_t value)
{
	static const uint8_t plain[] = {RS_OP_EQ, RS_OP_NE, RS_OP_LT, RS_OP_LE, RS_OP_GT, RS_OP_GE};
	static const uint8_t extended[] = {RS_OP_SEQ, RS_OP_SNE, RS_OP_SLT,
					   RS_OP_SLE, RS_OP_SGT, RS_OP_SGE};

	r->out->op = is_signed ? extended[r->term->cmp] : plain[r->term->cmp];
	r->out->mask = (uint64_t)mask;
	r->out->imm = (uint64_t)value;
}

/*
 * A test that is always true needs no code, unless the element may be missing: then any test of it
 * does, as it is false of what is not there.
 */
static void settle(struct rs_resolver *r, enum rs_filter_verdict verdict)
{
	r->out->verdict = verdict;
	if (verdict != RS_PRED_ALWAYS || r->out->source != RS_SRC_DYN_INT)
		return;
	r->out->verdict = RS_PRED_INTEGER;
	r->out->op = RS_OP_EQ;
	r->out->mask = r->out->imm = 0;
}

/* Reads the mask and limits it to the bits that the field has. */
static int resolve_mask(struct rs_resolver *r, const struct rs_filter_word *word, rs_wide_t *mask)
{
	const struct rs_subject *s = &r->subject;
	rs_wide_t span = (rs_wide_t)1 << s->bits;
	rs_wide_t low = s->is_signed ? -(span >> 1) : 0;
	int ret;

	if (rs_filter_is_cpus(r->ast, word))
		return rs_resolve_error(r, word, "a CPU list stands alone: CPU & CPUS{0-2,5}");
	ret = rs_filter_number(r->ast, word, s->field, s->name, mask, r->err);
	if (ret)
		return ret;
	if (*mask == 0)
		return rs_resolve_error(r, word, "a mask of 0 leaves nothing to compare");
	if (*mask < low || *mask >= span) {
		if (r->strict || s->is_signed)
			return range_error(r, word, "a mask for ", *mask, low, span - 1);
		*mask &= span - 1; /* the bits above are 0 in the field */
	}
	return 0;
}

/* field & mask */
static int resolve_any(struct rs_resolver *r)
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
static int resolve_masked(struct rs_resolver *r)
{
	const struct rs_filter_word *word = &r->term->value;
	enum rs_filter_cmp cmp = r->term->cmp;
	const struct rs_subject *s = &r->subject;
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
		return rs_resolve_error(r, word, "under this mask the value can never be reached");
	rs_resolve_compare(r, mask < 0, mask, value);
	settle(r, fold(cmp, value, low, high));
	return 0;
}

/* field cmp value */
static int resolve_plain(struct rs_resolver *r)
{
	const struct rs_filter_word *word = &r->term->value;
	const struct rs_subject *s = &r->subject;
	rs_wide_t span = (rs_wide_t)1 << s->bits, value;
	rs_wide_t low = s->is_signed ? -(span >> 1) : 0;
	rs_wide_t high = (s->is_signed ? span >> 1 : span) - 1;
	int ret = rs_filter_number(r->ast, word, s->field, s->name, &value, r->err);

	if (ret)
		return ret;
	if (r->strict && (value < low || value > high))
		return range_error(r, word, "", value, low, high);
	rs_resolve_compare(r, s->is_signed, s->is_signed ? -1 : span - 1, value);
	settle(r, fold(r->term->cmp, value, low, high));
	return 0;
}

/* field: it is not 0 */
static int resolve_truth(struct rs_resolver *r)
{
	rs_wide_t span = (rs_wide_t)1 << r->subject.bits;

	r->out->op = RS_OP_ANY;
	r->out->mask = (uint64_t)(span - 1);
	return 0;
}

/* ---- two fields ---- */

/* Whether the value is a name that is no symbol of the field; *name and *index are its parts. */
static bool is_other_name(const struct rs_resolver *r, char **name, bool *has_index,
			  uint32_t *index)
{
	const struct rs_filter_word *word = &r->term->value;
	guint64 number;
	char *end;

	if (!rs_resolve_is_name(r))
		return false;
	*name = g_strndup(r->ast->text + word->at, word->length);
	*has_index = false;
	if (rs_filter_find_symbol(r->subject.field, *name))
		goto no;
	end = strchr(*name, '[');
	if (!end)
		return true;
	*end++ = '\0';
	if (!g_ascii_isdigit(*end))
		goto no;
	*has_index = true;
	number = g_ascii_strtoull(end, &end, 10);
	*index = (uint32_t)MIN(number, UINT32_MAX);
	if (strcmp(end, "]") == 0)
		return true;
no:
	g_clear_pointer(name, g_free);
	return false;
}

static int compare_pair(struct rs_resolver *r, const struct rs_subject *other)
{
	static const uint8_t ops[] = {RS_OP_PAIR_EQ, RS_OP_PAIR_NE, RS_OP_PAIR_LT,
				      RS_OP_PAIR_LE, RS_OP_PAIR_GT, RS_OP_PAIR_GE};
	const struct rs_filter_word *word = &r->term->value;

	if (other->is_text || other->is_array)
		return rs_resolve_error(r, word, "'%s' is %s, and '%s' is a number", other->name,
					other->is_text ? "a string" : "an array", r->subject.name);
	if (r->term->has_mask || r->term->cmp > RS_CMP_GE)
		return rs_resolve_error(r, word,
					"'%s' is a field: two of them are compared with == != < <= "
					"> >=, and without a mask",
					other->name);
	if (other->is_beyond) {
		r->out->verdict = RS_PRED_NEVER;
		return 0;
	}
	r->out->op = ops[r->term->cmp];
	r->out->imm = (uint64_t)other->source << 8 | (uint64_t)other->width << 16 |
		      (uint64_t)other->offset << 32;
	r->out->mask = (r->subject.is_signed ? 1u : 0u) | (other->is_signed ? 2u : 0u);
	return 0;
}

static int no_such_value(struct rs_resolver *r, const char *name)
{
	const RsTraceEvent *event = r->event;
	const char *nearest = rs_filter_nearest(&event, 1, name);

	return rs_resolve_error(r, &r->term->value,
				"'%s' is not a number, and %s:%s has no such field%s%s%s", name,
				event->system, event->name, nearest ? "; did you mean '" : "",
				nearest ? nearest : "", nearest ? "'?" : "");
}

/* 1: the value is not the name of a field. */
static int resolve_pair(struct rs_resolver *r)
{
	g_autofree char *name = NULL;
	struct rs_subject other;
	uint32_t index = 0;
	bool has_index;
	int ret;

	if (!is_other_name(r, &name, &has_index, &index))
		return 1;
	ret = rs_resolve_name(r, &r->term->value, name, has_index, index, &other);
	if (ret == 0)
		return compare_pair(r, &other);
	if (ret < 0 || r->term->has_mask || r->term->cmp > RS_CMP_GE ||
	    (r->subject.field && r->subject.field->n_symbols))
		return ret;
	if (r->strict)
		return no_such_value(r, name);
	r->out->verdict = RS_PRED_UNKNOWN; /* another of the events may have it */
	r->out->no_value = true;
	return 0;
}

int rs_resolve_integer(struct rs_resolver *r)
{
	enum rs_filter_cmp cmp = r->term->cmp;
	int ret;

	if (cmp == RS_CMP_MATCH || cmp == RS_CMP_NOMATCH)
		return rs_resolve_error(r, &r->term->field,
					"'%s' (%s) is a number: ~ is for strings", r->subject.name,
					r->subject.type);
	if (cmp == RS_CMP_TRUE)
		return resolve_truth(r);
	if (rs_filter_is_cpus(r->ast, &r->term->value))
		return rs_resolve_cpus(r);
	ret = resolve_pair(r);
	if (ret != 1)
		return ret;
	if (cmp == RS_CMP_ANY)
		return resolve_any(r);
	return r->term->has_mask ? resolve_masked(r) : resolve_plain(r);
}
