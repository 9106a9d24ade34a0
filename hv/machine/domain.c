/* SPDX-License-Identifier: MIT */
#include "machine/domain.h"

#include "base/say.h"
#include "libvirt/domain_xml.h"
#include "libvirt/host.h"
#include "libvirt/monitor.h"
#include <errno.h>
#include <rs-trace-escape.h>
#include <stdlib.h>
#include <string.h>

#define UUID_CHARS 36

/* ---- how it is reached ---- */

char *rs_machine_domain_via(const struct rs_domain *domain)
{
	return rs_machine_listed_via(rs_domain_uri(domain), rs_domain_uuid(domain),
				     rs_domain_name(domain));
}

char *rs_machine_listed_via(const char *uri, const char *uuid, const char *name)
{
	return g_strdup_printf(RS_VIA_DOMAIN "%s#%s#%s", uri, uuid, name);
}

int rs_machine_find_domain(const char *uri, const char *name, char **via, char **called,
			   struct rs_error *err)
{
	struct rs_domain *domain = NULL;
	int ret = rs_domain_open(uri, name, NULL, RS_DOMAIN_TIMEOUT_MS, &domain, err);

	if (ret)
		return ret;
	if (rs_domain_is_qemu(domain)) {
		*via = rs_machine_domain_via(domain);
		*called = g_strdup(rs_domain_name(domain));
	} else {
		ret = rs_error_set(err, ENOTSUP, "'%s' on %s is not run by QEMU",
				   rs_domain_name(domain), rs_domain_uri(domain));
	}
	rs_domain_close(domain);
	return ret;
}

/* False: it is none. `name` is a part of `via`, the others are to be freed. */
static bool split(const char *via, char **uri, char **uuid, const char **name)
{
	const char *rest = g_str_has_prefix(via, RS_VIA_DOMAIN) ? via + strlen(RS_VIA_DOMAIN) : "";
	const char *mark = strchr(rest, '#');

	if (!mark || strlen(mark) < UUID_CHARS + 2 || mark[UUID_CHARS + 1] != '#')
		return false;
	*uri = g_strndup(rest, (gsize)(mark - rest));
	*uuid = g_strndup(mark + 1, UUID_CHARS);
	*name = mark + UUID_CHARS + 2;
	return true;
}

bool rs_machine_split_domain(const char *via, char **uri, char **uuid)
{
	const char *name;

	return split(via, uri, uuid, &name);
}

/* "/system" of qemu:///system and of qemu+unix:///system?socket=…: to be freed. */
static char *daemon_of(const char *uri)
{
	char *path = NULL;

	return g_uri_split(uri, G_URI_FLAGS_NONE, NULL, NULL, NULL, NULL, &path, NULL, NULL, NULL)
		       ? path
		       : g_strdup(uri);
}

bool rs_machine_same_domain(const char *via, const char *other)
{
	g_autofree char *uri = NULL, *uuid = NULL, *other_uri = NULL, *other_uuid = NULL;
	g_autofree char *daemon = NULL, *other_daemon = NULL;
	const char *name;

	if (!split(via, &uri, &uuid, &name) || !split(other, &other_uri, &other_uuid, &name))
		return false;
	daemon = daemon_of(uri);
	other_daemon = daemon_of(other_uri);
	return g_ascii_strcasecmp(uuid, other_uuid) == 0 && g_strcmp0(daemon, other_daemon) == 0;
}

char *rs_machine_domain_name(const char *via)
{
	g_autofree char *uri = NULL, *uuid = NULL;
	const char *name;

	return g_strdup(split(via, &uri, &uuid, &name) ? name : "domain");
}

/* ---- what happens to it ---- */

struct follower {
	char *name;   /* as it is shown */
	char *device; /* its alias */
};

static void free_follower(void *data)
{
	struct follower *follower = data;

	g_free(follower->name);
	g_free(follower->device);
	g_free(follower);
}

static void say(const struct follower *follower, const char *what)
{
	g_autofree char *shown = rs_trace_escape(what, -1, NULL);
	g_autofree char *line = g_strdup_printf("ringside: domain %s: %s\n", follower->name, shown);

	rs_say(line);
}

static void on_changed(void *data, enum rs_domain_change change, const char *detail)
{
	const struct follower *follower = data;

	switch (change) {
	case RS_DOMAIN_STOPPED:
	case RS_DOMAIN_MIGRATED:
		say(follower, detail);
		break;
	case RS_DOMAIN_DEVICE_REMOVED:
		if (g_str_equal(detail, follower->device))
			say(follower, "its device was taken away: nothing more is recorded");
		break;
	case RS_DOMAIN_LOST:
		say(follower, "libvirt's daemon has gone away; the session goes on, and looks for "
			      "it");
		break;
	case RS_DOMAIN_FOUND:
		say(follower, "libvirt's daemon is there again");
		break;
	default:
		break;
	}
}

/* ---- opening it ---- */

int rs_machine_find_device(struct rs_domain *domain, struct rs_machine_device *device,
			   struct rs_error *err)
{
	g_autofree char *text = NULL;
	struct rs_domain_xml *xml = NULL;
	const struct rs_xml_shmem *ours;
	int ret = rs_domain_read_xml(domain, false, &text, err);

	if (!ret)
		ret = rs_domain_xml_parse(text, &xml, err);
	if (ret)
		return ret;
	ours = rs_domain_xml_ours(xml);
	if (!ours || !ours->alias)
		ret = rs_error_set(err, ENODEV,
				   "domain '%s' has no memory for a trace: 'ringside prepare' adds "
				   "it",
				   rs_domain_name(domain));
	else
		ret = rs_host_check_shmem(ours->name, rs_domain_name(domain),
					  rs_domain_uuid(domain), err);
	if (!ret)
		*device = (struct rs_machine_device){
			.alias = g_strdup(ours->alias),
			.memory = g_strconcat("/dev/shm/", ours->name, NULL),
		};
	rs_domain_xml_free(xml);
	return ret;
}

static int check(struct rs_domain *domain, struct rs_machine_device *device, struct rs_error *err)
{
	struct rs_domain_status status;
	int ret = rs_domain_look(domain, &status, err);

	if (ret)
		return ret;
	if (status.state == RS_DOMAIN_OFF)
		return rs_error_set(err, ENOTCONN, "domain '%s' does not run",
				    rs_domain_name(domain));
	return rs_machine_find_device(domain, device, err);
}

static int follow(struct rs_domain *domain, const char *device, struct rs_monitor **out,
		  struct rs_error *err)
{
	struct follower *follower = g_new0(struct follower, 1);
	struct rs_monitor *monitor = rs_domain_monitor_new(domain, NULL);
	int ret;

	follower->name = rs_trace_escape(rs_domain_name(domain), -1, NULL);
	follower->device = g_strdup(device);
	ret = rs_domain_monitor_keep(monitor, on_changed, follower, free_follower, err);
	if (ret)
		rs_monitor_destroy(monitor);
	else
		*out = monitor;
	return ret;
}

int rs_machine_open_domain(const char *via, GMainContext *context, struct rs_monitor **monitor,
			   GArray **pids, struct rs_machine_device *device, struct rs_error *err)
{
	g_autofree char *uri = NULL, *uuid = NULL;
	struct rs_machine_device found = {0};
	struct rs_domain *domain = NULL;
	const char *name;
	int ret;

	if (!split(via, &uri, &uuid, &name))
		return rs_error_set(err, EINVAL, "'%s' leads to no domain", via);
	ret = rs_domain_open(uri, uuid, context, RS_DOMAIN_TIMEOUT_MS, &domain, err);
	if (ret)
		return ret;
	ret = check(domain, &found, err);
	if (!ret)
		ret = follow(domain, found.alias, monitor, err);
	if (ret) {
		rs_domain_close(domain);
		g_free(found.alias);
		g_free(found.memory);
		return ret;
	}
	*pids = rs_host_find_qemus(uuid);
	*device = found;
	return 0;
}
