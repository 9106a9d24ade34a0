/* SPDX-License-Identifier: MIT */
#include "cli/test_domain.h"

#include "libvirt/domain.h"
#include "machine/run_domain.h"
#include <errno.h>

#define NOBODY "00000000-0000-0000-0000-000000000000" /* no domain has this UUID */

static char *get(const RsTraceSpec *spec, const char *key)
{
	return rs_trace_spec_get(spec, "guest", key, NULL);
}

static bool has(const RsTraceSpec *spec, const char *key)
{
	return rs_trace_spec_has(spec, "guest", key);
}

unsigned int rs_test_domain_count(const RsTraceSpec *spec)
{
	return (unsigned int)has(spec, "domain") + (unsigned int)has(spec, "template");
}

bool rs_test_domain_has_console(const RsTraceSpec *spec)
{
	return !has(spec, "domain");
}

/* What nobody reads would never be found. */
static bool check_serial(const RsTraceSpec *spec, GError **error)
{
	static const char *const keys[] = {"serial", "serial-never"};

	for (const char *const *name = rs_trace_spec_expectations(spec); *name; name++) {
		g_autofree char *group = g_strconcat("expect ", *name, NULL);

		for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
			if (!rs_trace_spec_has(spec, group, keys[i]))
				continue;
			rs_trace_spec_blame(spec, group, keys[i], error,
					    "the console of a domain that libvirt knows goes "
					    "where its XML says; that of a template is read");
			return false;
		}
	}
	return true;
}

bool rs_test_domain_check(const RsTraceSpec *spec, GError **error)
{
	g_autofree char *name = get(spec, "domain"), *template = get(spec, "template");

	if (has(spec, "connect") && !rs_test_domain_count(spec)) {
		rs_trace_spec_blame(spec, "guest", "connect", error,
				    "it is for domain and template");
		return false;
	}
	if (name && (!*name || rs_machine_is_template(name))) {
		rs_trace_spec_blame(spec, "guest", "domain", error,
				    "it is the name of a domain; a file is a template");
		return false;
	}
	if (template && !rs_machine_is_template(template)) {
		rs_trace_spec_blame(spec, "guest", "template", error,
				    "the name of a template ends with .xml");
		return false;
	}
	return rs_test_domain_has_console(spec) || check_serial(spec, error);
}

void rs_test_domain_add(const RsTraceSpec *spec, const char *template, GPtrArray *args)
{
	g_autofree char *name = get(spec, "domain"), *uri = get(spec, "connect");

	if (!name && !template)
		return;
	g_ptr_array_add(args, g_strdup("--domain"));
	g_ptr_array_add(args, g_strdup(name ? name : template));
	if (uri) {
		g_ptr_array_add(args, g_strdup("--connect"));
		g_ptr_array_add(args, g_strdup(uri));
	}
}

static char *ask(const char *uri)
{
	struct rs_domain *domain = NULL;
	struct rs_error err = {0};
	int ret = rs_domain_open(uri, NOBODY, NULL, RS_DOMAIN_TIMEOUT_MS, &domain, &err);

	rs_domain_close(domain);
	return ret == -ENOPKG || ret == -ECONNREFUSED || ret == -EACCES ? g_strdup(err.message)
									: NULL;
}

char *rs_test_domain_missing(const RsTraceSpec *spec)
{
	static GHashTable *asked; /* URI → why; "": it answers */
	g_autofree char *uri = get(spec, "connect");
	const char *why;

	if (!rs_test_domain_count(spec))
		return NULL;
	if (!asked)
		asked = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	why = g_hash_table_lookup(asked, uri ? uri : "");
	if (!why) {
		char *said = ask(uri);

		why = said ? said : g_strdup("");
		g_hash_table_insert(asked, g_strdup(uri ? uri : ""), (char *)why);
	}
	return *why ? g_strdup(why) : NULL;
}
