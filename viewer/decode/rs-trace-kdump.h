/* SPDX-License-Identifier: MIT */
/*
 * Records of the system "ktrace" as the lines that kdump(1) of OpenBSD prints:
 *
 *	  4711 cat      CALL  open(0x7f7ffffe3b10,0x0)
 *	  4711 cat      NAMI  "/etc/motd"
 *	  4711 cat      RET   open -1 errno 2 No such file or directory
 *
 * The records are hostile: fields are found by their names and bounded by the payload, and texts
 * are escaped for a terminal (rs-trace-escape.h). An event that calls itself ktrace and lacks a
 * field is shown as its own print format says. Any thread, one at a time for each RsTraceKdump.
 *
 * Numbers of errors and signals are those of Linux (ringside/error.h).
 */
#ifndef RS_TRACE_KDUMP_H
#define RS_TRACE_KDUMP_H

#include "rs-trace-cmdline.h"
#include "rs-trace-text.h"

G_BEGIN_DECLS
#pragma GCC visibility push(hidden) /* not for outsiders */

/* The name of a system call, or NULL: its number is shown. */
typedef const char *(*RsTraceCallName)(gint64 code, gpointer data);
/* Those of Linux on x86-64. */
const char *rs_trace_kdump_linux_call(gint64 code, gpointer data);

typedef struct {
	gboolean decimal;   /* -d: all numbers in decimal */
	gboolean threads;   /* -H: thread ids too */
	gboolean plain;     /* -n: errors without text, values in one base */
	gboolean relative;  /* -R: time since the line before; with absolute: since the first one */
	gboolean absolute;  /* -T: time as the record has it */
	gboolean hex;       /* -x: data in hexadecimal */
	gboolean hex_ascii; /* -X: and as characters beside it */
	guint64 max_data;   /* -m: bytes of data that are shown of a record */
	guint32 pid;        /* -p: only this process; 0: all */
	guint32 points;     /* -t: see rs_trace_kdump_points(); 0: the default */
	const char *label;  /* -u: only the data of user records with this label; NULL: all */
	RsTraceCallName call_name; /* NULL: numbers are shown */
	gpointer data;             /* for call_name */
} RsTraceKdumpOptions;

typedef struct {
	RsTraceKdumpOptions options; /* its strings are the caller's */
	guint64 first_ns, last_ns;   /* of the lines so far */
	gboolean began;
} RsTraceKdump;

/*
 * The points that the letters of -t mean: RS_TRACE_KDUMP_LETTERS, where + is all but X. No guest
 * writes what p means. Returns NULL, or the place of the first letter that does not exist, or of
 * the end if there is no letter at all.
 */
#define RS_TRACE_KDUMP_LETTERS "ceinpstuwxX+"
const char *rs_trace_kdump_points(const char *letters, guint32 *points);

/* Nothing needs to be freed. */
void rs_trace_kdump_init(RsTraceKdump *kdump, const RsTraceKdumpOptions *options);

/*
 * Whether anything is shown of a record: for those who show it in another form. Losses and boots
 * are, but not with a label.
 */
gboolean rs_trace_kdump_wants(const RsTraceKdump *kdump, const RsTraceRecord *record,
			      const RsTraceTask *task);

/*
 * Appends what is shown of a record: one or more lines, or nothing. Other events are not shown;
 * losses and boots are, as rs_trace_text_line() shows them, but not with a label. `style`: only
 * RS_TRACE_TEXT_SOURCE counts.
 */
void rs_trace_kdump_record(RsTraceKdump *kdump, GString *out, const RsTraceRecord *record,
			   const RsTraceTask *task, RsTraceTextStyle style);

#pragma GCC visibility pop
G_END_DECLS

#endif
