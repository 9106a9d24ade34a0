/* SPDX-License-Identifier: MIT */
#include "rs-trace-spans.h"
#include "rs-trace-formats-private.h"
#include "rs-trace-text.h"

#include <string.h>

#define CLASSES_MAX 16384u
#define STACKS_MAX 65536u
#define NUMBERS_MAX 65536u
#define OPEN_MAX 128u /* slices of a track whose names are remembered, drawn or not */

/* The slices that are open on a track. Only the first RS_SPANS_DEPTH are drawn. */
typedef struct {
	guint64 track;
	GArray *open;  /* guint64: their ids */
	guint64 above; /* how many more are open, which are the innermost */
	gint32 processes[RS_SPANS_DEPTH];
} Stack;

typedef struct {
	char *begin, *end; /* names of events */
	guint64 id;
} Pair;

struct _RsSpans {
	GHashTable *classes; /* RsTraceEvent.unique -> RsSpanClass */
	GHashTable *stacks;  /* by track */
	guint64 too_deep;    /* slices that were not drawn */
	GHashTable *numbers; /* of names */
	guint32 last_number;
	GDestroyNotify free_data;
	GArray *pairs;               /* of the user */
	const char *const *counters; /* likewise; NULL: none */
};

/* The name's own number, other than 0. A name that was forgotten gets another one. */
static guint32 number_of(RsSpans *spans, const char *name)
{
	gpointer number = g_hash_table_lookup(spans->numbers, name);

	if (number)
		return GPOINTER_TO_UINT(number);
	if (g_hash_table_size(spans->numbers) >= NUMBERS_MAX)
		g_hash_table_remove_all(spans->numbers);
	g_hash_table_insert(spans->numbers, g_strdup(name), GUINT_TO_POINTER(++spans->last_number));
	return spans->last_number;
}

/* ---- what the user asks for ---- */

/* Whether a user's name, with or without its system, means the event. */
static gboolean means(const char *wish, gsize size, const RsTraceEvent *event)
{
	gsize system = strlen(event->system);

	if (strlen(event->name) == size && !memcmp(wish, event->name, size))
		return TRUE;
	return size == system + 1 + strlen(event->name) && wish[system] == ':' &&
	       !memcmp(wish, event->system, system) &&
	       !memcmp(wish + system + 1, event->name, size - system - 1);
}

static gboolean take_pair(RsSpans *spans, const char *text, GError **error)
{
	const char *dots = strstr(text, "..");
	Pair pair;

	if (!dots || dots == text || !dots[2]) {
		g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT,
			    "'%s' is no slice: BEGIN..END", text);
		return FALSE;
	}
	pair.begin = g_strndup(text, (gsize)(dots - text));
	pair.end = g_strdup(dots + 2);
	pair.id = number_of(spans, text);
	g_array_append_val(spans->pairs, pair);
	return TRUE;
}

static gboolean check_counter(const char *text, GError **error)
{
	const char *dot = strrchr(text, '.');

	if (dot && dot != text && dot[1])
		return TRUE;
	g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT,
		    "'%s' is no counter: EVENT.FIELD", text);
	return FALSE;
}

/* ---- classes ---- */

static void class_free(gpointer data, GDestroyNotify free_data)
{
	RsSpanClass *class = data;

	if (class->data && free_data)
		free_data(class->data);
	g_free(class->name);
	g_free(class->span);
	g_free(class->counter_name);
	g_free(class);
}

static void forget_classes(RsSpans *spans)
{
	GHashTableIter iter;
	gpointer class;

	g_hash_table_iter_init(&iter, spans->classes);
	while (g_hash_table_iter_next(&iter, NULL, &class))
		class_free(class, spans->free_data);
	g_hash_table_remove_all(spans->classes);
}

/* X of an event's name, if it is X_suffix or the suffix alone. */
static gboolean split(const char *name, const char *suffix, gsize *length)
{
	gsize n = strlen(name), s = strlen(suffix);

	if (n < s || strcmp(name + n - s, suffix) != 0)
		return FALSE;
	*length = n == s ? 0 : n - s - 1;
	return n == s || name[n - s - 1] == '_';
}

static void set_span(RsSpanClass *class, RsSpanPhase phase, const RsTraceEvent *event, gsize length)
{
	class->phase = phase;
	class->span = length ? g_strdup_printf("%s:%.*s", event->system, (int)length, event->name)
			     : g_strdup(event->system);
}

static void find_span(RsSpans *spans, RsSpanClass *class, const RsTraceEvent *event)
{
	static const struct {
		const char *suffix;
		RsSpanPhase phase;
		const char *kind; /* of begin and end alike */
	} words[] = {{"begin", RS_SPAN_BEGIN, "<begin"},
		     {"end", RS_SPAN_END, "<begin"},
		     {"enter", RS_SPAN_BEGIN, "<enter"},
		     {"entry", RS_SPAN_BEGIN, "<enter"},
		     {"exit", RS_SPAN_END, "<enter"}};
	gsize length;

	for (guint i = 0; i < spans->pairs->len; i++) {
		const Pair *pair = &g_array_index(spans->pairs, Pair, i);
		gboolean begins = means(pair->begin, strlen(pair->begin), event);

		if (!begins && !means(pair->end, strlen(pair->end), event))
			continue;
		class->phase = begins ? RS_SPAN_BEGIN : RS_SPAN_END;
		class->span = g_strdup(pair->begin);
		class->span_id = pair->id;
		return;
	}
	for (guint i = 0; i < G_N_ELEMENTS(words); i++) {
		g_autofree char *key = NULL;

		if (!split(event->name, words[i].suffix, &length))
			continue;
		set_span(class, words[i].phase, event, length);
		key = g_strconcat(class->span, words[i].kind, NULL);
		class->span_id = number_of(spans, key);
		return;
	}
}

static gboolean is_integer(const RsTraceField *field)
{
	return field->kind <= RS_KIND_HEX;
}

static gint find_field(const RsTraceEvent *event, const char *name)
{
	const RsTraceField *field = rs_trace_event_field(event, name);

	return field ? (gint)(field - event->fields) : -1;
}

static void find_counter(RsSpans *spans, RsSpanClass *class, const RsTraceEvent *event)
{
	guint integers = 0;

	class->counter = -1;
	for (const char *const *wish = spans->counters; wish && *wish; wish++) {
		const char *dot = strrchr(*wish, '.');

		if (means(*wish, (gsize)(dot - *wish), event))
			class->counter = find_field(event, dot + 1);
	}
	for (guint i = 0; i < event->n_fields; i++)
		integers += is_integer(&event->fields[i]);
	if (class->counter < 0 && integers == 1)
		class->counter = find_field(event, "value");
	if (class->counter >= 0 && !is_integer(&event->fields[class->counter]))
		class->counter = -1;
	if (class->counter < 0)
		return;
	class->counter_name =
		g_strdup_printf("%s.%s", class->name, event->fields[class->counter].name);
	class->counter_id = number_of(spans, class->counter_name);
}

static void find_switch(RsSpanClass *class, const RsTraceEvent *event)
{
	class->next_pid = class->next_comm = -1;
	if (!g_str_equal(event->system, "sched") ||
	    (!g_str_equal(event->name, "switch") && !g_str_equal(event->name, "sched_switch")))
		return;
	class->next_pid = find_field(event, "next_pid");
	if (class->next_pid >= 0 && !is_integer(&event->fields[class->next_pid]))
		class->next_pid = -1;
	class->next_comm = find_field(event, "next_comm");
	if (class->next_comm >= 0 && event->fields[class->next_comm].kind != RS_KIND_STRING &&
	    event->fields[class->next_comm].kind != RS_KIND_DYN_STRING)
		class->next_comm = -1;
}

static gboolean is_last(const RsTraceEvent *event)
{
	if (g_str_equal(event->system, "task"))
		return g_str_equal(event->name, "exit");
	return g_str_equal(event->system, "sched") &&
	       (g_str_equal(event->name, "process_exit") ||
		g_str_equal(event->name, "sched_process_exit"));
}

RsSpanClass *rs_spans_class(RsSpans *spans, const RsTraceEvent *event)
{
	RsSpanClass *class = g_hash_table_lookup(spans->classes, &event->unique);

	if (class)
		return class;
	if (g_hash_table_size(spans->classes) >= CLASSES_MAX)
		forget_classes(spans);
	class = g_new0(RsSpanClass, 1);
	class->name = g_strdup_printf("%s:%s", event->system, event->name);
	class->is_last = is_last(event);
	if (!class->is_last)
		find_span(spans, class, event);
	find_switch(class, event);
	find_counter(spans, class, event);
	g_hash_table_insert(spans->classes, g_memdup2(&event->unique, sizeof(guint64)), class);
	return class;
}

/* ---- slices ---- */

static Stack *stack_of(RsSpans *spans, guint64 track)
{
	Stack *stack = g_hash_table_lookup(spans->stacks, &track);

	if (stack)
		return stack;
	if (g_hash_table_size(spans->stacks) >= STACKS_MAX)
		g_hash_table_remove_all(spans->stacks);
	stack = g_new0(Stack, 1);
	stack->track = track;
	stack->open = g_array_new(FALSE, FALSE, sizeof(guint64));
	g_hash_table_add(spans->stacks, stack);
	return stack;
}

static void stack_free(gpointer data)
{
	g_array_unref(((Stack *)data)->open);
	g_free(data);
}

static guint drawn(const Stack *stack)
{
	return MIN(stack->open->len, RS_SPANS_DEPTH);
}

/* Closes the slices from `at` on, of which the step tells those that are drawn. */
static void close_from(Stack *stack, guint at, guint first_inside, RsSpanStep *step)
{
	step->inside = drawn(stack) - MIN(first_inside, drawn(stack));
	step->processes = stack->processes + MIN(first_inside, drawn(stack));
	g_array_set_size(stack->open, at);
	stack->above = 0;
}

static void step_in(RsSpans *spans, Stack *stack, guint64 id, RsSpanStep *step)
{
	if (stack->open->len < RS_SPANS_DEPTH) {
		stack->processes[stack->open->len] = step->process;
		step->phase = RS_SPAN_BEGIN;
	} else {
		spans->too_deep++;
	}
	if (stack->open->len < OPEN_MAX)
		g_array_append_val(stack->open, id);
	else
		stack->above++;
}

static void step_out(Stack *stack, guint64 id, RsSpanStep *step)
{
	guint at = stack->open->len;

	if (stack->above) { /* nobody knows of which, but most are well nested */
		stack->above--;
		return;
	}
	while (at && g_array_index(stack->open, guint64, at - 1) != id)
		at--;
	if (!at--)
		return;
	if (at < RS_SPANS_DEPTH) {
		step->phase = RS_SPAN_END;
		step->process = stack->processes[at];
	}
	close_from(stack, at, at + 1, step);
}

RsSpanStep rs_spans_step(RsSpans *spans, guint64 track, gint32 process, const RsSpanClass *class)
{
	RsSpanStep step = {.phase = RS_SPAN_INSTANT, .process = process};
	Stack *stack;

	if (class->phase == RS_SPAN_INSTANT && !class->is_last)
		return step;
	stack = stack_of(spans, track);
	if (class->is_last)
		close_from(stack, 0, 0, &step);
	else if (class->phase == RS_SPAN_BEGIN)
		step_in(spans, stack, class->span_id, &step);
	else
		step_out(stack, class->span_id, &step);
	return step;
}

void rs_spans_drop(RsSpans *spans, guint64 track)
{
	Stack *stack = g_hash_table_lookup(spans->stacks, &track);

	if (!stack)
		return;
	g_array_set_size(stack->open, 0);
	stack->above = 0;
}

guint64 rs_spans_too_deep(const RsSpans *spans)
{
	return spans->too_deep;
}

gboolean rs_spans_value(const RsTraceRecord *record, gint index, guint64 *value)
{
	const RsTraceField *field = &record->event->fields[index];
	const guint8 *bytes;
	guint length;

	if (!rs_trace_field_bytes(field, record->payload, record->size, &bytes, &length))
		return FALSE;
	*value = rs_trace_load_integer(bytes, field->size, field->is_signed);
	return TRUE;
}

char *rs_spans_comm(const RsTraceRecord *record, gint index, guint64 pid)
{
	const guint8 *bytes;
	guint length;

	if (index < 0 ||
	    !rs_trace_field_bytes(&record->event->fields[index], record->payload, record->size,
				  &bytes, &length) ||
	    !length)
		return g_strdup_printf("%" G_GUINT64_FORMAT, pid);
	return rs_trace_export_utf8((const char *)bytes, length);
}

/* ---- the whole ---- */

static void pair_clear(gpointer data)
{
	Pair *pair = data;

	g_free(pair->begin);
	g_free(pair->end);
}

RsSpans *rs_spans_new(const RsTraceExportConfig *config, GDestroyNotify free_data, GError **error)
{
	RsSpans *spans = g_new0(RsSpans, 1);
	gboolean good = TRUE;

	spans->free_data = free_data;
	spans->counters = config->counters;
	spans->classes = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	spans->stacks = g_hash_table_new_full(g_int64_hash, g_int64_equal, stack_free, NULL);
	spans->numbers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	spans->pairs = g_array_new(FALSE, FALSE, sizeof(Pair));
	g_array_set_clear_func(spans->pairs, pair_clear);
	for (const char *const *s = config->slices; good && s && *s; s++)
		good = take_pair(spans, *s, error);
	for (const char *const *c = config->counters; good && c && *c; c++)
		good = check_counter(*c, error);
	if (good)
		return spans;
	rs_spans_free(spans);
	return NULL;
}

void rs_spans_free(RsSpans *spans)
{
	if (!spans)
		return;
	forget_classes(spans);
	g_hash_table_unref(spans->classes);
	g_hash_table_unref(spans->stacks);
	g_hash_table_unref(spans->numbers);
	g_array_unref(spans->pairs);
	g_free(spans);
}
