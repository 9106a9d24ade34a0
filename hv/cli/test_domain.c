/* SPDX-License-Identifier: MIT */
#include "cli/test_domain.h"

#include "libvirt/domain.h"
#include <errno.h>
#include <glib.h>

#define NOBODY "00000000-0000-0000-0000-000000000000" /* no domain has this UUID */

static char *ask(const char *uri)
{
	struct rs_domain *domain = NULL;
	struct rs_error err = {0};
	int ret = rs_domain_open(uri, NOBODY, NULL, RS_DOMAIN_TIMEOUT_MS, &domain, &err);

	rs_domain_close(domain);
	return ret == -ENOPKG || ret == -ECONNREFUSED || ret == -EACCES ? g_strdup(err.message)
									: NULL;
}

char *rs_test_domain_missing(const char *uri)
{
	static GHashTable *asked; /* URI → why; "": it answers */
	const char *why;

	if (!asked)
		asked = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	why = g_hash_table_lookup(asked, uri);
	if (!why) {
		char *said = ask(*uri ? uri : NULL);

		why = said ? said : g_strdup("");
		g_hash_table_insert(asked, g_strdup(uri), (char *)why);
	}
	return *why ? g_strdup(why) : NULL;
}
