/* SPDX-License-Identifier: MIT */
#include "cli/summary.h"

#include "cli/verb.h"
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

struct sums {
	uint64_t written, dropped, overrun;
};

static struct sums add_up(const struct rs_session_stat *s)
{
	struct sums sums = {0};

	for (uint32_t i = 0; i < s->cpus; i++) {
		sums.written += s->cpu[i].written;
		sums.dropped += s->cpu[i].dropped;
		sums.overrun += s->cpu[i].overrun;
	}
	return sums;
}

static void print_text(const struct rs_session_stat *s, const struct sums *sums,
		       const struct rs_live_stats *live)
{
	uint64_t exits = s->target.kvm_exits ? s->target.kvm_exits : s->target.exits;

	fflush(stdout);
	fprintf(stderr,
		"# events: %" PRIu64 " recorded, %" PRIu64 " printed, %" PRIu64 " lost, %" PRIu64
		" dropped\n",
		sums->written, live->events, live->lost, sums->dropped);
	if (live->bad_records)
		fprintf(stderr, "# bad:    %" PRIu64 " records made no sense\n", live->bad_records);
	if (s->self_patch)
		fprintf(stderr, "# patches: by the guest itself, %" PRIu64 " refused\n",
			s->sites_refused);
	else
		fprintf(stderr,
			"# patches: %" PRIu64 " of %" PRIu64 " sites in %" PRIu64
			" batches, %" PRIu64 " refused; pause last %.1f us, max %.1f us\n",
			s->patches, s->sites, s->batches, s->sites_refused,
			(double)s->pause_last_ns / 1e3, (double)s->pause_max_ns / 1e3);
	if (exits)
		fprintf(stderr,
			"# exits:  %" PRIu64 ", %.2f an event; hypercalls %" PRIu64 " (%" PRIu64
			" bad), doorbells %" PRIu64 "\n",
			exits, sums->written ? (double)exits / (double)sums->written : 0.0,
			s->target.hypercalls, s->target.bad_hypercalls, s->target.doorbells);
	else
		fprintf(stderr,
			"# hypercalls: %" PRIu64 " (%" PRIu64 " bad), doorbells %" PRIu64 "\n",
			s->target.hypercalls, s->target.bad_hypercalls, s->target.doorbells);
}

static void add(JsonBuilder *b, const char *name, uint64_t value)
{
	json_builder_set_member_name(b, name);
	json_builder_add_int_value(b, (gint64)value);
}

static void print_json(const struct rs_session_stat *s, const struct sums *sums,
		       const struct rs_live_stats *live, int fd)
{
	g_autoptr(JsonBuilder) b = json_builder_new();
	g_autoptr(JsonNode) root = NULL;
	g_autofree char *text = NULL;

	json_builder_begin_object(b);
	json_builder_set_member_name(b, "summary");
	json_builder_begin_object(b);
	add(b, "recorded", sums->written);
	add(b, "printed", live->events);
	add(b, "lost", live->lost);
	add(b, "dropped", sums->dropped);
	add(b, "overrun", sums->overrun);
	add(b, "bad_records", live->bad_records);
	add(b, "sites", s->sites);
	add(b, "sites_refused", s->sites_refused);
	add(b, "patches", s->patches);
	add(b, "patch_batches", s->batches);
	add(b, "pause_last_ns", s->pause_last_ns);
	add(b, "pause_max_ns", s->pause_max_ns);
	add(b, "exits", s->target.exits);
	add(b, "kvm_exits", s->target.kvm_exits);
	add(b, "hypercalls", s->target.hypercalls);
	add(b, "bad_hypercalls", s->target.bad_hypercalls);
	add(b, "doorbells", s->target.doorbells);
	json_builder_end_object(b);
	json_builder_end_object(b);
	root = json_builder_get_root(b);
	text = json_to_string(root, FALSE);
	dprintf(fd, "%s\n", text);
}

void rs_summary_print(struct rs_session *session, const struct rs_live_stats *live, int json_fd)
{
	struct rs_session_stat *stat = g_new0(struct rs_session_stat, 1);
	struct sums sums;

	rs_session_stat(session, stat);
	sums = add_up(stat);
	if (json_fd >= 0)
		print_json(stat, &sums, live, json_fd);
	else
		print_text(stat, &sums, live);
	g_free(stat);
}
