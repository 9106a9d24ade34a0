/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include "base/output.h"

#include <rs-trace-escape.h>
#include <string.h>

static GMutex lock; /* of all below */
static struct rs_output output = {.fd = -1};
static gint64 since; /* when the first message of a burst came; 0: none did */
static guint written, left_out;

static const GLogField *find(const GLogField *fields, gsize n_fields, const char *key)
{
	for (gsize i = 0; i < n_fields; i++) {
		if (strcmp(fields[i].key, key) == 0)
			return &fields[i];
	}
	return NULL;
}

static gsize size_of(const GLogField *field)
{
	const gsize max = RS_LOG_TEXT_MAX + 1;

	return field->length < 0 ? strnlen(field->value, max) : MIN((gsize)field->length, max);
}

static void append_line(GString *out, const GLogField *message)
{
	gsize size = message ? size_of(message) : 0;

	g_string_append(out, "ringside: ");
	if (message)
		rs_trace_append_escaped(out, message->value, MIN(size, RS_LOG_TEXT_MAX), NULL);
	g_string_append(out, size > RS_LOG_TEXT_MAX ? " …\n" : "\n");
}

/* False: enough was written for now. */
static bool may_write(GString *out)
{
	gint64 now = g_get_monotonic_time();

	if (!since || now - since >= RS_LOG_BURST_S * G_TIME_SPAN_SECOND) {
		if (left_out)
			g_string_append_printf(out, "ringside: %u messages were left out\n",
					       left_out);
		since = now;
		written = left_out = 0;
	}
	if (written < RS_LOG_BURST) {
		written++;
		return true;
	}
	left_out++;
	return false;
}

GLogWriterOutput rs_log_write(GLogLevelFlags level, const GLogField *fields, gsize n_fields,
			      gpointer unused)
{
	const GLogField *domain = find(fields, n_fields, "GLIB_DOMAIN");
	const gint64 at_once = 1; /* a time that has passed */
	g_autoptr(GString) out = g_string_new(NULL);

	if (g_log_writer_default_would_drop(level, domain ? domain->value : NULL))
		return G_LOG_WRITER_HANDLED;
	g_mutex_lock(&lock);
	if (may_write(out) || level & (G_LOG_LEVEL_ERROR | G_LOG_FLAG_FATAL)) {
		append_line(out, find(fields, n_fields, "MESSAGE"));
		rs_output_write(&output, out->str, out->len, &at_once, NULL);
	}
	g_mutex_unlock(&lock);
	return G_LOG_WRITER_HANDLED;
}

void rs_log_to(int fd)
{
	rs_output_deinit(&output);
	rs_output_init(&output, fd);
}

void rs_log_start(int fd)
{
	rs_log_to(fd);
	g_log_set_writer_func(rs_log_write, NULL, NULL);
}
