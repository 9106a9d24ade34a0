/* SPDX-License-Identifier: MIT */
/* One expression for one event after the other, see filter.h. */
#include "filter/nearest.h"
#include "filter/predicate.h"

#include <errno.h>
#include <string.h>

struct rs_filter_series {
	char *expression;
	struct rs_filter_ast ast;
	unsigned int named;  /* nodes whose names have been looked for */
	unsigned int noted;  /* events */
	char *only;          /* the first of them, "system:name" */
	struct noted *notes; /* by node; NULL: none yet */
};

/* What is known of a term's field, after some events. */
struct noted {
	bool known;
	bool has_field;     /* but not the one that it is compared with */
	unsigned int limit; /* of the nearest name so far; 0: none */
	char *nearest;
};

/* Puts the event's name into the message, if there are several events. */
static void name_event(const RsTraceEvent *event, struct rs_filter_error *err)
{
	struct rs_filter_error was;

	if (!err)
		return;
	was = *err;
	rs_filter_error_set(err, was.code, was.at, was.length, "%s:%s: %s", event->system,
			    event->name, was.message);
}

int rs_filter_series_new(const char *expression, struct rs_filter_series **out,
			 struct rs_filter_error *err)
{
	struct rs_filter_series *series = g_new0(struct rs_filter_series, 1);
	int ret;

	series->expression = g_strdup(expression);
	ret = rs_filter_parse(series->expression, &series->ast, err);
	if (ret) {
		g_free(series->expression);
		g_free(series);
		return ret;
	}
	*out = series;
	return 0;
}

void rs_filter_series_free(struct rs_filter_series *series)
{
	if (!series)
		return;
	for (unsigned int i = 0; series->notes && i < series->ast.nodes->len; i++)
		g_free(series->notes[i].nearest);
	g_free(series->notes);
	g_free(series->only);
	rs_filter_ast_clear(&series->ast);
	g_free(series->expression);
	g_free(series);
}

void rs_filter_series_set_functions(struct rs_filter_series *series,
				    const struct rs_filter_functions *functions)
{
	series->ast.functions = functions;
}

int rs_filter_series_add(struct rs_filter_series *series, const RsTraceEvent *event, bool alone,
			 GByteArray **program, struct rs_filter_error *err)
{
	int ret;

	*program = NULL;
	ret = rs_filter_compile_one(&series->ast, event, alone, program, err);
	if (ret && !alone)
		name_event(event, err);
	return ret;
}

/*
 * NULL: the event has the term's field, and the one that it is compared with. Else the name that it
 * lacks. The compiler reports any other mistake in the term.
 */
static const struct rs_filter_word *
lacks(const struct rs_filter_ast *ast, const struct rs_filter_node *term, const RsTraceEvent *event)
{
	struct rs_filter_predicate p = {0};
	const struct rs_filter_word *name = NULL;

	if (!rs_filter_resolve(ast, term, event, false, &p, NULL) && p.verdict == RS_PRED_UNKNOWN)
		name = p.no_value ? &term->value : &term->field;
	rs_filter_predicate_clear(&p);
	return name;
}

/* No event has the name in the term. `only`: the event, if it is one. */
static int none_has(const struct rs_filter_ast *ast, const struct rs_filter_node *term,
		    const struct rs_filter_word *word, size_t count, const char *only,
		    const char *nearest, struct rs_filter_error *err)
{
	g_autofree char *name = g_strndup(ast->text + word->at, word->length);
	g_autofree char *whose = NULL, *hint = NULL;

	if (count == 1)
		whose = g_strdup_printf("%s has no", only);
	else if (word ==
		 &term->value) /* others may have it, but what it is compared with is here */
		whose = g_strdup_printf("none of the events with '%.*s' has a", term->field.length,
					ast->text + term->field.at);
	else
		whose = g_strdup_printf("none of the %zu events has a", count);
	if (nearest && strcmp(nearest, name) != 0)
		hint = g_strdup_printf("; did you mean '%s'?", nearest);
	return rs_filter_error_set(err, ENOENT, word->at, word->length, "%s field '%s'%s", whose,
				   name, hint ? hint : "");
}

int rs_filter_series_names(struct rs_filter_series *series, const RsTraceEvent *const *events,
			   size_t count, size_t *looks, struct rs_filter_error *err)
{
	const struct rs_filter_ast *ast = &series->ast;
	const struct rs_filter_node *node;
	const struct rs_filter_word *word = NULL;
	g_autofree char *name = NULL;
	const char *nearest;

	*looks = 0;
	while (series->named < ast->nodes->len &&
	       rs_filter_node(ast, series->named)->kind != RS_FILTER_TERM)
		series->named++;
	if (count < 2 || series->named == ast->nodes->len)
		return 0;
	node = rs_filter_node(ast, series->named++);
	for (size_t e = 0; e < count; e++) {
		const struct rs_filter_word *lacked = lacks(ast, node, events[e]);

		++*looks;
		if (!lacked)
			return 1;
		if (!word || lacked == &node->value) /* the field is there, then */
			word = lacked;
	}
	name = g_strndup(ast->text + word->at, word->length);
	nearest = rs_filter_nearest(events, count, name);
	return none_has(ast, node, word, count, NULL, nearest, err);
}

/* A name of this event that is like the one that is looked for, if it is the nearest so far. */
static void note_nearest(struct noted *noted, const RsTraceEvent *event, const char *name)
{
	const char *nearest = rs_filter_nearest(&event, 1, name);
	unsigned int distance;

	if (!nearest)
		return;
	distance = rs_distance(nearest, name);
	if (noted->nearest && distance >= noted->limit)
		return;
	g_free(noted->nearest);
	noted->nearest = g_strdup(nearest);
	noted->limit = distance;
}

void rs_filter_series_note(struct rs_filter_series *series, const RsTraceEvent *event)
{
	const struct rs_filter_ast *ast = &series->ast;

	if (!series->notes)
		series->notes = g_new0(struct noted, ast->nodes->len);
	if (!series->noted++)
		series->only = g_strdup_printf("%s:%s", event->system, event->name);
	for (unsigned int i = 0; i < ast->nodes->len; i++) {
		const struct rs_filter_node *node = rs_filter_node(ast, i);
		struct noted *noted = &series->notes[i];
		const struct rs_filter_word *lacked;

		if (node->kind != RS_FILTER_TERM || noted->known)
			continue;
		lacked = lacks(ast, node, event);
		noted->known = !lacked;
		if (lacked) {
			g_autofree char *name = g_strndup(ast->text + lacked->at, lacked->length);

			if (lacked == &node->value && !noted->has_field) {
				noted->has_field = true;
				g_clear_pointer(&noted->nearest, g_free);
			}
			if ((lacked == &node->value) == noted->has_field)
				note_nearest(noted, event, name);
		}
	}
}

int rs_filter_series_missing(const struct rs_filter_series *series, struct rs_filter_error *err)
{
	const struct rs_filter_ast *ast = &series->ast;

	for (unsigned int i = 0; series->notes && i < ast->nodes->len; i++) {
		const struct rs_filter_node *node = rs_filter_node(ast, i);
		const struct noted *noted = &series->notes[i];

		if (node->kind == RS_FILTER_TERM && !noted->known)
			return none_has(ast, node, noted->has_field ? &node->value : &node->field,
					series->noted, series->only, noted->nearest, err);
	}
	return 0;
}

int rs_filter_compile(const RsTraceEvent *const *events, size_t count, const char *expression,
		      GByteArray **programs, struct rs_filter_error *err)
{
	g_autofree GByteArray **made = g_new0(GByteArray *, count + 1);
	struct rs_filter_series *series = NULL;
	int ret = rs_filter_series_new(expression, &series, err);
	size_t looks;

	if (!ret) {
		do
			ret = rs_filter_series_names(series, events, count, &looks, err);
		while (ret == 1);
	}
	for (size_t e = 0; e < count && !ret; e++)
		ret = rs_filter_series_add(series, events[e], count == 1, &made[e], err);
	for (size_t e = 0; e < count; e++) {
		if (!ret)
			programs[e] = made[e];
		else
			g_clear_pointer(&made[e], g_byte_array_unref);
	}
	rs_filter_series_free(series);
	return ret;
}

int rs_filter_compile_more(const RsTraceEvent *event, const char *expression, GByteArray **program,
			   struct rs_filter_error *err)
{
	struct rs_filter_series *series = NULL;
	int ret = rs_filter_series_new(expression, &series, err);

	if (!ret)
		ret = rs_filter_series_add(series, event, false, program, err);
	rs_filter_series_free(series);
	return ret;
}
