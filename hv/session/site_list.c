/* SPDX-License-Identifier: MIT */
/* Sites of events, with the text around them, for who shows them. */
#include "session/private.h"

#include "patch/patcher.h"
#include "target/memory.h"
#include <string.h>

/* What a part has at most: sites, looks at sites, and reads for which QEMU is asked. */
#define PART_SITES 128u
#define PART_LOOKS 65536u
#define PART_SLOW 4u

struct part {
	GArray *list;
	uint32_t looks; /* at sites so far */
	uint64_t slow;  /* reads so far */
};

static bool is_full(const struct part *part)
{
	return part->list->len >= PART_SITES || part->looks >= PART_LOOKS ||
	       part->slow >= PART_SLOW;
}

/* All of it, or what is left of its page; from the page's start on if it ends with it. */
static uint32_t read_text(struct rs_page_reader *reader, rs_gva_t *at, uint8_t *out, uint32_t size,
			  bool ends)
{
	const uint32_t in_page = (uint32_t)((at->v + (ends ? size : 0)) % RS_PAGE_SIZE);
	const uint32_t part = ends ? in_page : RS_PAGE_SIZE - in_page;

	if (!rs_page_reader_read(reader, *at, out, size, NULL, NULL))
		return size;
	if (part >= size)
		return 0;
	at->v += ends ? size - part : 0;
	return rs_page_reader_read(reader, *at, out, part, NULL, NULL) ? 0 : part;
}

static void add_text(struct rs_page_reader *reader, struct rs_session_site *site)
{
	const rs_gva_t start = {site->at.v - RS_SESSION_SITE_BEFORE};
	rs_gva_t at = site->at, before_at = start;
	uint8_t after[RS_SESSION_SITE_AFTER];
	const uint32_t size = read_text(reader, &at, after, sizeof(after), false);

	site->text_at = site->at;
	if (!size)
		return;
	if (site->at.v >= RS_SESSION_SITE_BEFORE)
		site->text_size =
			read_text(reader, &before_at, site->text, RS_SESSION_SITE_BEFORE, true);
	if (site->text_size)
		site->text_at = before_at;
	memcpy(site->text + site->text_size, after, size);
	site->text_size += size;
}

/* By id: the events that match; NULL: none. To be freed. */
static const RsTraceEvent **find_events(struct rs_source *source, const RsTraceEventGlob *glob)
{
	const uint32_t capacity = source->region->header.event_capacity;
	const RsTraceEvent **events = g_new0(const RsTraceEvent *, capacity);

	for (guint i = 0; i < rs_trace_schema_n_events(source->schema); i++) {
		const RsTraceEvent *event = rs_trace_schema_nth(source->schema, i);

		if (event->id < capacity &&
		    (!glob || rs_trace_event_glob_matches(glob, source->name, event)) &&
		    rs_trace_schema_by_id(source->schema, event->id) == event)
			events[event->id] = event;
	}
	return events;
}

static void add_site(struct rs_source *source, const struct rs_patch_site *known,
		     const RsTraceEvent *event, struct rs_page_reader *reader, struct part *part)
{
	struct rs_session_site site = {
		.source = source, .event = event, .at = known->at, .target = known->target};
	const uint64_t slow = source->target->slow_reads;

	site.state = known->on        ? RS_SESSION_SITE_ON
		     : known->refused ? RS_SESSION_SITE_REFUSED
				      : RS_SESSION_SITE_OFF;
	if (source_alive(source)) {
		rs_page_reader_set_root(reader, known->root);
		add_text(reader, &site);
		part->slow += source->target->slow_reads - slow;
	}
	g_array_append_val(part->list, site);
}

/* Whether the site is to be listed, and of which event it is. */
static bool is_wanted(const RsTraceEvent *const *events, uint32_t capacity,
		      const struct rs_patch_site *site, bool all, const RsTraceEvent **event)
{
	*event = site->event < capacity ? events[site->event] : NULL;
	if (!site->event)
		return all;
	return *event && (*event)->slot + 1 == site->provider;
}

/* From site *number on, which becomes that of the next one. False: the source has no more. */
static bool list_source(struct rs_source *source, uint32_t *number, const RsTraceEventGlob *glob,
			struct part *part)
{
	const uint32_t capacity = source->region->header.event_capacity;
	g_autofree const RsTraceEvent **events = find_events(source, glob);
	struct rs_page_reader *reader = rs_page_reader_create(source->target, 0);
	const struct rs_patch_site *known;
	const RsTraceEvent *event;

	while ((known = rs_patcher_site(source->patcher, *number)) && !is_full(part)) {
		if (is_wanted(events, capacity, known, !glob, &event))
			add_site(source, known, event, reader, part);
		part->looks++;
		*number += 1;
	}
	rs_page_reader_destroy(reader);
	return known;
}

/* A place is the number of a source and that of its next site. */
GArray *rs_session_list_sites(struct rs_session *session, const char *glob, uint64_t after,
			      uint64_t *next)
{
	RsTraceEventGlob *match = glob ? rs_trace_event_glob_new(glob, NULL) : NULL;
	struct part part = {g_array_new(FALSE, FALSE, sizeof(struct rs_session_site)), 0, 0};

	*next = 0;
	rs_session_refresh(session);
	for (guint i = 0; i < session->sources->len && (match || !glob) && !*next; i++) {
		struct rs_source *source = nth_source(session, i);
		const bool again = source->number == after >> 32;
		uint32_t number = again ? (uint32_t)after : 0;
		bool more = is_full(&part);

		if (source->number < after >> 32)
			continue;
		if (!more)
			more = list_source(source, &number, match, &part);
		if (more)
			*next = (uint64_t)source->number << 32 | number;
	}
	rs_trace_event_glob_free(match);
	return part.list;
}
