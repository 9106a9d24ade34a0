/* SPDX-License-Identifier: MIT */
/*
 * Peers ask for events that are not there yet, and see what is kept for them. That can be saved and
 * restored.
 */
#include "host.h"

#include <ringside/record.h>
#include <string.h>

static GVariant *options(const char *owner, bool ahead, bool until_disconnect)
{
	GVariantDict dict;

	g_variant_dict_init(&dict, NULL);
	if (owner)
		g_variant_dict_insert(&dict, "owner", "s", owner);
	if (ahead)
		g_variant_dict_insert(&dict, "ahead", "b", TRUE);
	if (until_disconnect)
		g_variant_dict_insert(&dict, "until-disconnect", "b", TRUE);
	return g_variant_dict_end(&dict);
}

/* One part of the list; *next: where it goes on, or 0. */
static GVariant *part(RsDBusSession1 *peer, guint64 *next)
{
	g_autoptr(GVariant) more = NULL;
	GVariant *rows = NULL;
	GVariantDict dict;

	g_variant_dict_init(&dict, NULL);
	g_variant_dict_insert(&dict, "after", "t", *next);
	g_assert_true(rs_dbus_session1_call_list_kept_sync(peer, g_variant_dict_end(&dict), &rows,
							   &more, NULL, NULL));
	*next = 0;
	g_variant_lookup(more, "next", "t", next);
	return rows;
}

static const char *text_of(GVariant *row, const char *key)
{
	const char *text = NULL;

	g_variant_lookup(row, key, "&s", &text);
	return text;
}

static void ahead(struct host *host)
{
	g_autoptr(RsDBusSession1) peer = host_connect(host);
	g_autoptr(GVariant) rows = NULL, row = NULL, filter = NULL;
	GError *error = NULL;
	gboolean pending = FALSE, met = TRUE;
	guint64 next = 0;
	guint touched;

	g_assert_false(rs_dbus_session1_call_enable_sync(peer, "late:*@level=3",
							 options(NULL, false, false), NULL, NULL,
							 NULL, NULL, NULL, &error));
	g_assert_error(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_NO_SUCH_EVENT);
	g_clear_error(&error);
	g_assert_true(rs_dbus_session1_call_enable_sync(peer, "late:*@level=3",
							options(NULL, true, false), &touched,
							&pending, NULL, NULL, NULL, NULL));
	g_assert_true(pending);
	g_assert_cmpuint(touched, ==, 0);
	g_assert_true(rs_dbus_session1_call_set_filter_sync(peer, "late:*", "a > 1",
							    options("view", true, false), NULL,
							    NULL, NULL, NULL, NULL, NULL));
	rows = part(peer, &next);
	g_assert_cmpuint(next, ==, 0);
	g_assert_cmpuint(g_variant_n_children(rows), ==, 2);
	row = g_variant_get_child_value(rows, 0);
	g_assert_cmpstr(text_of(row, "owner"), ==, "host");
	g_assert_cmpstr(text_of(row, "wish"), ==, "enable");
	g_assert_cmpstr(text_of(row, "glob"), ==, "late:*@level=3");
	g_assert_null(text_of(row, "filter"));
	g_assert_null(text_of(row, "source"));
	g_assert_true(g_variant_lookup(row, "met", "b", &met));
	g_assert_false(met);
	filter = g_variant_get_child_value(rows, 1);
	g_assert_cmpstr(text_of(filter, "owner"), ==, "view");
	g_assert_cmpstr(text_of(filter, "wish"), ==, "filter");
	g_assert_cmpstr(text_of(filter, "filter"), ==, "a > 1");
}

/* The wish is the peer's, and ends with it if that was asked for. */
static void ends(struct host *host)
{
	g_autoptr(RsDBusSession1) peer = host_connect(host);
	RsDBusSession1 *other = host_connect(host);
	guint left;

	g_assert_true(rs_dbus_session1_call_enable_sync(
		other, "late:*", options("view", true, true), NULL, NULL, NULL, NULL, NULL, NULL));
	g_dbus_connection_close_sync(g_dbus_proxy_get_connection(G_DBUS_PROXY(other)), NULL, NULL);
	g_object_unref(other);
	do {
		guint64 next = 0;
		g_autoptr(GVariant) rows = part(peer, &next);

		left = (guint)g_variant_n_children(rows);
	} while (left);
}

/* A long list comes in parts, which together are all of it. */
static void parts(struct host *host)
{
	g_autoptr(RsDBusSession1) peer = host_connect(host);
	g_autofree char *filler = g_strnfill(900, 'x');
	guint64 next = 0;
	guint n = 0, count = 0;

	for (guint i = 0; i < 200; i++) {
		g_autofree char *glob = g_strdup_printf("late:%u", i);
		g_autofree char *expression = g_strdup_printf("a == \"%s\"", filler);

		g_assert_true(rs_dbus_session1_call_set_filter_sync(
			peer, glob, expression, options(NULL, true, false), NULL, NULL, NULL, NULL,
			NULL, NULL));
	}
	do {
		g_autoptr(GVariant) rows = part(peer, &next);

		g_assert_cmpuint(g_variant_get_size(rows), <, 2 * 65536);
		for (gsize i = 0; i < g_variant_n_children(rows); i++, n++) {
			g_autoptr(GVariant) row = g_variant_get_child_value(rows, i);
			g_autofree char *glob = g_strdup_printf("late:%u", n);

			g_assert_cmpstr(text_of(row, "glob"), ==, glob);
		}
		count++;
	} while (next);
	g_assert_cmpuint(n, ==, 200);
	g_assert_cmpuint(count, >, 1);
	/* Past the end there is nothing. */
	next = G_MAXUINT64;
	g_variant_unref(part(peer, &next));
	g_assert_cmpuint(next, ==, 0);
}

static guint count_kept(RsDBusSession1 *peer)
{
	guint64 next = 0;
	g_autoptr(GVariant) rows = part(peer, &next);

	return (guint)g_variant_n_children(rows);
}

static gboolean restore(RsDBusSession1 *peer, GError **error)
{
	return rs_dbus_session1_call_restore_wishes_sync(peer, options(NULL, false, false), NULL,
							 NULL, NULL, NULL, NULL, error);
}

static void check_bad(GError **error)
{
	g_assert_error(*error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_BAD_ARGUMENT);
	g_clear_error(error);
}

/* What is saved is the peer's, and is restored once. */
static void saved(struct host *host)
{
	g_autoptr(RsDBusSession1) peer = host_connect(host), other = host_connect(host);
	GError *error = NULL;

	g_assert_false(restore(peer, &error));
	check_bad(&error);
	g_assert_false(rs_dbus_session1_call_save_wishes_sync(
		peer, "no name", options(NULL, false, false), NULL, NULL, &error));
	check_bad(&error);
	g_assert_false(rs_dbus_session1_call_save_wishes_sync(
		peer, "host", options(NULL, true, false), NULL, NULL, &error));
	check_bad(&error);
	g_assert_true(rs_dbus_session1_call_enable_sync(peer, "late:a", options(NULL, true, false),
							NULL, NULL, NULL, NULL, NULL, NULL));
	g_assert_true(rs_dbus_session1_call_save_wishes_sync(
		peer, "host", options(NULL, false, false), NULL, NULL, NULL));
	g_assert_true(rs_dbus_session1_call_enable_sync(other, "late:b", options(NULL, true, false),
							NULL, NULL, NULL, NULL, NULL, NULL));
	g_assert_cmpuint(count_kept(peer), ==, 2);
	g_assert_false(restore(other, &error));
	check_bad(&error);
	/* Nobody changes anything for whom another peer has claimed the session. */
	g_assert_true(rs_dbus_session1_call_claim_sync(other, options(NULL, false, false), NULL,
						       NULL, NULL));
	g_assert_false(restore(peer, &error));
	g_assert_error(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_BUSY);
	g_clear_error(&error);
	g_assert_true(rs_dbus_session1_call_release_sync(other, options(NULL, false, false), NULL,
							 NULL, NULL));
	g_assert_true(restore(peer, &error));
	g_assert_cmpuint(count_kept(peer), ==, 1);
	g_assert_false(restore(peer, &error));
	check_bad(&error);
	/* It goes with the peer, or with the session. */
	g_assert_true(rs_dbus_session1_call_save_wishes_sync(
		peer, "host", options(NULL, false, false), NULL, NULL, NULL));
}

int main(int argc, char **argv)
{
	static void (*const bodies[])(struct host *) = {ahead, ends, parts, saved};
	static const char *const names[] = {"ahead", "ends", "parts", "saved"};

	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(bodies); i++) {
		g_autofree char *path = g_strdup_printf("/kept/%s", names[i]);

		g_test_add(path, struct host, &bodies[i], host_set_up, host_run, host_tear_down);
	}
	return g_test_run();
}
