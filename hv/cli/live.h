/* SPDX-License-Identifier: MIT */
/*
 * Figures of a running session, taken anew in each interval: what `top` and `hist` have in common.
 * They are shown on a page of the terminal (screen.h), or else written one block after the other.
 *
 * Threads: a pump has a thread of its own, on which records are added and figures are taken. All
 * else is called on the main thread. This never waits for the pump while it runs, so however much
 * comes, keys are heard. Trust: records and names are hostile, and show() escapes them.
 */
#ifndef RS_HV_CLI_LIVE_H
#define RS_HV_CLI_LIVE_H

#include "analysis/rs-trace-sample.h"
#include "cli/choice.h"
#include "cli/color.h"
#include "cli/symbols.h"

struct rs_cli_screen;

struct rs_cli_live_config {
	/* On the pump's thread: a record that is wanted. */
	void (*add)(const RsTraceSample *item, void *data);
	/* On the pump's thread: ends an interval. The figures, for free_page(). */
	void *(*take)(uint64_t now_ns, void *data);
	void (*free_page)(void *page);
	/*
	 * Appends figures: as a block of lines (`screen` NULL) or a page of its size. `is_held`:
	 * the user has stopped it.
	 */
	void (*show)(const void *page, const struct rs_cli_screen *screen, bool is_held,
		     GString *out, void *data);
	/* A key was pressed that is not one of ours. True: the page is drawn again. May be NULL. */
	bool (*key)(int key, void *data);
	/* A source has come, before its records; an interval has begun. May be NULL. */
	void (*come)(const RsTraceClientSource *source, void *data);
	void (*tick)(RsDBusSession1 *session, void *data);
	void *data;
};

/* Options that such verbs have in common, and what is made of them. */
struct rs_cli_live {
	char *name; /* of the session; NULL: not given */
	double interval;
	gint64 count; /* of intervals; 0: no limit */
	gboolean json;
	char *when; /* --color */
	RsCliChoice choice;
	RsCliSymbols symbols;
	bool color;
};
typedef struct rs_cli_live RsCliLive; /* for g_auto() */

#define RS_CLI_LIVE_INTERVAL 1.0
#define RS_CLI_LIVE_OPTION(long_name, letter, kind, to, help, value)                               \
	{                                                                                          \
		long_name, letter, 0, G_OPTION_ARG_##kind, &(to), help, value                      \
	}
/* Rows of a verb's options. `live` begins with an interval of RS_CLI_LIVE_INTERVAL. */
#define RS_CLI_LIVE_OPTIONS(l)                                                                     \
	RS_CLI_LIVE_OPTION("session", 's', STRING, (l).name, "The session", "NAME"),               \
		RS_CLI_LIVE_OPTION("interval", 'i', DOUBLE, (l).interval,                          \
				   "Show it anew every so many seconds (1)", "SECONDS"),           \
		RS_CLI_LIVE_OPTION("count", 'n', INT64, (l).count,                                 \
				   "End after so many intervals (0: no limit)", "N"),              \
		RS_CLI_LIVE_OPTION("json", 'j', NONE, (l).json, "One JSON object a line", NULL),   \
		RS_CLI_COLOR_OPTION((l).when), RS_CLI_SYMBOLS_FILE((l).symbols),                   \
		RS_CLI_SYMBOLS_NONE((l).symbols), RS_CLI_CHOICE_OPTIONS((l).choice)

/* Checks the options: 0, or an exit code after a message. */
int rs_cli_live_check(const struct rs_verb *verb, struct rs_cli_live *live);
/* Until the session ends, the user wants no more, or `count` intervals are over: an exit code. */
int rs_cli_live_run(RsDBusSession1 *session, const struct rs_cli_live *live,
		    const struct rs_cli_live_config *config);
void rs_cli_live_clear(struct rs_cli_live *live);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RsCliLive, rs_cli_live_clear)

#endif
