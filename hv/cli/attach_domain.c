/* SPDX-License-Identifier: MIT */
#include "cli/attach_domain.h"

#include "cli/verb.h"
#include "machine/domain.h"

#include <errno.h>
#include <rs-trace-escape.h>

void rs_cli_tell_wait(enum rs_prepare_wait what, guint seconds, void *data)
{
	g_autofree char *name = rs_trace_escape(rs_domain_name(data), -1, NULL);

	rs_cli_fail(0, "%s: waiting for the guest to %s, up to %u s", name,
		    what == RS_PREPARE_WAIT_GONE ? "let the device go" : "take the device",
		    seconds);
}

/* Only what was done is told. */
static void say_done(const char *name, const struct rs_preparation *done)
{
	for (guint i = 0; i < done->changes->len; i++) {
		const struct rs_prepared *change = done->changes->pdata[i];
		const char *when = change->inactive ? "from its next start" : "now";

		if (change->err.code)
			rs_cli_fail(0, "%s, %s: %s", name, when, change->err.message);
		else if (change->action == RS_PREPARE_ADDED)
			rs_cli_fail(0,
				    "%s, %s: a device with %" G_GUINT64_FORMAT
				    " MiB was added; 'ringside prepare --remove' takes it away",
				    name, when, change->mib);
	}
}

/* The run has a device then, or the session says that it has none. */
static int prepare(const struct rs_cli_domain *wish, struct rs_error *err)
{
	struct rs_domain *domain = NULL;
	struct rs_preparation *done = NULL;
	int ret = rs_domain_open(wish->uri, wish->name, NULL, RS_DOMAIN_TIMEOUT_MS, &domain, err);
	const struct rs_prepare_wish device = {.waiting = rs_cli_tell_wait, .data = domain};

	if (!ret)
		ret = rs_prepare(domain, &device, &done, err);
	if (!ret)
		say_done(rs_domain_name(domain), done);
	rs_preparation_free(done);
	rs_domain_close(domain);
	return ret;
}

int rs_cli_find_domain(const struct rs_cli_domain *wish, char **via, struct rs_error *err)
{
	g_autofree char *called = NULL;
	int ret = wish->prepare ? prepare(wish, err) : 0;

	if (!ret)
		ret = rs_machine_find_domain(wish->uri, wish->name, via, &called, err);
	if (ret != -ENOENT && ret != -ENOPKG && ret != -ECONNREFUSED)
		return ret;
	/* It may have been meant as a session. */
	if (!wish->uri)
		rs_error_prefix(err,
				ret == -ENOENT ? "there is no session '%s', nor such a domain"
					       : "there is no session '%s', and whether there is "
						 "such a domain is not known",
				wish->name);
	return ret;
}

void rs_cli_add_domain(JsonBuilder *b, const RsTraceRundirEntry *entry, guint number)
{
	const RsTraceRundirSource *source =
		entry ? rs_trace_rundir_entry_source(entry, number) : NULL;
	g_autofree char *uri = NULL, *uuid = NULL, *name = NULL;

	if (!source || !source->via || !rs_machine_split_domain(source->via, &uri, &uuid))
		return;
	name = rs_machine_domain_name(source->via);
	rs_cli_add_text(b, "domain", name);
	rs_cli_add_text(b, "uuid", uuid);
	rs_cli_add_text(b, "uri", uri);
}
