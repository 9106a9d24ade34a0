/* SPDX-License-Identifier: MIT */
#include "rs-trace-sites.h"

/* A part may be empty, since a session bounds how far it looks for it. */
#define PARTS_MAX 10000u

typedef struct {
	RsTraceSites *sites;
	char *glob;
	guint most, parts;
	guint64 next; /* 0: all was told */
} Asking;

static void free_site(gpointer data)
{
	RsTraceSite *site = data;

	g_free(site->source);
	g_free(site->system);
	g_free(site->name);
	g_free(site->state);
	g_clear_pointer(&site->text, g_bytes_unref);
	g_free(site);
}

void rs_trace_sites_free(RsTraceSites *sites)
{
	if (!sites)
		return;
	g_ptr_array_unref(sites->sites);
	g_array_unref(sites->self_patch);
	g_free(sites);
}

static Asking *asking_new(const char *glob, guint most)
{
	Asking *asking = g_new0(Asking, 1);

	asking->sites = g_new0(RsTraceSites, 1);
	asking->sites->sites = g_ptr_array_new_with_free_func(free_site);
	asking->sites->self_patch = g_array_new(FALSE, FALSE, sizeof(guint32));
	asking->glob = g_strdup(glob);
	asking->most = most;
	return asking;
}

static void asking_free(gpointer data)
{
	Asking *asking = data;

	rs_trace_sites_free(asking->sites);
	g_free(asking->glob);
	g_free(asking);
}

static char *lookup_text(GVariant *row, const char *key)
{
	char *text = NULL;

	return g_variant_lookup(row, key, "s", &text) ? text : g_strdup("");
}

static RsTraceSite *read_site(GVariant *row)
{
	RsTraceSite *site = g_new0(RsTraceSite, 1);
	g_autoptr(GVariant) text = g_variant_lookup_value(row, "text", G_VARIANT_TYPE_BYTESTRING);

	g_variant_lookup(row, "source_number", "u", &site->source_number);
	g_variant_lookup(row, "event", "u", &site->event);
	g_variant_lookup(row, "address", "t", &site->address);
	g_variant_lookup(row, "target", "t", &site->target);
	g_variant_lookup(row, "arch", "u", &site->arch);
	g_variant_lookup(row, "text_address", "t", &site->text_address);
	site->source = lookup_text(row, "source");
	site->system = lookup_text(row, "system");
	site->name = lookup_text(row, "name");
	site->state = lookup_text(row, "state");
	site->text = text ? g_variant_get_data_as_bytes(text) : NULL;
	return site;
}

static void read_self_patch(RsTraceSites *sites, GVariant *more)
{
	g_autoptr(GVariant) value =
		g_variant_lookup_value(more, "self_patch", G_VARIANT_TYPE("au"));
	gsize n = 0;
	gconstpointer numbers =
		value ? g_variant_get_fixed_array(value, &n, sizeof(guint32)) : NULL;

	g_array_set_size(sites->self_patch, 0);
	if (n)
		g_array_append_vals(sites->self_patch, numbers, (guint)n);
}

/* FALSE: that was all, or enough. */
static gboolean take_part(Asking *asking, GVariant *rows, GVariant *more)
{
	RsTraceSites *sites = asking->sites;
	const gsize n = g_variant_n_children(rows);
	const gsize taken = MIN(n, asking->most - sites->sites->len);

	for (gsize i = 0; i < taken; i++) {
		g_autoptr(GVariant) row = g_variant_get_child_value(rows, i);

		g_ptr_array_add(sites->sites, read_site(row));
	}
	read_self_patch(sites, more);
	asking->next = 0;
	g_variant_lookup(more, "next", "t", &asking->next);
	sites->cut = asking->next || taken < n;
	return asking->next && sites->sites->len < asking->most && ++asking->parts < PARTS_MAX;
}

static GVariant *make_options(const Asking *asking)
{
	GVariantDict options;

	g_variant_dict_init(&options, NULL);
	if (asking->next)
		g_variant_dict_insert(&options, "after", "t", asking->next);
	return g_variant_dict_end(&options);
}

static void ask(GTask *task);

static void on_part(GObject *session, GAsyncResult *result, gpointer data)
{
	g_autoptr(GTask) task = data;
	g_autoptr(GVariant) rows = NULL, more = NULL;
	Asking *asking = g_task_get_task_data(task);
	GError *error = NULL;

	if (!rs_dbus_session1_call_sites_finish(RS_DBUS_SESSION1(session), &rows, &more, result,
						&error))
		g_task_return_error(task, error);
	else if (take_part(asking, rows, more))
		ask(g_steal_pointer(&task));
	else
		g_task_return_pointer(task, g_steal_pointer(&asking->sites),
				      (GDestroyNotify)rs_trace_sites_free);
}

/* Takes the task. */
static void ask(GTask *task)
{
	const Asking *asking = g_task_get_task_data(task);

	rs_dbus_session1_call_sites(g_task_get_source_object(task), asking->glob,
				    make_options(asking), g_task_get_cancellable(task), on_part,
				    task);
}

void rs_trace_sites_get_async(RsDBusSession1 *session, const char *glob, guint most,
			      GCancellable *cancellable, GAsyncReadyCallback done, gpointer data)
{
	GTask *task = g_task_new(session, cancellable, done, data);

	g_task_set_source_tag(task, rs_trace_sites_get_async);
	g_task_set_task_data(task, asking_new(glob, most), asking_free);
	ask(task);
}

RsTraceSites *rs_trace_sites_get_finish(GAsyncResult *result, GError **error)
{
	return g_task_propagate_pointer(G_TASK(result), error);
}

RsTraceSites *rs_trace_sites_get(RsDBusSession1 *session, const char *glob, guint most,
				 GError **error)
{
	Asking *asking = asking_new(glob, most);
	RsTraceSites *sites = NULL;
	gboolean told, more = FALSE;

	do {
		g_autoptr(GVariant) rows = NULL, rest = NULL;

		told = rs_dbus_session1_call_sites_sync(session, glob, make_options(asking), &rows,
							&rest, NULL, error);
		more = told && take_part(asking, rows, rest);
	} while (more);
	if (told)
		sites = g_steal_pointer(&asking->sites);
	asking_free(asking);
	return sites;
}
