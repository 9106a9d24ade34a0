/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-site.h"

#include <glib/gi18n.h>
#include <rs-trace-disasm.h>
#include <rs-trace-sites.h>
#include <string.h>

#define SITES_MOST 16u
#define INSNS_MOST 24u

/* What one answer is for. */
typedef struct {
	RsViewerDetails *details; /* weak */
	RsTraceDocument *document;
	char *event;
	guint32 source;
	GCancellable *cancellable;
} Asked;

typedef struct {
	RsTraceDocument *document;
	GCancellable *cancellable; /* of the answer that is awaited */
} Asker;

static void asked_free(Asked *asked)
{
	g_clear_weak_pointer(&asked->details);
	g_clear_object(&asked->document);
	g_clear_object(&asked->cancellable);
	g_free(asked->event);
	g_free(asked);
}

/* ---- a site as text ---- */

static void append_text(GString *out, const RsTraceSite *site)
{
	gsize size;
	const guint8 *bytes = g_bytes_get_data(site->text, &size);
	guint64 ahead = site->address - site->text_address;
	g_autoptr(GArray) insns = NULL;

	/* Where an instruction before the site begins is not known: only what follows is shown. */
	if (ahead >= size)
		return;
	insns = rs_trace_disassemble(site->arch, site->address, bytes + ahead, size - ahead,
				     INSNS_MOST);
	for (guint i = 0; i < insns->len; i++) {
		const RsTraceInsn *insn = &g_array_index(insns, RsTraceInsn, i);

		g_string_append_printf(out, "%s %#" G_GINT64_MODIFIER "x  %s\n",
				       insn->address == site->address ? "→" : " ", insn->address,
				       insn->text);
	}
}

static void append_site(GString *out, const RsTraceSite *site)
{
	g_autofree char *place = g_strdup_printf("%#" G_GINT64_MODIFIER "x", site->address);

	/* Translators: an address, and "on", "off" or "refused" */
	g_string_append_printf(out, _("Site at %s: %s"), place, site->state);
	g_string_append_c(out, '\n');
	if (site->text)
		append_text(out, site);
	else
		g_string_append_printf(out, "%s\n", _("Its text cannot be read."));
	g_string_append_c(out, '\n');
}

static char *describe(const RsTraceSites *sites, const Asked *asked)
{
	GString *out = g_string_new(NULL);

	for (guint i = 0; i < sites->sites->len; i++) {
		const RsTraceSite *site = g_ptr_array_index(sites->sites, i);

		if (!asked->source || site->source_number == asked->source)
			append_site(out, site);
	}
	for (guint i = 0; i < sites->self_patch->len; i++)
		if (!asked->source ||
		    g_array_index(sites->self_patch, guint32, i) == asked->source) {
			g_string_append(out, _("This guest patches itself: the host does not know "
					       "its sites."));
			break;
		}
	if (sites->cut)
		g_string_append(out, _("There are more sites."));
	return g_string_free(out, FALSE);
}

static void on_answer(GObject *object, GAsyncResult *result, gpointer data)
{
	Asked *asked = data;
	g_autoptr(GError) error = NULL;
	g_autoptr(RsTraceSites) sites = rs_trace_sites_get_finish(result, &error);
	g_autofree char *text = NULL;

	if (asked->details && !g_cancellable_is_cancelled(asked->cancellable)) {
		text = sites ? describe(sites, asked) : g_strdup(error->message);
		rs_viewer_details_set_site(asked->details, text);
	}
	asked_free(asked);
}

/* ---- asking ---- */

static void asker_free(gpointer data, GClosure *closure)
{
	Asker *asker = data;

	g_cancellable_cancel(asker->cancellable);
	g_clear_object(&asker->cancellable);
	g_clear_object(&asker->document);
	g_free(asker);
}

static void on_shown(RsViewerDetails *details, Asker *asker)
{
	const RsTraceRow *row = rs_viewer_details_row(details);
	RsDBusSession1 *session = rs_trace_document_session(asker->document);
	Asked *asked;

	g_cancellable_cancel(asker->cancellable);
	g_clear_object(&asker->cancellable);
	if (!row || row->kind != RS_TRACE_RECORD_EVENT || !session || !strchr(row->event, ':'))
		return;
	asker->cancellable = g_cancellable_new();
	asked = g_new0(Asked, 1);
	g_set_weak_pointer(&asked->details, details);
	asked->document = g_object_ref(asker->document);
	asked->cancellable = g_object_ref(asker->cancellable);
	asked->event = g_strdup(row->event);
	asked->source = row->number;
	rs_trace_sites_get_async(session, asked->event, SITES_MOST, asker->cancellable, on_answer,
				 asked);
}

void rs_viewer_site_connect(RsViewerDetails *details, RsTraceDocument *document)
{
	Asker *asker = g_new0(Asker, 1);

	asker->document = g_object_ref(document);
	g_signal_connect_data(details, "shown", G_CALLBACK(on_shown), asker, asker_free, 0);
}
