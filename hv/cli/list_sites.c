/* SPDX-License-Identifier: MIT */
#include "cli/list_sites.h"

#include <inttypes.h>
#include <rs-trace-disasm.h>
#include <rs-trace-escape.h>
#include <stdio.h>

/* A guest may list a million. */
#define SITES_MAX (1u << 20)

/* The instruction at the site, as it is now. To be freed; NULL: it cannot be read. */
static char *instruction_of(const RsTraceSite *site)
{
	gsize size = 0;
	const guint8 *bytes = site->text ? g_bytes_get_data(site->text, &size) : NULL;
	const guint64 before = site->address - site->text_address;
	g_autoptr(GArray) list = NULL;
	char *text = NULL;

	if (before >= size)
		return NULL;
	list = rs_trace_disassemble(site->arch, site->address, bytes + before, size - before, 1);
	if (list->len)
		text = g_strdup(g_array_index(list, RsTraceInsn, 0).text);
	return text;
}

/* "sched:switch", and a provider's own site without a name. To be freed. */
static char *event_of(const RsTraceSite *site)
{
	g_autofree char *full = g_strdup_printf("%s/%s%s%s", site->source, site->system,
						site->event ? ":" : "-", site->name);

	return rs_trace_escape(full, -1, NULL);
}

static void print_table(const RsTraceSites *sites)
{
	printf("%-8s %18s  %-30s  %s\n", "STATE", "ADDRESS", "TEXT", "SOURCE/EVENT");
	for (guint i = 0; i < sites->sites->len; i++) {
		const RsTraceSite *site = sites->sites->pdata[i];
		g_autofree char *state = rs_trace_escape(site->state, -1, NULL);
		g_autofree char *event = event_of(site);
		g_autofree char *insn = instruction_of(site);

		printf("%-8s %#18" PRIx64 "  %-30s  %s\n", state, site->address,
		       insn ? insn : "(cannot be read)", event);
	}
	for (guint i = 0; i < sites->self_patch->len; i++)
		printf("source %u patches itself: its sites are not known here\n",
		       g_array_index(sites->self_patch, guint32, i));
}

static void add_address(JsonBuilder *b, const char *key, guint64 address)
{
	g_autofree char *text = g_strdup_printf("%#" PRIx64, address);

	rs_cli_add_text(b, key, text);
}

static void add_bytes(JsonBuilder *b, const RsTraceSite *site)
{
	g_autoptr(GString) hex = g_string_new(NULL);
	gsize size;
	const guint8 *bytes = g_bytes_get_data(site->text, &size);

	for (gsize i = 0; i < size; i++)
		g_string_append_printf(hex, "%02x", bytes[i]);
	add_address(b, "text_address", site->text_address);
	rs_cli_add_text(b, "text", hex->str);
}

static void print_json(const RsTraceSites *sites)
{
	g_autoptr(JsonBuilder) b = json_builder_new();

	json_builder_begin_array(b);
	for (guint i = 0; i < sites->sites->len; i++) {
		const RsTraceSite *site = sites->sites->pdata[i];
		g_autofree char *insn = instruction_of(site);

		json_builder_begin_object(b);
		rs_cli_add_text(b, "source", site->source);
		rs_cli_add_number(b, "source_number", site->source_number);
		rs_cli_add_number(b, "event", site->event);
		rs_cli_add_text(b, "system", site->system);
		rs_cli_add_text(b, "name", site->name);
		rs_cli_add_text(b, "state", site->state);
		add_address(b, "address", site->address);
		add_address(b, "target", site->target);
		if (site->text)
			add_bytes(b, site);
		if (insn)
			rs_cli_add_text(b, "instruction", insn);
		json_builder_end_object(b);
	}
	json_builder_end_array(b);
	rs_cli_print_json(b);
}

int rs_cli_list_sites(RsDBusSession1 *session, const char *glob, bool json)
{
	g_autoptr(RsTraceSites) sites = NULL;
	GError *error = NULL;

	sites = rs_trace_sites_get(session, glob, SITES_MAX, &error);
	if (!sites)
		return rs_cli_fail_gerror(error);
	if (json)
		print_json(sites);
	else
		print_table(sites);
	return RS_CLI_OK;
}
