/* SPDX-License-Identifier: MIT */
/*
 * The engines of one `ringside engine`, over the session's D-Bus interface. What the session says
 * of them is asked again whenever it says that something has changed, so nothing can be missed.
 *
 * Thread: main. Trust: as rs-trace-client.h; the numbers are the guest's.
 */
#ifndef RS_HV_CLI_ENGINES_H
#define RS_HV_CLI_ENGINES_H

#include "cli/engine_show.h"

struct rs_cli_engine {
	guint32 number; /* in the session */
	guint32 source_number, thread, process;
	char *source, *comm; /* owned, escaped */
	bool stopped;
	bool gone; /* or detached: nothing can be asked of it any more */
	/* Of a stop: */
	guint64 stop;  /* its number in the session */
	guint64 order; /* grows with each stop that was noticed, of all engines */
	bool shown;    /* to the user */
	bool stepped;  /* the steps that were asked for have been made */
	guint event;
	gint64 value;
	guint64 steps; /* still to be made; 0: none */
	bool block;    /* ... each up to the next branch */
};

struct rs_cli_engines {
	RsDBusSession1 *session; /* borrowed */
	GPtrArray *all;          /* struct rs_cli_engine, owned */
	guint64 stops;           /* that were noticed */
	/* An engine is gone, and was not detached by us. */
	void (*gone)(struct rs_cli_engine *engine, void *data);
	void *data;
};

void rs_cli_engines_init(struct rs_cli_engines *engines, RsDBusSession1 *session);
void rs_cli_engines_deinit(struct rs_cli_engines *engines);

/* A thread of a guest that engines can be attached to. */
struct rs_cli_engine_thread {
	guint32 source_number, id, process, parent;
	const char *source, *comm; /* of the row */
};
/* All rows of Threads, only of this source if it is not 0; NULL: `error` is set. */
GVariant *rs_cli_engine_threads(RsDBusSession1 *session, guint32 source, GError **error);
/* Reads one row of them. The texts are the row's. */
void rs_cli_engine_read_thread(GVariant *row, struct rs_cli_engine_thread *out);

gboolean rs_cli_engines_attach(struct rs_cli_engines *engines,
			       const struct rs_cli_engine_thread *thread, guint32 events,
			       GError **error);
/* Asks for the state of all. */
gboolean rs_cli_engines_refresh(struct rs_cli_engines *engines, GError **error);
/* The one whose thread has this id, in any source; NULL: there is none. */
struct rs_cli_engine *rs_cli_engines_find(const struct rs_cli_engines *engines, guint32 thread);
/* The one that stopped first of those that are; NULL: none is stopped. */
struct rs_cli_engine *rs_cli_engines_first_stopped(const struct rs_cli_engines *engines);
/* Whether any is attached still. */
bool rs_cli_engines_any(const struct rs_cli_engines *engines);
/* More than one source has threads of ours. */
bool rs_cli_engines_several(const struct rs_cli_engines *engines);

/* `action` as EngineControl has them. */
gboolean rs_cli_engine_control(struct rs_cli_engines *engines, struct rs_cli_engine *engine,
			       const char *action, GError **error);
/* Steps so often, or up to so many branches. */
gboolean rs_cli_engine_step(struct rs_cli_engines *engines, struct rs_cli_engine *engine,
			    guint64 steps, bool block, GError **error);
gboolean rs_cli_engine_look(struct rs_cli_engines *engines, struct rs_cli_engine *engine,
			    struct rs_cli_engine_view *view, GError **error);
gboolean rs_cli_engine_set(struct rs_cli_engines *engines, struct rs_cli_engine *engine,
			   unsigned int reg, uint64_t value, GError **error);
gboolean rs_cli_engine_set_call(struct rs_cli_engines *engines, struct rs_cli_engine *engine,
				uint64_t number, const uint64_t *args, unsigned int count,
				GError **error);
/* What can be read of `size` bytes; to be unreffed. */
GByteArray *rs_cli_engine_read(struct rs_cli_engines *engines, struct rs_cli_engine *engine,
			       uint64_t address, size_t size, GError **error);

#endif
