/* SPDX-License-Identifier: MIT */
/*
 * Requests by glob whose sites are still being patched. Each is settled when the sites of its own
 * events are as it asked for, whatever others ask for meanwhile.
 */
#include "session/private.h"

#define LINES 16u /* of problems that one request is told */

/* What a request waits for in a source that lives and is patching. */
struct part {
	struct rs_source *source;
	uint32_t min_event, max_event;
	uint64_t ticket;
	GHashTable *events; /* ids: whose problems are the request's */
};

struct later {
	uint32_t number;
	GArray *parts;       /* of struct part */
	GPtrArray *problems; /* of char * */
	size_t left_out;
};

static void part_clear(gpointer part)
{
	g_hash_table_unref(((struct part *)part)->events);
}

static struct later *later_new(uint32_t number)
{
	struct later *later = g_new0(struct later, 1);

	later->number = number;
	later->parts = g_array_new(FALSE, FALSE, sizeof(struct part));
	g_array_set_clear_func(later->parts, part_clear);
	later->problems = g_ptr_array_new_with_free_func(g_free);
	return later;
}

static void later_free(gpointer data)
{
	struct later *later = data;

	g_array_unref(later->parts);
	g_ptr_array_unref(later->problems);
	g_free(later);
}

GPtrArray *rs_laters_new(void)
{
	return g_ptr_array_new_with_free_func(later_free);
}

static struct part *part_of(const struct later *later, const struct rs_source *source)
{
	for (guint i = 0; i < later->parts->len; i++) {
		struct part *part = &g_array_index(later->parts, struct part, i);

		if (part->source == source)
			return part;
	}
	return NULL;
}

static struct part *add_part(struct later *later, struct rs_source *source)
{
	const struct part part = {
		.source = source, .min_event = UINT32_MAX, .events = g_hash_table_new(NULL, NULL)};

	g_array_append_val(later->parts, part);
	return part_of(later, source);
}

static bool is_settled(const struct later *later)
{
	for (guint i = 0; i < later->parts->len; i++) {
		const struct part *part = &g_array_index(later->parts, struct part, i);

		if (!rs_source_sites_settled(part->source, part->ticket))
			return false;
	}
	return true;
}

uint32_t rs_session_wait_settled(struct rs_session *session, const GArray *refs)
{
	struct later *later = later_new(session->laters_made + 1);

	for (guint i = 0; i < refs->len; i++) {
		const struct event_ref *ref = &g_array_index(refs, struct event_ref, i);
		struct part *part = part_of(later, ref->source);

		if (!part)
			part = add_part(later, ref->source);
		part->min_event = MIN(part->min_event, ref->id);
		part->max_event = MAX(part->max_event, ref->id);
		g_hash_table_add(part->events, GUINT_TO_POINTER(ref->id));
	}
	for (guint i = 0; i < later->parts->len; i++) {
		struct part *part = &g_array_index(later->parts, struct part, i);

		part->ticket =
			rs_source_sites_ticket(part->source, part->min_event, part->max_event);
	}
	if (is_settled(later)) {
		later_free(later);
		return 0;
	}
	g_ptr_array_add(session->laters, later);
	return session->laters_made = later->number;
}

void rs_source_note_late(const struct rs_source *source, uint32_t event, const char *line)
{
	const struct rs_session *session = source->session;

	for (guint i = 0; i < session->laters->len; i++) {
		struct later *later = session->laters->pdata[i];
		const struct part *part = part_of(later, source);

		if (!part ||
		    (event && !g_hash_table_contains(part->events, GUINT_TO_POINTER(event))))
			continue;
		if (later->problems->len == LINES) {
			later->left_out++;
			continue;
		}
		g_ptr_array_add(later->problems,
				session->sources->len > 1
					? g_strconcat(source->name, ": ", line, NULL)
					: g_strdup(line));
	}
}

void rs_session_settle(struct rs_session *session)
{
	for (guint i = 0; i < session->laters->len;) {
		struct later *later = session->laters->pdata[i];

		if (!is_settled(later)) {
			i++;
			continue;
		}
		later = g_ptr_array_steal_index(session->laters, i);
		if (later->left_out)
			g_ptr_array_add(
				later->problems,
				g_strdup_printf("and %zu sites more likewise", later->left_out));
		rs_session_say_settled(session, later->number, later->problems);
		later_free(later);
	}
}
