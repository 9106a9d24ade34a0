/* SPDX-License-Identifier: MIT */
/* Terms that ask in which function an address lies. */
#include "filter/resolve.h"

static int check(struct rs_resolver *r)
{
	const struct rs_subject *s = &r->subject;
	enum rs_filter_cmp cmp = r->term->cmp;

	if (s->is_text || s->is_array || s->bits != 64 || s->is_signed)
		return rs_resolve_error(
			r, &r->term->field,
			"'%s' (%s) is no address: .function needs an unsigned number "
			"of 64 bits",
			s->name, s->type);
	if (r->term->has_mask || (cmp != RS_CMP_EQ && cmp != RS_CMP_NE))
		return rs_resolve_error(r, &r->term->field,
					"a function is compared with == and != only");
	if (cmp == RS_CMP_NE && s->source == RS_SRC_DYN_INT)
		return rs_resolve_error(r, &r->term->field,
					"of an element a function is compared with == only");
	return 0;
}

int rs_resolve_function(struct rs_resolver *r)
{
	const struct rs_filter_functions *functions = r->ast->functions;
	const struct rs_filter_word *word = &r->term->value;
	g_autofree char *name = g_string_free(rs_filter_word_text(r->ast, word), FALSE);
	uint64_t from = 0, to = 0;
	char why[200] = "";
	int ret = check(r);

	if (ret)
		return ret;
	if (g_ascii_isdigit(*name))
		return rs_resolve_error(r, word,
					"the name of a function is due; addresses are compared "
					"without .function");
	if (!functions)
		return rs_resolve_error(r, word, "where functions lie is not known here");
	if (functions->find(functions->data, name, &from, &to, why, sizeof(why)))
		return rs_resolve_error(r, word, "%s", why);
	r->out->verdict = from < to ? RS_PRED_RANGE : RS_PRED_NEVER;
	r->out->negate = r->term->cmp == RS_CMP_NE;
	r->out->imm = from;
	r->out->end = to;
	r->out->mask = UINT64_MAX;
	if (r->out->negate && r->out->verdict == RS_PRED_NEVER)
		r->out->verdict = RS_PRED_ALWAYS;
	return 0;
}
