/* SPDX-License-Identifier: MIT */
#include "libvirt/list.h"

#include "libvirt/domain_xml.h"
#include "libvirt/private.h"

#include <stdlib.h>

static void free_listed(void *data)
{
	struct rs_listed_domain *listed = data;

	g_free(listed->name);
	g_free(listed->uuid);
	g_free(listed);
}

static bool has_device(const char *text)
{
	struct rs_domain_xml *xml = NULL;
	bool there = text && !rs_domain_xml_parse(text, &xml, NULL) && rs_domain_xml_ours(xml);

	rs_domain_xml_free(xml);
	return there;
}

/* On the thread of the calls. */
static void add(void *data, const char *name, const char *uuid, enum rs_domain_state state,
		const char *xml)
{
	struct rs_domain_job *job = data;
	struct rs_listed_domain *listed;

	if (job->list->len >= RS_DOMAINS_MAX)
		return;
	listed = g_new0(struct rs_listed_domain, 1);
	listed->name = g_strdup(name ? name : "");
	listed->uuid = g_strdup(uuid);
	listed->state = state;
	listed->device = has_device(xml);
	g_ptr_array_add(job->list, listed);
}

static int do_list(struct rs_domain *domain, struct rs_domain_job *job)
{
	job->list = g_ptr_array_new_with_free_func(free_listed);
	return rs_virt_list(job->text, add, job, &job->out, &job->err);
}

static int by_name(const void *a, const void *b)
{
	const struct rs_listed_domain *const *x = a, *const *y = b;

	return g_strcmp0((*x)->name, (*y)->name);
}

int rs_domain_list(const char *uri, int timeout_ms, char **real_uri, GPtrArray **out,
		   struct rs_error *err)
{
	struct rs_domain *domain = rs_domain_new(NULL);
	struct rs_domain_job *job = rs_domain_job_new(do_list, "list", uri);
	int ret = rs_domain_call(domain, job, timeout_ms, err);

	if (!ret) {
		*out = g_steal_pointer(&job->list);
		*real_uri = g_steal_pointer(&job->out);
		g_ptr_array_sort(*out, by_name);
		rs_domain_job_unref(job);
	}
	rs_domain_close(domain);
	return ret;
}
