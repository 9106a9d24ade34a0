/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-details.h"

#include <adwaita.h>
#include <glib/gi18n.h>

#include "app/rs-viewer-record.h"
#include "app/rs-viewer-section.h"
#include "rs-trace-escape.h"

#define VALUE_MAX 4096u       /* bytes of a value that are shown */
#define BYTES_MAX 16384u      /* of the payload */
#define TEXT_MAX (256u << 10) /* of a format or a site */
#define FIELDS_MAX 256u       /* rows */
#define STACK_MAX 256u        /* frames */
#define COPY_BYTES_MAX (1u << 20)
/* A record of a running session may come to its file later than to the timeline. */
#define AGAIN_MS 300
#define AGAIN_TIMES 20u

enum { RECORD, FIELDS, STACK, BYTES, FORMAT, SITE, N_SECTIONS };

struct _RsViewerDetails {
	GtkWidget parent_instance;
	RsViewerView *view;
	RsViewerTimeStyle style;
	RsTraceRow *row; /* what is shown; NULL: nothing */
	GCancellable *reading;
	guint again, failures; /* a source; how often it could not be read */

	GtkWidget *stack; /* "none", "failed", "row" */
	GtkLabel *title, *subtitle;
	RsViewerSection *sections[N_SECTIONS];
};

G_DEFINE_FINAL_TYPE(RsViewerDetails, rs_viewer_details, GTK_TYPE_WIDGET)

enum { FIELD_ASKED, SHOWN, N_SIGNALS };
static guint signals[N_SIGNALS];

/* ---- sections ---- */

static void add_number(RsViewerSection *section, const char *name, guint64 number)
{
	g_autofree char *text = g_strdup_printf("%" G_GUINT64_FORMAT, number);

	rs_viewer_section_add(section, name, text, NULL, NULL);
}

static void add_text(RsViewerSection *section, const char *name, const char *value,
		     const char *note)
{
	g_autofree char *text = rs_viewer_record_shorten(value, VALUE_MAX);

	rs_viewer_section_add(section, name, text, note, NULL);
}

/* A clock that goes back does not take the order of its ring with it. */
static void show_order(RsViewerDetails *self, const RsTraceRow *row)
{
	g_autofree char *moment = rs_viewer_time_moment(row->sorted_ns, RS_VIEWER_TIME_SECONDS, 0);
	g_autofree char *seconds = g_strdup_printf(_("%s s"), moment);

	rs_viewer_section_add(self->sections[RECORD], _("Stands at"), seconds,
			      row->sorted_ns > row->ns ? _("Its vCPU’s clock went back") : NULL,
			      NULL);
}

static void show_time(RsViewerDetails *self, const RsTraceRow *row)
{
	guint64 wall = rs_trace_document_wall_time(rs_viewer_view_document(self->view));
	g_autofree char *moment = rs_viewer_time_moment(row->ns, RS_VIEWER_TIME_SECONDS, 0);
	g_autofree char *seconds = g_strdup_printf(_("%s s"), moment);
	g_autofree char *date = rs_viewer_time_date(row->ns, wall);

	rs_viewer_section_add(self->sections[RECORD], _("Time"), seconds, date, NULL);
	if (row->sorted_ns != row->ns)
		show_order(self, row);
}

static void show_task(RsViewerDetails *self, const RsTraceRow *row)
{
	RsViewerSection *section = self->sections[RECORD];
	g_autofree char *flags = rs_viewer_record_flags(row->flags);

	add_text(section, _("Task"), row->comm, NULL);
	add_number(section, _("PID"), row->pid);
	if (row->tgid)
		add_number(section, _("Process"), row->tgid);
	rs_viewer_section_add(section, _("Flags"), row->flags, *flags ? flags : NULL, NULL);
}

static void show_record(RsViewerDetails *self, const RsTraceRow *row)
{
	RsViewerSection *section = self->sections[RECORD];

	show_time(self, row);
	add_number(section, _("CPU"), row->cpu);
	if (row->source_name[0])
		add_text(section, _("Source"), row->source_name, NULL);
	if (row->kind == RS_TRACE_RECORD_EVENT)
		show_task(self, row);
	if (row->kind == RS_TRACE_RECORD_LOSS)
		add_number(section, _("Events lost"), row->lost);
	if (row->boot)
		add_number(section, _("Boot"), row->boot);
	if (row->text[0])
		add_text(section, _("Text"), row->text, NULL);
	rs_viewer_section_set_copy(section, g_strdup(row->line));
}

static void ask_field(GtkWidget *button, RsViewerDetails *self)
{
	g_signal_emit(self, signals[FIELD_ASKED], 0, g_object_get_data(G_OBJECT(button), "field"));
}

static GtkWidget *field_button(RsViewerDetails *self, const char *field)
{
	GtkWidget *button = gtk_button_new_from_icon_name("list-add-symbolic");
	g_autofree char *name = g_strdup_printf(_("Show “%s” as a column"), field);

	gtk_widget_add_css_class(button, "flat");
	gtk_widget_set_tooltip_text(button, name);
	gtk_accessible_update_property(GTK_ACCESSIBLE(button), GTK_ACCESSIBLE_PROPERTY_LABEL, name,
				       -1);
	g_object_set_data_full(G_OBJECT(button), "field", g_strdup(field), g_free);
	g_signal_connect_object(button, "clicked", G_CALLBACK(ask_field), self, 0);
	return button;
}

static void show_field(RsViewerDetails *self, const RsTraceRowField *field)
{
	g_autofree char *value = rs_viewer_record_shorten(field->value, VALUE_MAX);
	g_autofree char *raw = rs_viewer_record_shorten(field->raw, VALUE_MAX);
	g_autofree char *note = strcmp(value, raw)
					? g_strdup_printf(_("%s, raw %s"), field->type, raw)
					: g_strdup(field->type);

	rs_viewer_section_add(self->sections[FIELDS], field->name, value, note,
			      field_button(self, field->name));
}

static void show_fields(RsViewerDetails *self, const RsTraceRow *row)
{
	guint n = row->fields ? MIN(row->fields->len, FIELDS_MAX) : 0;

	for (guint i = 0; i < n; i++)
		show_field(self, g_ptr_array_index(row->fields, i));
	if (n)
		rs_viewer_section_set_copy(self->sections[FIELDS], rs_viewer_record_fields(row));
}

static void show_stack(RsViewerDetails *self, const RsTraceRow *row)
{
	for (guint i = 0; row->stack && row->stack[i] && i < STACK_MAX; i++) {
		g_autofree char *address =
			g_strdup_printf("0x%" G_GINT64_MODIFIER "x", row->addresses[i]);
		g_autofree char *number = g_strdup_printf("#%u", i);

		add_text(self->sections[STACK], number, row->stack[i],
			 strcmp(address, row->stack[i]) ? address : NULL);
	}
	if (row->stack && row->stack[0])
		rs_viewer_section_set_copy(self->sections[STACK], rs_viewer_record_stack(row));
}

static void show_block(RsViewerSection *section, const char *text)
{
	g_autofree char *shown = rs_viewer_record_shorten(text, TEXT_MAX);

	rs_viewer_section_add_block(section, shown);
	rs_viewer_section_set_copy(section, g_steal_pointer(&shown));
}

static void show_bytes(RsViewerDetails *self, const RsTraceRow *row)
{
	g_autofree char *dump = NULL;

	if (!row->payload || !g_bytes_get_size(row->payload))
		return;
	dump = rs_viewer_record_bytes(row->payload, BYTES_MAX);
	rs_viewer_section_add_block(self->sections[BYTES], dump);
	rs_viewer_section_set_copy(self->sections[BYTES],
				   rs_viewer_record_bytes(row->payload, COPY_BYTES_MAX));
}

static void clear(RsViewerDetails *self)
{
	for (guint i = 0; i < N_SECTIONS; i++)
		rs_viewer_section_clear(self->sections[i]);
	g_clear_pointer(&self->row, rs_trace_row_unref);
}

static const char *title_of(const RsTraceRow *row)
{
	if (row->kind == RS_TRACE_RECORD_LOSS)
		return _("Lost Events");
	if (row->kind == RS_TRACE_RECORD_BOOT)
		return _("Boot");
	return row->event;
}

/* Takes `row`; NULL: there is none. */
static void show(RsViewerDetails *self, RsTraceRow *row, const char *page)
{
	clear(self);
	self->row = row;
	if (row) {
		g_autofree char *title = rs_viewer_record_shorten(title_of(row), VALUE_MAX);
		g_autofree char *moment = rs_viewer_time_moment(
			row->ns, self->style,
			rs_trace_document_wall_time(rs_viewer_view_document(self->view)));

		gtk_label_set_text(self->title, title);
		gtk_label_set_text(self->subtitle, moment);
		show_record(self, row);
		show_fields(self, row);
		show_stack(self, row);
		show_bytes(self, row);
		if (row->format)
			show_block(self->sections[FORMAT], row->format);
	}
	gtk_stack_set_visible_child_name(GTK_STACK(self->stack), page);
	g_signal_emit(self, signals[SHOWN], 0);
}

/* ---- reading ---- */

static void read_current(RsViewerDetails *self);

static gboolean read_again(gpointer data)
{
	RsViewerDetails *self = data;

	self->again = 0;
	read_current(self);
	return G_SOURCE_REMOVE;
}

static void failed(RsViewerDetails *self)
{
	gboolean live = rs_trace_document_state(rs_viewer_view_document(self->view)) ==
			RS_TRACE_DOCUMENT_LIVE;

	if (live && self->failures++ < AGAIN_TIMES)
		self->again = g_timeout_add(AGAIN_MS, read_again, self);
	else
		show(self, NULL, "failed");
}

static void on_read(GObject *document, GAsyncResult *result, gpointer data)
{
	g_autoptr(RsViewerDetails) self = data;
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) rows =
		rs_trace_document_read_finish(RS_TRACE_DOCUMENT(document), result, &error);
	RsTraceRow *row = rows && rows->len ? g_ptr_array_index(rows, 0) : NULL;

	/* Another one is current now, or the pane is gone. */
	if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED) || !self->reading)
		return;
	g_clear_object(&self->reading);
	if (row)
		show(self, rs_trace_row_ref(row), "row");
	else
		failed(self);
}

static void stop_reading(RsViewerDetails *self)
{
	g_cancellable_cancel(self->reading);
	g_clear_object(&self->reading);
	g_clear_handle_id(&self->again, g_source_remove);
}

static void read_current(RsViewerDetails *self)
{
	RsTraceDocument *document = rs_viewer_view_document(self->view);
	RsTraceTimeline *timeline = rs_trace_document_shown(document);
	RsTraceTimelineRow at;

	stop_reading(self);
	if (!rs_viewer_view_record(self->view, &at)) {
		show(self, NULL, "none");
		return;
	}
	self->reading = g_cancellable_new();
	rs_trace_document_read_async(document, timeline, &at, 1, TRUE, self->reading, on_read,
				     g_object_ref(self));
}

static void on_current(RsViewerDetails *self)
{
	self->failures = 0;
	read_current(self);
}

/* ---- the widget ---- */

void rs_viewer_details_set_time_style(RsViewerDetails *self, RsViewerTimeStyle style)
{
	self->style = style;
	read_current(self);
}

const RsTraceRow *rs_viewer_details_row(RsViewerDetails *self)
{
	return self->reading ? NULL : self->row;
}

void rs_viewer_details_set_site(RsViewerDetails *self, const char *text)
{
	g_autofree char *escaped = NULL;

	rs_viewer_section_clear(self->sections[SITE]);
	if (!text || !*text)
		return;
	escaped = rs_trace_escape(text, -1, "\n\t");
	show_block(self->sections[SITE], escaped);
}

GtkWidget *rs_viewer_details_new(RsViewerView *view)
{
	RsViewerDetails *self = g_object_new(RS_VIEWER_TYPE_DETAILS, NULL);

	self->view = g_object_ref(view);
	g_signal_connect_object(view, "current", G_CALLBACK(on_current), self, G_CONNECT_SWAPPED);
	on_current(self);
	return GTK_WIDGET(self);
}

static GtkLabel *add_label(GtkWidget *box, const char *class)
{
	GtkWidget *label = gtk_label_new(NULL);

	gtk_label_set_xalign(GTK_LABEL(label), 0);
	gtk_label_set_ellipsize(GTK_LABEL(label), PANGO_ELLIPSIZE_END);
	gtk_label_set_selectable(GTK_LABEL(label), TRUE);
	gtk_widget_add_css_class(label, class);
	gtk_box_append(GTK_BOX(box), label);
	return GTK_LABEL(label);
}

static GtkWidget *make_row_page(RsViewerDetails *self)
{
	static const struct {
		const char *title;
		gboolean expanded;
	} sections[N_SECTIONS] = {
		[RECORD] = {N_("Record"), TRUE},    [FIELDS] = {N_("Fields"), TRUE},
		[STACK] = {N_("Call Stack"), TRUE}, [BYTES] = {N_("Bytes"), FALSE},
		[FORMAT] = {N_("Format"), FALSE},   [SITE] = {N_("Site"), TRUE},
	};
	GtkWidget *scrolled = gtk_scrolled_window_new();
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 6);
	GtkWidget *head = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);

	self->title = add_label(head, "title-4");
	self->subtitle = add_label(head, "dim-label");
	gtk_box_append(GTK_BOX(box), head);
	for (guint i = 0; i < N_SECTIONS; i++) {
		self->sections[i] =
			rs_viewer_section_new(_(sections[i].title), sections[i].expanded);
		gtk_box_append(GTK_BOX(box), GTK_WIDGET(self->sections[i]));
	}
	gtk_widget_set_margin_top(box, 12);
	gtk_widget_set_margin_bottom(box, 12);
	gtk_widget_set_margin_start(box, 12);
	gtk_widget_set_margin_end(box, 12);
	gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(scrolled), GTK_POLICY_NEVER,
				       GTK_POLICY_AUTOMATIC);
	gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scrolled), box);
	return scrolled;
}

static GtkWidget *make_status(const char *icon, const char *title, const char *description)
{
	GtkWidget *page = adw_status_page_new();

	adw_status_page_set_icon_name(ADW_STATUS_PAGE(page), icon);
	adw_status_page_set_title(ADW_STATUS_PAGE(page), title);
	adw_status_page_set_description(ADW_STATUS_PAGE(page), description);
	gtk_widget_add_css_class(page, "compact");
	return page;
}

static void dispose(GObject *object)
{
	RsViewerDetails *self = RS_VIEWER_DETAILS(object);

	stop_reading(self);
	g_clear_pointer(&self->row, rs_trace_row_unref);
	g_clear_pointer(&self->stack, gtk_widget_unparent);
	g_clear_object(&self->view);
	G_OBJECT_CLASS(rs_viewer_details_parent_class)->dispose(object);
}

static void rs_viewer_details_class_init(RsViewerDetailsClass *class)
{
	G_OBJECT_CLASS(class)->dispose = dispose;
	signals[FIELD_ASKED] =
		g_signal_new("field-asked", RS_VIEWER_TYPE_DETAILS, G_SIGNAL_RUN_LAST, 0, NULL,
			     NULL, NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
	signals[SHOWN] = g_signal_new("shown", RS_VIEWER_TYPE_DETAILS, G_SIGNAL_RUN_LAST, 0, NULL,
				      NULL, NULL, G_TYPE_NONE, 0);
	gtk_widget_class_set_layout_manager_type(GTK_WIDGET_CLASS(class), GTK_TYPE_BIN_LAYOUT);
	gtk_widget_class_set_accessible_role(GTK_WIDGET_CLASS(class), GTK_ACCESSIBLE_ROLE_REGION);
}

static void rs_viewer_details_init(RsViewerDetails *self)
{
	GtkStack *stack = GTK_STACK(gtk_stack_new());

	self->stack = GTK_WIDGET(stack);
	gtk_stack_add_named(stack,
			    make_status("view-list-symbolic", _("No Event Selected"),
					_("Choose an event in the list or in the timeline.")),
			    "none");
	gtk_stack_add_named(stack,
			    make_status("dialog-warning-symbolic", _("Cannot Be Read"),
					_("The trace has no such record any more, or is damaged "
					  "there.")),
			    "failed");
	gtk_stack_add_named(stack, make_row_page(self), "row");
	gtk_widget_set_parent(self->stack, GTK_WIDGET(self));
	gtk_accessible_update_property(GTK_ACCESSIBLE(self), GTK_ACCESSIBLE_PROPERTY_LABEL,
				       _("Details of the selected event"), -1);
}
