/* SPDX-License-Identifier: MIT */
/* What a test waits for in a guest's trace. */
#include "rs-test-guest-private.h"

/* Windows that must come until all that was written before one is read (rs-trace-reader.h). */
#define WINDOWS 3u
/* The clocks of guest and host may differ by less than that. */
#define CLOCKS_US (100 * G_TIME_SPAN_MILLISECOND)

/* What is looked for, and what was found of it. */
typedef struct {
	const char *event;
	RsTraceMatch *match;
	char *nearest; /* the record that came nearest, as text; NULL: none */
	guint64 lost;  /* before */
} Search;

static void search_clear(Search *search)
{
	rs_trace_match_free(search->match);
	g_free(search->nearest);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Search, search_clear)

static guint64 lost_of(RsTestGuest *guest)
{
	return rs_test_trace_lost(guest->trace, guest->has_ended && guest->was_stopped);
}

/* ---- mistakes ---- */

static gboolean is_enabled(const char *source, const RsTraceEvent *event, gpointer data)
{
	const GPtrArray *wishes = data;

	for (guint i = wishes->len; i > 0; i--) {
		const RsTestWish *wish = wishes->pdata[i - 1];

		if (rs_trace_event_glob_matches(wish->glob, source, event))
			return wish->on;
	}
	return FALSE;
}

static gboolean start(RsTestGuest *guest, const char *event, Search *search, GError **error)
{
	GError *why = NULL;

	if (!rs_test_is_booted(guest, error))
		return FALSE;
	search->event = event;
	search->lost = lost_of(guest);
	search->match = rs_trace_match_new(event, &why);
	if (!search->match)
		return rs_test_fail(error, why);
	/* A field that no event has is told at once, unless the events are still to come. */
	if (rs_test_trace_tell(guest->trace, search->match) &&
	    !rs_trace_match_check(search->match, &why))
		return rs_test_fail(error, why);
	return TRUE;
}

/* Nothing is met, or not met, because of a slip of the pen. */
static gboolean check(RsTestGuest *guest, Search *search, GError **error)
{
	GError *why = NULL;
	const gboolean known = rs_test_trace_tell(guest->trace, search->match) != 0;
	g_autofree char *like = NULL;

	if (!rs_trace_match_check(search->match, &why))
		return rs_test_fail(error, why);
	if (!known) {
		like = rs_test_trace_like(guest->trace, rs_trace_match_name(search->match));
		g_set_error(error, RS_TEST_ERROR, RS_TEST_ERROR_NO_SUCH_EVENT,
			    "%s: the guest has no such event%s%s%s",
			    rs_trace_match_name(search->match), like ? "; did you mean '" : "",
			    like ? like : "", like ? "'?" : "");
		return FALSE;
	}
	if (rs_trace_match_n_of_event(search->match) ||
	    rs_test_trace_any(guest->trace, search->match, is_enabled, guest->wishes))
		return TRUE;
	g_set_error(error, RS_TEST_ERROR, RS_TEST_ERROR_NO_SUCH_EVENT, "%s: it is not enabled",
		    rs_trace_match_name(search->match));
	return FALSE;
}

/* ---- one that is to come ---- */

static gboolean look(RsTestGuest *guest, Search *search, const RsTraceSample *sample)
{
	g_autoptr(RsTraceItem) item = NULL;

	switch (rs_trace_match_look(search->match, sample)) {
	case RS_TRACE_MATCH_SO:
		return TRUE;
	case RS_TRACE_MATCH_NEAREST:
		item = rs_test_trace_item(guest->trace);
		g_free(search->nearest);
		search->nearest = g_strdup(rs_trace_item_to_text(item));
		break;
	case RS_TRACE_MATCH_NOT:
		break;
	}
	return FALSE;
}

/*
 * Reads all that is written up to the deadline, and shows each record to `search`, if there is one.
 * FALSE: `error` is set, or the last record is one that is looked for.
 */
static gboolean read_until(RsTestGuest *guest, gint64 deadline, Search *search, GError **error)
{
	const gint64 silent = deadline + 2 * (gint64)RS_TEST_SILENT_MS * 1000;
	guint64 windows = G_MAXUINT64;

	for (;;) {
		const gboolean had_ended = rs_test_run_has_ended(guest);
		const gboolean is_over = g_get_monotonic_time() >= deadline;
		GError *why = NULL;
		const RsTraceSample *sample = rs_test_trace_next(guest->trace, had_ended, &why);

		if (why)
			return rs_test_fail(error, why);
		if (sample && is_over &&
		    rs_test_trace_is_after(guest->trace, deadline + CLOCKS_US)) {
			/* A guest may write faster than anybody reads. */
			rs_test_trace_unread(guest->trace);
			return TRUE;
		}
		if (sample) {
			if (search && look(guest, search, sample))
				return FALSE;
		} else if (had_ended) {
			return TRUE;
		} else if (is_over && windows == G_MAXUINT64) {
			windows = rs_test_trace_n_windows(guest->trace) + WINDOWS;
		} else if (is_over && rs_test_trace_n_windows(guest->trace) >= windows) {
			return TRUE;
		}
		if (g_get_monotonic_time() >= silent)
			break;
		if (!sample)
			rs_test_pause(guest, silent);
	}
	g_set_error(error, RS_TEST_ERROR, RS_TEST_ERROR_FAILED,
		    "the trace could not be read up to a moment within %u s",
		    2 * RS_TEST_SILENT_MS / 1000);
	return FALSE;
}

/* "none of 12 records of the event is so; the nearest is, but for …", and the record. */
static void describe(RsTestGuest *guest, const Search *search, GString *out)
{
	const guint64 n = rs_trace_match_n_of_event(search->match);
	const guint64 lost = lost_of(guest) - search->lost;
	const char *missing = rs_trace_match_missing(search->match);

	if (!n)
		g_string_append(out, "no record of the event came");
	else
		g_string_append_printf(
			out, "none of %" G_GUINT64_FORMAT " records of the event is so", n);
	if (n && missing)
		g_string_append_printf(out, "; the nearest is, but for %s", missing);
	if (lost)
		g_string_append_printf(out, "; %" G_GUINT64_FORMAT " events are lost", lost);
	if (search->nearest)
		g_string_append_printf(out, "\n%s", search->nearest);
}

static void tell_missing(RsTestGuest *guest, Search *search, guint timeout_ms, GError **error)
{
	g_autoptr(GString) why = g_string_new(NULL);

	if (!check(guest, search, error))
		return;
	g_string_append_printf(why, "%s: ", search->event);
	if (guest->has_ended)
		g_string_append_printf(why, "the guest has ended (%s), and ", guest->end_text);
	else
		g_string_append_printf(why, "within %u ms ", timeout_ms);
	describe(guest, search, why);
	g_set_error_literal(error, RS_TEST_ERROR,
			    guest->has_ended ? RS_TEST_ERROR_ENDED : RS_TEST_ERROR_TIMEOUT,
			    why->str);
}

RsTraceItem *rs_test_guest_expect(RsTestGuest *guest, const char *event, guint timeout_ms,
				  GError **error)
{
	g_auto(Search) search = {0};
	GError *why = NULL;

	g_return_val_if_fail(RS_TEST_IS_GUEST(guest) && event, NULL);
	if (!start(guest, event, &search, error))
		return NULL;
	if (read_until(guest, rs_test_deadline(timeout_ms), &search, &why))
		tell_missing(guest, &search, timeout_ms, error);
	else if (why)
		g_propagate_error(error, why);
	else
		return rs_test_trace_item(guest->trace);
	return NULL;
}

/* ---- the next one ---- */

/* The next record. NULL without an error: the deadline is over, or the guest has ended. */
static const RsTraceSample *wait_for_record(RsTestGuest *guest, gint64 deadline, GError **error)
{
	GError *why = NULL;

	do {
		/* Before it is read: then nothing is missed that is written meanwhile. */
		const gboolean had_ended = rs_test_run_has_ended(guest);
		const RsTraceSample *sample = rs_test_trace_next(guest->trace, had_ended, &why);

		if (sample)
			return sample;
		if (why) {
			rs_test_fail(error, why);
			return NULL;
		}
		if (had_ended)
			return NULL;
	} while (rs_test_pause(guest, deadline));
	return NULL;
}

RsTraceItem *rs_test_guest_next(RsTestGuest *guest, guint timeout_ms, GError **error)
{
	const gint64 deadline = rs_test_deadline(timeout_ms);
	const RsTraceSample *sample;
	GError *why = NULL;

	g_return_val_if_fail(RS_TEST_IS_GUEST(guest), NULL);
	if (!rs_test_is_booted(guest, error))
		return NULL;
	while ((sample = wait_for_record(guest, deadline, &why))) {
		if (sample->record->kind == RS_TRACE_RECORD_EVENT)
			return rs_test_trace_item(guest->trace);
	}
	if (why)
		g_propagate_error(error, why);
	else if (!guest->has_ended)
		g_set_error(error, RS_TEST_ERROR, RS_TEST_ERROR_TIMEOUT,
			    "no event came within %u ms", timeout_ms);
	return NULL;
}

/* ---- none that is to come ---- */

gboolean rs_test_guest_expect_none(RsTestGuest *guest, const char *event, guint ms, GError **error)
{
	g_auto(Search) search = {0};
	g_autoptr(RsTraceItem) item = NULL;
	GError *why = NULL;
	guint64 lost;

	g_return_val_if_fail(RS_TEST_IS_GUEST(guest) && event, FALSE);
	if (!start(guest, event, &search, error))
		return FALSE;
	if (!read_until(guest, rs_test_deadline(ms), &search, &why)) {
		if (why) {
			g_propagate_error(error, why);
			return FALSE;
		}
		item = rs_test_trace_item(guest->trace);
		g_set_error(error, RS_TEST_ERROR, RS_TEST_ERROR_UNEXPECTED, "%s: it happened\n%s",
			    event, rs_trace_item_to_text(item));
		return FALSE;
	}
	if (!check(guest, &search, error))
		return FALSE;
	lost = lost_of(guest) - search.lost;
	if (!lost || guest->may_lose)
		return TRUE;
	g_set_error(error, RS_TEST_ERROR, RS_TEST_ERROR_LOST,
		    "%s: nobody knows: %" G_GUINT64_FORMAT " events are lost", event, lost);
	return FALSE;
}

gboolean rs_test_guest_catch_up(RsTestGuest *guest, GError **error)
{
	g_return_val_if_fail(RS_TEST_IS_GUEST(guest), FALSE);
	return rs_test_is_booted(guest, error) &&
	       read_until(guest, g_get_monotonic_time(), NULL, error);
}

void rs_test_guest_rewind(RsTestGuest *guest)
{
	g_return_if_fail(RS_TEST_IS_GUEST(guest));
	if (guest->trace)
		rs_test_trace_rewind(guest->trace);
}

guint64 rs_test_guest_get_lost(RsTestGuest *guest)
{
	g_return_val_if_fail(RS_TEST_IS_GUEST(guest), 0);
	return guest->trace ? lost_of(guest) : 0;
}
