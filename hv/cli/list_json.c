/* SPDX-License-Identifier: MIT */
#include "cli/list_events.h"

static void add_wishes(JsonBuilder *b, GVariant *owners)
{
	GVariantIter iter;
	struct rs_cli_wish wish;

	json_builder_set_member_name(b, "owners");
	json_builder_begin_array(b);
	if (owners)
		g_variant_iter_init(&iter, owners);
	while (owners && rs_cli_next_wish(&iter, &wish)) {
		json_builder_begin_object(b);
		json_builder_set_member_name(b, "name");
		json_builder_add_string_value(b, wish.name);
		json_builder_set_member_name(b, "enabled");
		json_builder_add_boolean_value(b, wish.enabled);
		rs_cli_add_number(b, "stack", wish.stack);
		rs_cli_add_text(b, "filter", wish.filter);
		json_builder_end_object(b);
	}
	json_builder_end_array(b);
}

/* As text, since not every reader of JSON has numbers of 64 bits. */
static void add_keyword(JsonBuilder *b, guint64 keyword)
{
	g_autofree char *text = g_strdup_printf("0x%" G_GINT64_MODIFIER "x", keyword);

	rs_cli_add_text(b, "keyword", text);
}

static void add_fields(JsonBuilder *b, const RsTraceEvent *event)
{
	json_builder_set_member_name(b, "fields");
	json_builder_begin_array(b);
	for (guint i = 0; event && i < event->n_fields; i++) {
		json_builder_begin_object(b);
		rs_cli_add_text(b, "name", event->fields[i].name);
		rs_cli_add_text(b, "type", rs_cli_field_type(&event->fields[i]));
		json_builder_end_object(b);
	}
	json_builder_end_array(b);
}

void rs_cli_print_events_json(GVariant *events, const struct rs_cli_fields *fields)
{
	g_autoptr(JsonBuilder) b = json_builder_new();
	GVariantIter iter;
	struct rs_cli_event row = {0};

	json_builder_begin_array(b);
	g_variant_iter_init(&iter, events);
	while (rs_cli_next_event(&iter, &row)) {
		json_builder_begin_object(b);
		json_builder_set_member_name(b, "source");
		json_builder_add_string_value(b, row.source);
		rs_cli_add_number(b, "source_number", row.source_number);
		json_builder_set_member_name(b, "id");
		json_builder_add_int_value(b, row.id);
		json_builder_set_member_name(b, "system");
		json_builder_add_string_value(b, row.system);
		json_builder_set_member_name(b, "name");
		json_builder_add_string_value(b, row.name);
		rs_cli_add_number(b, "level", row.level);
		add_keyword(b, row.keyword);
		json_builder_set_member_name(b, "enabled");
		json_builder_add_boolean_value(b, row.enabled);
		rs_cli_add_number(b, "stack", row.stack);
		rs_cli_add_text(b, "filter", row.filter);
		json_builder_set_member_name(b, "native");
		json_builder_add_boolean_value(b, row.native);
		rs_cli_add_text(b, "no_native", row.no_native);
		add_wishes(b, row.owners);
		json_builder_set_member_name(b, "sites");
		json_builder_add_int_value(b, row.sites);
		rs_cli_add_text(b, "note", row.note);
		if (fields)
			add_fields(b, rs_cli_fields_event(fields, row.source_number, row.id));
		json_builder_end_object(b);
	}
	json_builder_end_array(b);
	rs_cli_print_json(b);
}
