/* SPDX-License-Identifier: MIT */
#include "cli/summary.h"

#include "base/say.h"
#include "cli/verb.h"
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

/* What the output's reader did not get. A guest may claim any number of records. */
static uint64_t not_read(uint64_t written, const struct rs_printer_stats *printed)
{
	uint64_t known = printed->events + printed->lost;

	return written > known ? written - known : 0;
}

static void append_patches(GString *out, const struct rs_source_stat *s)
{
	g_string_append_printf(out,
			       "# patches: %" PRIu64 " in %" PRIu64 " batch%s; %" PRIu64
			       " site%s, %" PRIu64 " refused; ",
			       s->patches, s->batches, rs_cli_plural(s->batches, "es"), s->sites,
			       rs_cli_plural(s->sites, "s"), s->sites_refused);
	if (s->pause_max_ns)
		g_string_append_printf(out, "pause last %.1f us, max %.1f us\n",
				       (double)s->pause_last_ns / 1e3,
				       (double)s->pause_max_ns / 1e3);
	else
		g_string_append(out, "no pause\n");
}

/* What this session recorded, or moved, and what became of it. */
static void append_events(GString *out, const struct rs_source_stat *s,
			  const struct rs_printer_stats *printed, bool several)
{
	const uint64_t written = s->written - s->before.written;

	/* The tracer of a bridged guest counts no events, and a page of it holds many. */
	g_string_append_printf(out, "# events: %" PRIu64 " %srecorded", written,
			       s->bridge && !several ? "pages " : "");
	if (s->before.written)
		g_string_append_printf(out, " (and %" PRIu64 " before)", s->before.written);
	g_string_append_printf(out, ", %" PRIu64 " printed, %" PRIu64 " lost, %" PRIu64 " dropped",
			       printed->events, printed->lost, s->dropped - s->before.dropped);
	if (printed->closed || printed->unread || printed->error)
		g_string_append_printf(out, ", %" PRIu64 " not read", not_read(written, printed));
}

char *rs_summary_text(const struct rs_source_stat *s, const struct rs_printer_stats *printed,
		      bool several)
{
	uint64_t exits = s->target.kvm_exits ? s->target.kvm_exits : s->target.exits;
	GString *out = g_string_new(NULL);

	append_events(out, s, printed, several);
	g_string_append_c(out, '\n');
	if (s->lost_no_ring || s->lost_nested)
		g_string_append_printf(out,
				       "# lost besides, as the guest counts them: %" PRIu64
				       " for want of a ring, %" PRIu64 " to deep nesting\n",
				       s->lost_no_ring, s->lost_nested);
	if (printed->bad_records)
		g_string_append_printf(out, "# bad: %" PRIu64 " record%s made no sense\n",
				       printed->bad_records,
				       rs_cli_plural(printed->bad_records, "s"));
	if (s->self_patch)
		g_string_append_printf(out, "# patches: by the guest itself, %" PRIu64 " refused\n",
				       s->sites_refused);
	else
		append_patches(out, s);
	if (exits)
		g_string_append_printf(out,
				       "# exits: %" PRIu64 ", by timers, console, page faults, "
				       "doorbells …; an event by itself causes none\n",
				       exits);
	/* Where nothing but the agent's hello comes that way, as in a QEMU, it says nothing. */
	if (exits || s->bad_hypercalls || s->target.doorbells)
		g_string_append_printf(
			out, "# hypercalls: %" PRIu64 " (%" PRIu64 " bad), doorbells %" PRIu64 "\n",
			s->hypercalls, s->bad_hypercalls, s->target.doorbells);
	if (s->turned_away)
		g_string_append_printf(out,
				       "# untraced: %" PRIu64 " program%s found no free region, "
				       "as they say (--regions)\n",
				       s->turned_away, rs_cli_plural(s->turned_away, "s"));
	return g_string_free(out, FALSE);
}

char *rs_summary_json(const struct rs_source_stat *s, const struct rs_printer_stats *printed)
{
	g_autoptr(JsonBuilder) b = json_builder_new();
	g_autoptr(JsonNode) root = NULL;

	json_builder_begin_object(b);
	json_builder_set_member_name(b, "summary");
	json_builder_begin_object(b);
	rs_cli_add_number(b, "recorded", s->written - s->before.written);
	rs_cli_add_number(b, "recorded_before", s->before.written);
	rs_cli_add_number(b, "printed", printed->events);
	rs_cli_add_number(b, "lost", printed->lost);
	rs_cli_add_number(b, "lost_no_ring", s->lost_no_ring);
	rs_cli_add_number(b, "lost_nested", s->lost_nested);
	rs_cli_add_number(b, "dropped", s->dropped - s->before.dropped);
	rs_cli_add_number(b, "overrun", s->overrun - s->before.overrun);
	rs_cli_add_number(b, "bad_records", printed->bad_records);
	rs_cli_add_number(b, "sites", s->sites);
	rs_cli_add_number(b, "sites_refused", s->sites_refused);
	rs_cli_add_number(b, "patches", s->patches);
	rs_cli_add_number(b, "patch_batches", s->batches);
	rs_cli_add_number(b, "pause_last_ns", s->pause_last_ns);
	rs_cli_add_number(b, "pause_max_ns", s->pause_max_ns);
	rs_cli_add_number(b, "exits", s->target.exits);
	rs_cli_add_number(b, "kvm_exits", s->target.kvm_exits);
	rs_cli_add_number(b, "hypercalls", s->hypercalls);
	rs_cli_add_number(b, "bad_hypercalls", s->bad_hypercalls);
	rs_cli_add_number(b, "doorbells", s->target.doorbells);
	rs_cli_add_number(b, "turned_away", s->turned_away);
	rs_cli_add_number(b, "console_unread", s->target.console_waiting + s->target.console_lost);
	json_builder_end_object(b);
	json_builder_end_object(b);
	root = json_builder_get_root(b);
	return json_to_string(root, FALSE);
}

void rs_summary_print(struct rs_session *session, const struct rs_printer_stats *printed,
		      int json_fd)
{
	struct rs_source_stat stat;
	g_autofree char *text = NULL;

	rs_session_stat(session, &stat);
	if (json_fd >= 0) {
		text = rs_summary_json(&stat, printed);
		dprintf(json_fd, "%s\n", text);
	} else {
		text = rs_summary_text(&stat, printed, rs_session_n_sources(session) > 1);
		fflush(stdout);
		rs_say(text);
	}
}
