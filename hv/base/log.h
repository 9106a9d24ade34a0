/* SPDX-License-Identifier: MIT */
/*
 * What GLib and its libraries log, e.g. GDBus about a message that it could not parse: all of its
 * bytes. Here each becomes one short line of plain characters. Few are written, and only if that
 * takes no time, whoever reads them.
 */
#ifndef RS_HV_BASE_LOG_H
#define RS_HV_BASE_LOG_H

#include <glib.h>

#define RS_LOG_TEXT_MAX 200u /* bytes of a message that are written */
#define RS_LOG_BURST 10u     /* messages in RS_LOG_BURST_S; later ones are only counted */
#define RS_LOG_BURST_S 60

/* Everything goes to `fd` from now on, which must stay open. Once, before there are threads. */
void rs_log_start(int fd);
/* Likewise, as often as there are no threads. */
void rs_log_to(int fd);

/* A GLogWriterFunc. Errors are always written, and GLib then ends the program. Any thread. */
GLogWriterOutput rs_log_write(GLogLevelFlags level, const GLogField *fields, gsize n_fields,
			      gpointer unused);

#endif
