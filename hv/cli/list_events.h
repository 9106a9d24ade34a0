/* SPDX-License-Identifier: MIT */
/*
 * Events of a session: the rows of List (aa{sv}), as `ringside list` shows them. Rows are hostile.
 * Thread: main.
 */
#ifndef RS_HV_CLI_LIST_EVENTS_H
#define RS_HV_CLI_LIST_EVENTS_H

#include "cli/list_fields.h"
#include "cli/table.h"

/* What is missing is 0, FALSE, "" or NULL. */
struct rs_cli_event {
	GVariant *dict; /* owns the texts below; NULL: of somebody else */
	guint32 source_number, id, sites, level, stack;
	guint64 keyword;
	const char *source, *system, *name, *filter, *note;
	const char *no_native; /* why its filter is no machine code; "": it is, or not known */
	GVariant *owners;      /* aa{sv}; NULL: nobody has asked for anything */
	gboolean enabled, native;
};

/* One owner's wish for an event. */
struct rs_cli_wish {
	const char *name, *filter; /* texts of the row; "": none */
	gboolean enabled;
	guint32 stack; /* frames; 0: none */
};

/* Reads the next row. To be called until it returns FALSE, which frees the row. */
gboolean rs_cli_next_event(GVariantIter *iter, struct rs_cli_event *event);
/* Of the row's `owners`. */
gboolean rs_cli_next_wish(GVariantIter *iter, struct rs_cli_wish *wish);

/* The rows of events that the owner has asked about. Takes `events`. */
GVariant *rs_cli_events_of(GVariant *events, const char *owner);

/*
 * A table of `events`, by name. `all`: of the session. `fields`: what is known of them, which is
 * shown below each; NULL: it is not.
 */
struct rs_cli_table *rs_cli_event_table(GVariant *all, GVariant *events,
					const struct rs_cli_fields *fields, bool color);
/* Their names only, a line for each. */
void rs_cli_print_event_names(GVariant *all, GVariant *events);
/* In list_json.c. */
void rs_cli_print_events_json(GVariant *events, const struct rs_cli_fields *fields);

#endif
