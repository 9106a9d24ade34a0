/* SPDX-License-Identifier: MIT */
/*
 * Prints the records of one or more sources as they come, as text or JSON, in the order of time.
 * `run` and `attach` use it on their own regions. `trace` uses it on the read-only regions that a
 * session hands over.
 *
 * Threads: a pump (rs-trace-pump.h) has a thread that reads, decodes, makes lines and writes them.
 * All functions here are called on the owner's thread. The callbacks are called there too.
 *
 * Trust: the regions are hostile, and so are the names of sources.
 */
#ifndef RS_HV_CLI_PRINTER_H
#define RS_HV_CLI_PRINTER_H

#include "cli/choice.h"
#include "cli/color.h"
#include "cli/line_time.h"

#include <rs-trace-cmdline.h>
#include <rs-trace-decoder.h>
#include <rs-trace-source.h>
#include <rs-trace-text.h>
#include <stdbool.h>

struct rs_printer;

/*
 * The figures in the header lines of text: records that can still be read, records ever written,
 * and the most CPUs that a source has.
 */
struct rs_printer_head {
	uint64_t entries, written;
	uint32_t cpus;
};

/*
 * Appends the lines that show a record, or nothing. `style`: whether they name its source. Called
 * on the printer's thread.
 */
typedef void (*rs_printer_show)(GString *out, const RsTraceRecord *record, const RsTraceTask *task,
				RsTraceTextStyle style, void *data);

/*
 * How lines of text look, as options of a verb: RS_PRINTER_STYLE_OPTIONS(style). `when` is what
 * --color was given, and of rs_printer_style_take(), which sets `color`.
 */
struct rs_printer_style {
	gboolean bare, ns;
	char *time; /* of --time; NULL: not given */
	char *when;
	bool color;
};
typedef struct rs_printer_style RsPrinterStyle; /* for g_auto() */

#define RS_PRINTER_STYLE_OPTIONS(style)                                                            \
	{"short",                                                                                  \
	 0,                                                                                        \
	 0,                                                                                        \
	 G_OPTION_ARG_NONE,                                                                        \
	 &(style).bare,                                                                            \
	 "Events without their system: switch in place of sched:switch",                           \
	 NULL},                                                                                    \
		RS_LINE_TIME_OPTION((style).time),                                                 \
		{"ns",        0,                                                                   \
		 0,           G_OPTION_ARG_NONE,                                                   \
		 &(style).ns, "Times in nanoseconds, in place of microseconds",                    \
		 NULL},                                                                            \
		RS_CLI_COLOR_OPTION((style).when)

/* Takes --color, for lines that go to `fd` as rs_cli_color_take() has it. Its exit code. */
int rs_printer_style_take(const struct rs_verb *verb, struct rs_printer_style *style, int fd);
void rs_printer_style_clear(struct rs_printer_style *style);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RsPrinterStyle, rs_printer_style_clear)

struct rs_printer_config {
	RsTraceSelection *view; /* what is shown; outlives the printer, NULL: all */
	/* Records that are not wanted are not shown; NULL: all are. */
	bool (*wants)(const RsTraceRecord *record, const RsTraceTask *task, void *data);
	rs_printer_show show; /* text of another kind, without a header; NULL: the usual */
	void *show_data;      /* of the two above */
	bool json;
	struct rs_printer_style style;      /* of text */
	struct rs_line_time *time;          /* outlives the printer; NULL: as the trace has it */
	bool raw;                           /* text: fields as they are */
	bool source_names;                  /* text: name each line's source from the start */
	const struct rs_printer_head *head; /* text: print header lines first; NULL: none */
	uint64_t count;                     /* stop after so many records shown; 0: never */
	int fd; /* output, borrowed; -1: none, records are only consumed */
	void *data;
	/*
	 * All records of a source that was ended are read, so its region may be freed. May be NULL.
	 */
	void (*ended)(void *data, void *source);
	/*
	 * The printer has ended by itself: it printed `count` records, or the output cannot be
	 * written. May be NULL.
	 */
	void (*done)(void *data);
};

struct rs_printer_stats {
	uint64_t events; /* printed */
	uint64_t lost;
	uint64_t bad_records;
	bool closed; /* the reader of our output has gone */
	bool unread; /* it did not read on in time, so the rest was given up */
	int error;   /* errno of another failed write; 0: none */
};

/*
 * Appends the lines that show a record as the config says, without a limit. `time`: in place of the
 * config's. `named`: text names its source. If the config has neither `view` nor `wants` nor
 * `show`, each record has a line, and any thread may make it.
 */
void rs_printer_line(const struct rs_printer_config *config, struct rs_line_time *time, bool named,
		     GString *out, const RsTraceRecord *record, const RsTraceTask *task);

/* Adds the figures of a region's rings to `head`. */
void rs_printer_count(struct rs_printer_head *head, const RsTraceRegion *region);

/* Prints the header with the first records. Reads nothing before rs_printer_start(). */
struct rs_printer *rs_printer_create(const struct rs_printer_config *config);
/* From now on, text names the source of each line, as JSON always does. */
void rs_printer_name_sources(struct rs_printer *printer);
/* Begins to read and print, once. rs_trace_pump_start() says what this means for the order. */
void rs_printer_start(struct rs_printer *printer);
/*
 * Adds a source, whose records are printed from now on, and takes `pages` over. `name` and `number`
 * are those in the session. JSON always gives both on each line. Text gives the name if it is asked
 * to. `source` is passed to `ended`. Returns the source's number in the printer.
 */
unsigned rs_printer_add(struct rs_printer *printer, const char *name, guint32 number,
			RsTraceSource *pages, void *source);
/*
 * The source with that number writes no more records. `ended` is called once all of them are read.
 */
void rs_printer_end(struct rs_printer *printer, unsigned number);
/* The doorbell rang. */
void rs_printer_wake(struct rs_printer *printer);
/*
 * From now on, what is left is written for less than a second. Then the printer is done.
 */
void rs_printer_hurry(struct rs_printer *printer);
/*
 * Prints what has been read, up to some MiB of text, and ends the thread. The rest is left in the
 * rings.
 */
void rs_printer_stop(struct rs_printer *printer);
/* Reads and prints what is still there, then ends the thread. Idempotent. NULL is accepted. */
void rs_printer_finish(struct rs_printer *printer, struct rs_printer_stats *stats);
/* Finishes if need be. NULL is accepted. */
void rs_printer_destroy(struct rs_printer *printer);

#endif
