/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-filter-entry.h"

#include "document/rs-trace-document.h"

#include "app/rs-viewer-complete.h"
#include "app/rs-viewer-suggestions.h"

#include "filter/filter.h"
#include <glib/gi18n.h>
#include <rs-trace-escape.h>
#include <string.h>

#define HISTORY_MAX 50u
/* A mistake is told once nothing was typed for so long: most are only unfinished. */
#define CHECK_MS 700

struct _RsViewerFilterEntry {
	AdwBin parent;
	GtkEntry *entry;
	GtkLabel *message;
	RsViewerSuggestions *suggestions;
	gboolean with_glob, setting;
	GPtrArray *fields;
	GPtrArray *history; /* char *, the oldest first */
	guint at;           /* in history; history->len: what is being written */
	char *draft;
	guint check;
	int wrong; /* character where the mistake begins */
};

G_DEFINE_FINAL_TYPE(RsViewerFilterEntry, rs_viewer_filter_entry, ADW_TYPE_BIN)

enum { APPLY, CHANGED, N_SIGNALS };
static guint signals[N_SIGNALS];

/* ---- the text ---- */

const char *rs_viewer_filter_entry_text(RsViewerFilterEntry *entry)
{
	return gtk_editable_get_text(GTK_EDITABLE(entry->entry));
}

/* Bytes before the expression: of a glob, its colon and blanks. */
static gsize expression_at(RsViewerFilterEntry *entry)
{
	const char *text = rs_viewer_filter_entry_text(entry);
	g_autofree char *glob = NULL, *expression = NULL;
	const gsize size = strlen(text);
	gsize tail;

	if (!entry->with_glob || !rs_filter_split(text, &glob, &expression) || !glob)
		return 0;
	for (tail = size; tail > 0; tail--)
		if (text[tail - 1] == ':' && strlen(glob) <= tail - 1 &&
		    g_str_has_prefix(text + tail + strspn(text + tail, " "), expression))
			break;
	return tail + strspn(text + tail, " ");
}

void rs_viewer_filter_entry_set_text(RsViewerFilterEntry *entry, const char *text)
{
	entry->setting = TRUE;
	gtk_editable_set_text(GTK_EDITABLE(entry->entry), text);
	gtk_editable_set_position(GTK_EDITABLE(entry->entry), -1);
	entry->setting = FALSE;
	entry->at = entry->history->len;
}

/* ---- mistakes ---- */

static void mark(RsViewerFilterEntry *entry, gsize from, gsize to)
{
	g_autoptr(PangoAttrList) attributes = pango_attr_list_new();
	PangoAttribute *attribute = pango_attr_underline_new(PANGO_UNDERLINE_ERROR);

	attribute->start_index = (guint)from;
	attribute->end_index = (guint)to;
	pango_attr_list_insert(attributes, attribute);
	gtk_entry_set_attributes(entry->entry, attributes);
}

/*
 * Marks `length` bytes of the text, from byte `at` on, until the text changes. What lies out of it
 * marks its end.
 */
static void set_error(RsViewerFilterEntry *entry, gsize at, gsize length, const char *message)
{
	const char *text = rs_viewer_filter_entry_text(entry);
	const gsize size = strlen(text);
	gsize from = MIN(at, size), to = MIN(from + MAX(length, 1), size);
	g_autofree char *shown = rs_trace_escape(message, -1, NULL);

	/* Something is missing at the end: the last character that is there is marked. */
	if (from == size && size)
		from = (gsize)(g_utf8_prev_char(text + size) - text);
	while (from > 0 && ((guchar)text[from] & 0xc0) == 0x80)
		from--;
	while (to < size && ((guchar)text[to] & 0xc0) == 0x80)
		to++;
	mark(entry, from, MAX(to, from));
	entry->wrong = (int)g_utf8_strlen(text, (gssize)from);
	gtk_widget_add_css_class(GTK_WIDGET(entry->entry), "error");
	gtk_label_set_text(entry->message, shown);
	gtk_widget_set_visible(GTK_WIDGET(entry->message), TRUE);
	gtk_accessible_update_state(GTK_ACCESSIBLE(entry->entry), GTK_ACCESSIBLE_STATE_INVALID,
				    GTK_ACCESSIBLE_INVALID_TRUE, -1);
	gtk_accessible_update_property(GTK_ACCESSIBLE(entry->entry),
				       GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, shown, -1);
}

void rs_viewer_filter_entry_go_to_error(RsViewerFilterEntry *entry)
{
	gtk_editable_set_position(GTK_EDITABLE(entry->entry), entry->wrong);
}

void rs_viewer_filter_entry_clear_error(RsViewerFilterEntry *entry)
{
	gtk_entry_set_attributes(entry->entry, NULL);
	gtk_widget_remove_css_class(GTK_WIDGET(entry->entry), "error");
	gtk_widget_set_visible(GTK_WIDGET(entry->message), FALSE);
	gtk_label_set_text(entry->message, "");
	gtk_accessible_reset_state(GTK_ACCESSIBLE(entry->entry), GTK_ACCESSIBLE_STATE_INVALID);
	gtk_accessible_reset_property(GTK_ACCESSIBLE(entry->entry),
				      GTK_ACCESSIBLE_PROPERTY_DESCRIPTION);
}

/*
 * "bad filter", the expression after two blanks, a caret with a tail below its mistake, and a
 * sentence. A long expression is cut: then only the sentence counts.
 */
void rs_viewer_filter_entry_set_session_error(RsViewerFilterEntry *entry, const char *message)
{
	g_auto(GStrv) lines = g_strsplit(message, "\n", 4);
	const char *whole = rs_viewer_filter_entry_text(entry);
	const char *text = whole + expression_at(entry);
	const char *begin = text + strspn(text, " "), *shown, *caret;
	glong columns;

	if (g_strv_length(lines) < 4) {
		set_error(entry, (gsize)(text - whole), strlen(text), message);
		return;
	}
	shown = lines[1] + strspn(lines[1], " ");
	caret = strchr(lines[2], '^');
	columns = caret ? caret - lines[2] - (shown - lines[1]) : -1;
	if (columns < 0 || !g_str_has_prefix(begin, shown) || columns > g_utf8_strlen(begin, -1)) {
		set_error(entry, (gsize)(text - whole), strlen(text), lines[3]);
		return;
	}
	set_error(entry, (gsize)(g_utf8_offset_to_pointer(begin, columns) - whole), strlen(caret),
		  lines[3]);
}

/* Of the whole text, which may be a glob alone. */
static gboolean check_selection(RsViewerFilterEntry *entry)
{
	const char *text = rs_viewer_filter_entry_text(entry);
	g_autofree char *message = NULL;
	guint at, length;

	if (!text[strspn(text, " ")] ||
	    rs_trace_document_check_filter(text, &at, &length, &message))
		return TRUE;
	set_error(entry, at, length, message);
	return FALSE;
}

/* FALSE: there is a mistake, which is marked. */
static gboolean check(RsViewerFilterEntry *entry)
{
	const char *text = rs_viewer_filter_entry_text(entry);
	struct rs_filter_error err = {0};

	if (entry->with_glob)
		return check_selection(entry);
	if (!text[strspn(text, " ")] || !rs_filter_check(text, &err))
		return TRUE;
	set_error(entry, err.at, err.length, err.message);
	return FALSE;
}

static gboolean check_late(gpointer data)
{
	RsViewerFilterEntry *entry = data;

	entry->check = 0;
	/* What can be completed is unfinished, and no mistake yet. */
	if (!rs_viewer_suggestions_shown(entry->suggestions))
		check(entry);
	return G_SOURCE_REMOVE;
}

/* ---- suggestions ---- */

static void suggest(RsViewerFilterEntry *entry)
{
	const char *text = rs_viewer_filter_entry_text(entry);
	const gsize begin = expression_at(entry);
	const int position = gtk_editable_get_position(GTK_EDITABLE(entry->entry));
	const gsize cursor = (gsize)(g_utf8_offset_to_pointer(text, position) - text);
	RsViewerCompletion *completion;

	if (cursor < begin) {
		rs_viewer_suggestions_hide(entry->suggestions);
		return;
	}
	completion = rs_viewer_complete(text + begin, cursor - begin, entry->fields);
	completion->start += begin;
	completion->end += begin;
	rs_viewer_suggestions_show(entry->suggestions, completion);
}

static void accept_suggestion(RsViewerFilterEntry *entry, guint start, guint end, const char *text)
{
	const char *now = rs_viewer_filter_entry_text(entry);
	const gsize size = strlen(now);
	g_autofree char *next = NULL;
	glong position;

	if (end > size || start > end)
		return;
	/* One blank is enough. */
	while (end < size && now[end] == ' ')
		end++;
	next = g_strdup_printf("%.*s%s%s", (int)start, now, text, now + end);
	position = g_utf8_strlen(next, (gssize)(start + strlen(text)));
	gtk_editable_set_text(GTK_EDITABLE(entry->entry), next);
	gtk_editable_set_position(GTK_EDITABLE(entry->entry), (int)position);
	suggest(entry);
}

static void text_changed(RsViewerFilterEntry *entry)
{
	rs_viewer_filter_entry_clear_error(entry);
	g_clear_handle_id(&entry->check, g_source_remove);
	gtk_entry_set_icon_from_icon_name(
		entry->entry, GTK_ENTRY_ICON_SECONDARY,
		*rs_viewer_filter_entry_text(entry) ? "edit-clear-symbolic" : NULL);
	if (!entry->setting && gtk_widget_get_mapped(GTK_WIDGET(entry))) {
		entry->check = g_timeout_add(CHECK_MS, check_late, entry);
		suggest(entry);
	} else {
		rs_viewer_suggestions_hide(entry->suggestions);
	}
	g_signal_emit(entry, signals[CHANGED], 0);
}

/* ---- history ---- */

static void remember(RsViewerFilterEntry *entry, const char *text)
{
	for (guint i = 0; i < entry->history->len; i++)
		if (!strcmp(entry->history->pdata[i], text))
			g_ptr_array_remove_index(entry->history, i--);
	if (*text)
		g_ptr_array_add(entry->history, g_strdup(text));
	if (entry->history->len > HISTORY_MAX)
		g_ptr_array_remove_index(entry->history, 0);
	entry->at = entry->history->len;
}

static void go_to(RsViewerFilterEntry *entry, guint at)
{
	if (at > entry->history->len)
		return;
	if (entry->at == entry->history->len) {
		g_free(entry->draft);
		entry->draft = g_strdup(rs_viewer_filter_entry_text(entry));
	}
	rs_viewer_filter_entry_set_text(entry, at < entry->history->len ? entry->history->pdata[at]
									: entry->draft);
	entry->at = at;
}

/* ---- keys ---- */

void rs_viewer_filter_entry_apply(RsViewerFilterEntry *entry)
{
	rs_viewer_suggestions_hide(entry->suggestions);
	g_clear_handle_id(&entry->check, g_source_remove);
	if (!gtk_editable_get_editable(GTK_EDITABLE(entry->entry)))
		return;
	if (!check(entry)) {
		rs_viewer_filter_entry_go_to_error(entry);
		return;
	}
	remember(entry, rs_viewer_filter_entry_text(entry));
	g_signal_emit(entry, signals[APPLY], 0, rs_viewer_filter_entry_text(entry));
}

static gboolean key_pressed(RsViewerFilterEntry *entry, guint key, guint code,
			    GdkModifierType state)
{
	const GdkModifierType modifiers = state & gtk_accelerator_get_default_mod_mask();

	if (key == GDK_KEY_space && modifiers == GDK_CONTROL_MASK) {
		suggest(entry);
		return TRUE;
	}
	if (modifiers)
		return FALSE;
	if (rs_viewer_suggestions_key(entry->suggestions, key))
		return TRUE;
	if (key == GDK_KEY_Up || key == GDK_KEY_KP_Up)
		go_to(entry, entry->at - 1);
	else if (key == GDK_KEY_Down || key == GDK_KEY_KP_Down)
		go_to(entry, entry->at + 1);
	else
		return FALSE;
	return TRUE;
}

static void icon_pressed(RsViewerFilterEntry *entry)
{
	rs_viewer_filter_entry_set_text(entry, "");
	rs_viewer_filter_entry_apply(entry);
	gtk_widget_grab_focus(GTK_WIDGET(entry->entry));
}

static void focus_left(RsViewerFilterEntry *entry)
{
	rs_viewer_suggestions_hide(entry->suggestions);
}

/* ---- the object ---- */

void rs_viewer_filter_entry_set_label(RsViewerFilterEntry *entry, const char *label)
{
	gtk_accessible_update_property(GTK_ACCESSIBLE(entry->entry), GTK_ACCESSIBLE_PROPERTY_LABEL,
				       label, -1);
}

void rs_viewer_filter_entry_set_editable(RsViewerFilterEntry *entry, gboolean editable)
{
	if (!editable)
		rs_viewer_suggestions_hide(entry->suggestions);
	gtk_editable_set_editable(GTK_EDITABLE(entry->entry), editable);
	gtk_entry_set_icon_sensitive(entry->entry, GTK_ENTRY_ICON_SECONDARY, editable);
}

void rs_viewer_filter_entry_set_placeholder(RsViewerFilterEntry *entry, const char *text)
{
	gtk_entry_set_placeholder_text(entry->entry, text);
}

void rs_viewer_filter_entry_set_fields(RsViewerFilterEntry *entry, GPtrArray *fields)
{
	GPtrArray *now = fields ? g_ptr_array_ref(fields) : rs_viewer_fields_parse("");

	/* Candidates point into the former ones. */
	rs_viewer_suggestions_hide(entry->suggestions);
	g_ptr_array_unref(entry->fields);
	entry->fields = now;
}

static gboolean grab_focus(GtkWidget *widget)
{
	return gtk_widget_grab_focus(GTK_WIDGET(RS_VIEWER_FILTER_ENTRY(widget)->entry));
}

static void dispose(GObject *object)
{
	RsViewerFilterEntry *entry = RS_VIEWER_FILTER_ENTRY(object);

	g_clear_handle_id(&entry->check, g_source_remove);
	G_OBJECT_CLASS(rs_viewer_filter_entry_parent_class)->dispose(object);
}

static void finalize(GObject *object)
{
	RsViewerFilterEntry *entry = RS_VIEWER_FILTER_ENTRY(object);

	g_ptr_array_unref(entry->fields);
	g_ptr_array_unref(entry->history);
	g_free(entry->draft);
	G_OBJECT_CLASS(rs_viewer_filter_entry_parent_class)->finalize(object);
}

static void rs_viewer_filter_entry_class_init(RsViewerFilterEntryClass *class)
{
	G_OBJECT_CLASS(class)->dispose = dispose;
	G_OBJECT_CLASS(class)->finalize = finalize;
	GTK_WIDGET_CLASS(class)->grab_focus = grab_focus;
	signals[APPLY] = g_signal_new("apply", G_TYPE_FROM_CLASS(class), G_SIGNAL_RUN_LAST, 0, NULL,
				      NULL, NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
	signals[CHANGED] = g_signal_new("changed", G_TYPE_FROM_CLASS(class), G_SIGNAL_RUN_LAST, 0,
					NULL, NULL, NULL, G_TYPE_NONE, 0);
}

static void add_keys(RsViewerFilterEntry *entry)
{
	GtkEventController *keys = gtk_event_controller_key_new();
	GtkEventController *focus = gtk_event_controller_focus_new();

	/* Before the entry has them: Enter and Tab take a suggestion while there are some. */
	gtk_event_controller_set_propagation_phase(keys, GTK_PHASE_CAPTURE);
	g_signal_connect_swapped(keys, "key-pressed", G_CALLBACK(key_pressed), entry);
	g_signal_connect_swapped(focus, "leave", G_CALLBACK(focus_left), entry);
	gtk_widget_add_controller(GTK_WIDGET(entry->entry), keys);
	gtk_widget_add_controller(GTK_WIDGET(entry->entry), focus);
}

static void rs_viewer_filter_entry_init(RsViewerFilterEntry *entry)
{
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);

	entry->fields = rs_viewer_fields_parse("");
	entry->history = g_ptr_array_new_with_free_func(g_free);
	entry->entry = GTK_ENTRY(gtk_entry_new());
	gtk_entry_set_max_length(entry->entry, RS_FILTER_MAX_EXPRESSION);
	gtk_entry_set_icon_tooltip_text(entry->entry, GTK_ENTRY_ICON_SECONDARY, _("Clear"));
	entry->message = GTK_LABEL(gtk_label_new(NULL));
	gtk_label_set_wrap(entry->message, TRUE);
	gtk_label_set_wrap_mode(entry->message, PANGO_WRAP_WORD_CHAR);
	gtk_label_set_xalign(entry->message, 0);
	gtk_widget_set_margin_top(GTK_WIDGET(entry->message), 4);
	gtk_label_set_selectable(entry->message, TRUE);
	gtk_widget_add_css_class(GTK_WIDGET(entry->message), "error");
	gtk_widget_add_css_class(GTK_WIDGET(entry->message), "caption");
	gtk_widget_set_visible(GTK_WIDGET(entry->message), FALSE);
	gtk_box_append(GTK_BOX(box), GTK_WIDGET(entry->entry));
	entry->suggestions = rs_viewer_suggestions_new();
	gtk_box_append(GTK_BOX(box), GTK_WIDGET(entry->suggestions));
	gtk_box_append(GTK_BOX(box), GTK_WIDGET(entry->message));
	adw_bin_set_child(ADW_BIN(entry), box);
	g_signal_connect_swapped(entry->suggestions, "chosen", G_CALLBACK(accept_suggestion),
				 entry);
	g_signal_connect_swapped(entry->entry, "changed", G_CALLBACK(text_changed), entry);
	g_signal_connect_swapped(entry->entry, "activate", G_CALLBACK(rs_viewer_filter_entry_apply),
				 entry);
	g_signal_connect_swapped(entry->entry, "icon-press", G_CALLBACK(icon_pressed), entry);
	add_keys(entry);
}

GtkWidget *rs_viewer_filter_entry_new(gboolean with_glob)
{
	RsViewerFilterEntry *entry = g_object_new(RS_VIEWER_TYPE_FILTER_ENTRY, NULL);

	entry->with_glob = with_glob;
	rs_viewer_filter_entry_set_label(entry, _("Filter"));
	return GTK_WIDGET(entry);
}
