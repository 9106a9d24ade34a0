/* SPDX-License-Identifier: MIT */
#include "base/say.h"

#include "base/output.h"

#include <unistd.h>

#define PATIENCE_US (200 * G_TIME_SPAN_MILLISECOND)

void rs_say(const char *text)
{
	static struct rs_output output = {.fd = -1};
	static unsigned int dropped;
	static bool cut; /* the last message has no end */
	g_autoptr(GString) out = g_string_new(NULL);
	gint64 until = g_get_monotonic_time();
	size_t done;

	if (output.fd < 0)
		rs_output_init(&output, STDERR_FILENO);
	if (cut)
		g_string_append_c(out, '\n');
	if (dropped)
		g_string_append_printf(out, "ringside: nobody read %u messages before this one\n",
				       dropped);
	else
		until += PATIENCE_US;
	g_string_append(out, text);
	if (rs_output_write(&output, out->str, out->len, &until, &done) == 0) {
		dropped = 0;
		cut = false;
		return;
	}
	dropped++;
	if (done)
		cut = out->str[done - 1] != '\n';
}
