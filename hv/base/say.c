/* SPDX-License-Identifier: MIT */
#include "base/say.h"

#include "base/output.h"

#include <unistd.h>

#define PATIENCE_US (200 * G_TIME_SPAN_MILLISECOND) /* that all messages have together */
#define REGAIN 50 /* times as long as they waited, until they have it again */

static gint64 whole_at; /* when all of it is there again */
static struct rs_output output = {.fd = -1};

static gint64 patience_at(gint64 now)
{
	return PATIENCE_US - CLAMP((whole_at - now) / REGAIN, 0, PATIENCE_US);
}

static void take_patience(gint64 from, gint64 to)
{
	whole_at = MAX(whole_at, from) + (to - from) * REGAIN;
	whole_at = MIN(whole_at, to + PATIENCE_US * REGAIN);
}

void rs_say_to(int fd)
{
	rs_output_deinit(&output);
	rs_output_init(&output, fd);
}

void rs_say(const char *text)
{
	static unsigned int dropped;
	static bool cut; /* the last message has no end */
	g_autoptr(GString) out = g_string_new(NULL);
	gint64 now = g_get_monotonic_time(), until = now;
	size_t done;
	int ret;

	if (output.fd < 0)
		rs_output_init(&output, STDERR_FILENO);
	if (cut)
		g_string_append_c(out, '\n');
	if (dropped)
		g_string_append_printf(out, "ringside: nobody read %u messages before this one\n",
				       dropped);
	else
		until += patience_at(now);
	g_string_append(out, text);
	ret = rs_output_write(&output, out->str, out->len, &until, &done);
	take_patience(now, g_get_monotonic_time());
	if (ret == 0) {
		dropped = 0;
		cut = false;
		return;
	}
	dropped++;
	if (done)
		cut = out->str[done - 1] != '\n';
}
