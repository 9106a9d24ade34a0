/* SPDX-License-Identifier: MIT */
/*
 * A hostile spec of a test run, what it expects in each of its cases, and whether a hostile trace
 * is so. Input: bytes of the spec, its text, then records of two bytes each.
 */
#include "input.h"
#include "seed.h"
#include "../unit/analysis/items.h"
#include "expect/rs-trace-setup.h"
#include "expect/rs-trace-verdict.h"

#include <stdlib.h>

#define CASES 16u
#define RECORDS 64u

static const char serial[] = "boot\nok 1\nok 2\n";

struct record {
	uint8_t kind : 2, pid : 3, next : 3;
	uint8_t ns;
};

static void add_records(RsTraceVerdict *verdict, struct rs_fuzz_input in)
{
	TestItems items;
	struct record r;
	guint64 ns = 0;

	test_items_init(&items);
	rs_trace_verdict_know(verdict, NULL, rs_trace_schema_by_id(items.schema, TEST_SWITCH));
	rs_trace_verdict_know(verdict, NULL, rs_trace_schema_by_id(items.schema, TEST_ALL));
	for (guint i = 0; i < RECORDS && rs_fuzz_take(&in, &r, sizeof(r)); i++) {
		/* Clocks are not sworn to go forward. */
		ns = ns + r.ns - (i % 8 == 7 ? 200 : 0);
		if (r.kind == 3)
			rs_trace_verdict_add(verdict, test_items_loss(&items, ns, r.next));
		else if (r.kind == 2)
			rs_trace_verdict_add(verdict, test_items_all(&items, ns, r.pid));
		else
			rs_trace_verdict_add(verdict,
					     test_items_switch(&items, ns, r.pid, r.pid, r.next));
	}
	test_items_clear(&items);
}

RS_FUZZ_NOT_SEEN static void check_findings(const GPtrArray *found, guint n)
{
	if (found->len != n)
		abort();
	for (guint i = 0; i < found->len; i++) {
		const RsTraceFinding *f = found->pdata[i];

		if ((f->kind == RS_TRACE_FINDING_MET) != !f->why)
			abort();
		/* One line, for a terminal. */
		for (const char *at = f->why; at && *at; at++)
			if ((guchar)*at < 0x20 || *at == 0x7f)
				abort();
		if (f->record != RS_TRACE_VERDICT_NONE && f->record >= RECORDS)
			abort();
	}
}

static void judge(GPtrArray *expectations, struct rs_fuzz_input in)
{
	const uint8_t how = rs_fuzz_u8(&in);
	const RsTraceRunEnd end = {.serial = how & 1 ? NULL : serial,
				   .serial_size = how & 1 ? 0 : sizeof(serial) - 1,
				   .exited = !(how & 2),
				   .code = how >> 4,
				   .how = how & 2 ? "panic" : "exit",
				   .text = how & 1 ? NULL : serial,
				   .until_ns = how & 8 ? 5000 : 0,
				   .end = "it was stopped"};
	g_autoptr(RsTraceVerdict) verdict = rs_trace_verdict_new(expectations, !!(how & 4));
	g_autoptr(GPtrArray) found = NULL;

	add_records(verdict, in);
	found = rs_trace_verdict_finish(verdict, &end);
	check_findings(found, expectations->len + !(how & 4));
}

/* An error has one message, for a terminal, with the place that it is about. */
RS_FUZZ_NOT_SEEN static void check_error(const void *made, const GError *error)
{
	if (!made != !!error)
		abort();
	if (!error)
		return;
	if (error->domain != RS_TRACE_SPEC_ERROR || !g_str_has_prefix(error->message, "a:") ||
	    !g_utf8_validate(error->message, -1, NULL))
		abort();
	for (const char *at = error->message; *at; at++)
		if (*at != '\n' && ((guchar)*at < 0x20 || *at == 0x7f))
			abort();
}

static void try_case(const RsTraceSpec *spec, struct rs_fuzz_input in)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) expectations = rs_trace_expectations_new(spec, &error);
	g_autoptr(RsTraceSetup) setup = NULL;

	check_error(expectations, error);
	if (!rs_trace_spec_has(spec, "guest", "kernel")) {
		g_clear_error(&error);
		rs_trace_spec_blame(spec, "guest", NULL, &error, "there is no kernel");
		check_error(NULL, error);
	}
	g_clear_error(&error);
	setup = rs_trace_setup_new(spec, NULL, &error);
	check_error(setup, error);
	if (expectations)
		judge(expectations, in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rs_fuzz_input in = {data, size};
	g_autoptr(GError) error = NULL;
	g_autoptr(RsTraceSpec) spec = NULL;
	g_autofree char *text = NULL;
	uint16_t length;

	/* What GLib complains of is a fault, too. */
	g_log_set_always_fatal(G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING);
	rs_fuzz_take(&in, &length, sizeof(length));
	length = (uint16_t)MIN(length, in.left);
	/* Exactly as large as it is, so that a byte too far is seen. */
	text = g_memdup2(in.data, length);
	in.data += length;
	in.left -= length;
	/* A spec may ask the environment: it is the same for all. */
	clearenv();
	spec = rs_trace_spec_new("a", text ? text : "", length, &error);
	check_error(spec, error);
	for (guint i = 0; spec && i < MIN(rs_trace_spec_n_cases(spec), CASES); i++) {
		g_autoptr(RsTraceSpec) one = rs_trace_spec_new_case(spec, i);

		try_case(one, in);
	}
	return 0;
}

static void put_seed(const char *name, const char *text)
{
	static const struct record records[] = {{0, 3, 4, 1},   {2, 4, 0, 9}, {0, 4, 5, 10},
						{2, 3, 0, 100}, {0, 1, 7, 1}, {3, 0, 2, 1}};
	g_autoptr(GByteArray) seed = g_byte_array_new();
	const uint16_t length = (uint16_t)strlen(text);

	g_byte_array_append(seed, (const guint8 *)&length, sizeof(length));
	g_byte_array_append(seed, (const guint8 *)text, length);
	g_byte_array_append(seed, (const guint8 *)"", 1);
	g_byte_array_append(seed, (const guint8 *)records, sizeof(records));
	rs_fuzz_seed(name, seed->data, seed->len);
}

static void rs_fuzz_seeds(void)
{
	put_seed("events", "# all about it\n[test]\nabout = a\ntags = a; b\ntimeout = 1.5s\n"
			   "[guest]\nkernel = k\ncpus = 2\n[trace]\nenable = sched:*; demo:*\n"
			   "[expect switches]\nevent = sched:switch: next == 4\ncount = 1..3\n"
			   "bind = who=next\n[expect later]\nevent = sched:switch: prev == $who\n"
			   "since = switches\nuntil = end\nwithin = 20ns\n[expect end]\n"
			   "event = sched:switch: next == 7\n[expect none]\nnever = demo:all: "
			   "COMM == \"x\"\n");
	put_seed("partners", "[matrix]\ncpus = 1; 2\naccel = tcg; kvm\n[guest]\ndemo = true\n"
			     "[trace]\nenable = *\n[expect each]\neach = sched:switch\nthen = "
			     "demo:all\nsame = pid\n"
			     "within = 50ns\n[expect after]\nevent = demo:all\n"
			     "after = sched:switch\nsame = next=prev; pid\nrate = 1..\n"
			     "[expect last]\nlast = sched:switch\nis = next == 7\n");
	put_seed("ends", "[guest]\nhosted = a b\n[trace]\nenable = *\n[expect pair]\npair = "
			 "switch..all\nkey = pid\n"
			 "p50 = 1us\np90 = 2ms\np99 = 1s\nmax = 1min\ncount = ..9\n"
			 "[expect ok]\nserial = ^ok \\d$\ncount = 2\n[expect no]\n"
			 "serial-never = panic\n[expect code]\nexit = 0..3\n");
	put_seed("crash",
		 "[parameters]\nhow = panic\nd = $${how}\n[guest]\ndemo = true\n[expect e]\n"
		 "end = ${how}\ntext = ^out (of|in)$\n");
}
