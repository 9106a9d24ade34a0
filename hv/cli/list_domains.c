/* SPDX-License-Identifier: MIT */
#include "cli/list_domains.h"

#include "cli/remains.h"
#include "cli/verb.h"
#include "libvirt/list.h"
#include "machine/domain.h"

#include <rs-trace-escape.h>
#include <stdio.h>
#include <stdlib.h>

static const char *state_of(const struct rs_listed_domain *domain)
{
	static const char *const names[] = {
		[RS_DOMAIN_OFF] = "off",
		[RS_DOMAIN_RUNNING] = "running",
		[RS_DOMAIN_PAUSED] = "paused",
	};

	return names[domain->state];
}

/* The session that has it; NULL: none. */
static RsTraceRundirEntry *session_of(const struct rs_listed_domain *domain, const char *uri)
{
	g_autofree char *via = rs_machine_listed_via(uri, domain->uuid, domain->name);

	return rs_remains_find(via);
}

static void print_table(const GPtrArray *list, const char *uri)
{
	printf("%-24s %-9s %-7s %s\n", "DOMAIN", "STATE", "DEVICE", "SESSION");
	for (guint i = 0; i < list->len; i++) {
		const struct rs_listed_domain *domain = list->pdata[i];
		g_autoptr(RsTraceRundirEntry) session = session_of(domain, uri);
		g_autofree char *name = rs_trace_escape(domain->name, -1, NULL);

		printf("%-24s %-9s %-7s %s\n", name, state_of(domain), domain->device ? "yes" : "-",
		       session ? session->name : "-");
	}
}

static void print_json(const GPtrArray *list, const char *uri)
{
	g_autoptr(JsonBuilder) b = json_builder_new();

	json_builder_begin_object(b);
	rs_cli_add_text(b, "uri", uri);
	json_builder_set_member_name(b, "domains");
	json_builder_begin_array(b);
	for (guint i = 0; i < list->len; i++) {
		const struct rs_listed_domain *domain = list->pdata[i];
		g_autoptr(RsTraceRundirEntry) session = session_of(domain, uri);

		json_builder_begin_object(b);
		rs_cli_add_text(b, "domain", domain->name);
		rs_cli_add_text(b, "uuid", domain->uuid);
		rs_cli_add_text(b, "state", state_of(domain));
		json_builder_set_member_name(b, "device");
		json_builder_add_boolean_value(b, domain->device);
		if (session)
			rs_cli_add_text(b, "session", session->name);
		json_builder_end_object(b);
	}
	json_builder_end_array(b);
	json_builder_end_object(b);
	rs_cli_print_json(b);
}

int rs_cli_list_domains(const char *uri, bool json)
{
	g_autoptr(GPtrArray) list = NULL;
	struct rs_error err = {0};
	char *real_uri = NULL;

	if (rs_domain_list(uri, RS_DOMAIN_TIMEOUT_MS, &real_uri, &list, &err))
		return rs_cli_fail_error(&err);
	if (json)
		print_json(list, real_uri);
	else
		print_table(list, real_uri);
	free(real_uri);
	return RS_CLI_OK;
}
