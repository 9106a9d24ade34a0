/* SPDX-License-Identifier: MIT */
/* The only file that knows libvirt. */
#include "libvirt/private.h"

#include "libvirt/loop.h"
#include "target/monitor.h"
#include <dlfcn.h>
#include <errno.h>
#include <libvirt/libvirt-qemu.h>
#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Static_assert(RS_LOOP_READABLE == VIR_EVENT_HANDLE_READABLE &&
		       RS_LOOP_WRITABLE == VIR_EVENT_HANDLE_WRITABLE &&
		       RS_LOOP_ERROR == VIR_EVENT_HANDLE_ERROR &&
		       RS_LOOP_HANGUP == VIR_EVENT_HANDLE_HANGUP,
	       "the loop's events are libvirt's");

/* A daemon that says nothing for so long is given up. */
#define ALIVE_INTERVAL_S 5
#define ALIVE_COUNT 3

/* ---- the library ---- */

/*
 * It is loaded when it is needed. It brings some forty others, which would take four times as long
 * to start as every other command does.
 */
#define FUNCTIONS(F)                                                                               \
	F(virEventRegisterImpl)                                                                    \
	F(virSetErrorFunc)                                                                         \
	F(virGetLastError)                                                                         \
	F(virConnectOpenAuth)                                                                      \
	F(virConnectClose)                                                                         \
	F(virConnectGetURI)                                                                        \
	F(virConnectGetType)                                                                       \
	F(virConnectSetKeepAlive)                                                                  \
	F(virConnectListAllDomains)                                                                \
	F(virConnectRegisterCloseCallback)                                                         \
	F(virConnectUnregisterCloseCallback)                                                       \
	F(virConnectDomainEventRegisterAny)                                                        \
	F(virConnectDomainEventDeregisterAny)                                                      \
	F(virDomainLookupByID)                                                                     \
	F(virDomainLookupByUUIDString)                                                             \
	F(virDomainLookupByName)                                                                   \
	F(virDomainFree)                                                                           \
	F(virDomainGetName)                                                                        \
	F(virDomainGetUUIDString)                                                                  \
	F(virDomainGetID)                                                                          \
	F(virDomainGetState)                                                                       \
	F(virDomainIsPersistent)                                                                   \
	F(virDomainGetXMLDesc)                                                                     \
	F(virDomainAttachDeviceFlags)                                                              \
	F(virDomainDetachDeviceFlags)                                                              \
	F(virDomainCreateXML)                                                                      \
	F(virDomainCreateWithFlags)                                                                \
	F(virDomainDestroy)                                                                        \
	F(virDomainCoreDumpWithFormat)
#define QEMU_FUNCTIONS(F)                                                                          \
	F(virDomainQemuMonitorCommand)                                                             \
	F(virDomainQemuAgentCommand)                                                               \
	F(virConnectDomainQemuMonitorEventRegister)                                                \
	F(virConnectDomainQemuMonitorEventDeregister)

static struct {
#define FUNCTION(name) __typeof__(&name) name;
	FUNCTIONS(FUNCTION)
	QEMU_FUNCTIONS(FUNCTION)
	FUNCTION(virDomainQemuMonitorCommandWithFiles) /* NULL: before libvirt 8.2 */
#undef FUNCTION
} vir;

static void *find(void *library, const char *name, char **missing)
{
	void *at = library ? dlsym(library, name) : NULL;

	if (!at && !*missing)
		*missing = g_strdup(dlerror());
	return at;
}

static char *load(void)
{
	void *base = dlopen("libvirt.so.0", RTLD_LAZY | RTLD_LOCAL);
	char *missing = base ? NULL : g_strdup(dlerror());
	void *qemu = base ? dlopen("libvirt-qemu.so.0", RTLD_LAZY | RTLD_LOCAL) : NULL;

#define FUNCTION(name) *(void **)&vir.name = find(base, #name, &missing);
	FUNCTIONS(FUNCTION)
#undef FUNCTION
#define FUNCTION(name) *(void **)&vir.name = find(qemu, #name, &missing);
	QEMU_FUNCTIONS(FUNCTION)
#undef FUNCTION
	if (qemu)
		*(void **)&vir.virDomainQemuMonitorCommandWithFiles =
			dlsym(qemu, "virDomainQemuMonitorCommandWithFiles");
	return missing;
}

static void ignore(void *data, virErrorPtr error)
{
}

static int prepare_library(struct rs_error *err)
{
	static gsize prepared;
	static char *missing;

	if (g_once_init_enter(&prepared)) {
		missing = load();
		if (!missing) {
			/* It would print every error. */
			vir.virSetErrorFunc(NULL, ignore);
			rs_loop_start();
			vir.virEventRegisterImpl(rs_loop_add_handle, rs_loop_update_handle,
						 rs_loop_remove_handle, rs_loop_add_timeout,
						 rs_loop_update_timeout, rs_loop_remove_timeout);
		}
		g_once_init_leave(&prepared, 1);
	}
	if (missing)
		return rs_error_set(err, ENOPKG, "libvirt's library (libvirt0) is missing: %s",
				    missing);
	return 0;
}

/* ---- errors ---- */

static int code_of(const virError *error)
{
	switch (error->code) {
	case VIR_ERR_NO_DOMAIN:
		return ENOENT;
	case VIR_ERR_AUTH_FAILED:
	case VIR_ERR_AUTH_CANCELLED:
	case VIR_ERR_AUTH_UNAVAILABLE:
	case VIR_ERR_ACCESS_DENIED:
	case VIR_ERR_OPERATION_DENIED:
		return EACCES;
	case VIR_ERR_OPERATION_TIMEOUT:
		return ETIMEDOUT;
	case VIR_ERR_OPERATION_INVALID:
		return ENOTCONN;
	case VIR_ERR_AGENT_UNRESPONSIVE:
	case VIR_ERR_AGENT_UNSYNCED:
		return EHOSTUNREACH;
	case VIR_ERR_RPC:
	case VIR_ERR_INVALID_CONN:
		return EPIPE;
	case VIR_ERR_SYSTEM_ERROR:
		/* What a connection was refused for. */
		if (error->int1 == EACCES || error->int1 == EPERM)
			return EACCES;
		if (error->int1 == ENOENT || error->int1 == ECONNREFUSED)
			return ECONNREFUSED;
		if (error->int1 == EPIPE || error->int1 == ECONNRESET)
			return EPIPE;
		return EIO;
	default:
		return error->domain == VIR_FROM_RPC ? EPIPE : EIO;
	}
}

/* libvirt's message for the call that has just failed on this thread. */
static int fail(struct rs_error *err)
{
	const virError *error = vir.virGetLastError();
	g_autofree char *text = g_strdup(error && error->message ? error->message : "no reason");

	g_strdelimit(text, "\n", ' ');
	g_strchomp(text);
	return rs_error_set(err, error ? code_of(error) : EIO, "libvirt: %s", text);
}

/* ---- connection and domain ---- */

struct rs_virt {
	virConnectPtr conn;
	virDomainPtr domain;
	int events[8]; /* ids; -1: none */
	int monitor;
	struct listener *closing; /* the close callback has it; NULL: there is none */
};

static void on_close(virConnectPtr conn, int reason, void *data);
static void release(void *data);

/* What a callback holds. */
struct listener {
	struct rs_virt_events events;
	gatomicrefcount refs;
};

static int check_here(const char *uri, struct rs_error *err)
{
	g_autoptr(GUri) parsed = uri ? g_uri_parse(uri, G_URI_FLAGS_NONE, NULL) : NULL;
	const char *host = parsed ? g_uri_get_host(parsed) : NULL;

	if (!host || !*host || g_str_equal(host, "localhost") || g_str_equal(host, "127.0.0.1") ||
	    g_str_equal(host, "::1"))
		return 0;
	return rs_error_set(err, EREMOTE,
			    "%s is on another host: the memory that is traced is on that one, so "
			    "run ringside there",
			    uri);
}

static int fail_to_connect(struct rs_error *err)
{
	int ret = fail(err);

	if (ret == -ECONNREFUSED)
		return rs_error_prefix(err, "libvirt's daemon does not answer: is it running?");
	if (ret == -EACCES)
		return rs_error_prefix(err, "libvirt's daemon refuses you: only root and the group "
					    "libvirt may use it");
	return ret;
}

static int open_connection(const char *uri, virConnectPtr *out, char **real_uri,
			   struct rs_error *err)
{
	const char *wish = uri ? uri : g_getenv("VIRSH_DEFAULT_CONNECT_URI");
	int ret;

	if (!wish || !*wish)
		wish = g_getenv("LIBVIRT_DEFAULT_URI");
	if (wish && !*wish)
		wish = NULL;
	/* Before a connection, which may ask for a password there. */
	ret = check_here(wish, err);
	if (ret)
		return ret;
	*out = vir.virConnectOpenAuth(wish, NULL, 0);
	if (!*out)
		return fail_to_connect(err);
	*real_uri = vir.virConnectGetURI(*out);
	if (!*real_uri)
		return fail(err);
	return check_here(*real_uri, err);
}

/* As virsh takes it. */
static virDomainPtr look_up(virConnectPtr conn, const char *name)
{
	virDomainPtr domain = NULL;
	guint64 id;

	if (g_ascii_string_to_unsigned(name, 10, 0, G_MAXINT, &id, NULL))
		domain = vir.virDomainLookupByID(conn, (int)id);
	if (!domain && strlen(name) == VIR_UUID_STRING_BUFLEN - 1)
		domain = vir.virDomainLookupByUUIDString(conn, name);
	return domain ? domain : vir.virDomainLookupByName(conn, name);
}

static bool is_qemu(virConnectPtr conn)
{
	const char *type = vir.virConnectGetType(conn);

	return type && g_str_equal(type, "QEMU");
}

static int find_domain(struct rs_virt *virt, const char *name, struct rs_virt_id *id,
		       struct rs_error *err)
{
	virt->domain = look_up(virt->conn, name);
	if (!virt->domain && fail(err) == -ENOENT)
		return rs_error_set(err, ENOENT, "no domain '%s' on %s%s", name, id->uri,
				    g_str_has_suffix(id->uri, ":///session")
					    ? ": others are on -c qemu:///system"
					    : "");
	return virt->domain ? 0 : -err->code;
}

/* For whoever must not outlive us. It waits for the caller, who lets it run. */
#define OURS (VIR_DOMAIN_START_AUTODESTROY | VIR_DOMAIN_START_PAUSED)

static int make_domain(struct rs_virt *virt, const char *xml, struct rs_virt_id *id,
		       struct rs_error *err)
{
	if (!is_qemu(virt->conn))
		return rs_error_set(err, ENOTSUP, "%s is not run by QEMU", id->uri);
	virt->domain = vir.virDomainCreateXML(virt->conn, xml, OURS);
	return virt->domain ? 0 : fail(err);
}

static int identify(struct rs_virt *virt, struct rs_virt_id *id, struct rs_error *err)
{
	char uuid[VIR_UUID_STRING_BUFLEN];

	if (vir.virDomainGetUUIDString(virt->domain, uuid))
		return fail(err);
	id->name = g_strdup(vir.virDomainGetName(virt->domain));
	id->uuid = g_strdup(uuid);
	id->is_qemu = is_qemu(virt->conn);
	return 0;
}

/* `get`: finds or makes what is to be the domain, `text`. */
static int open_by(const char *uri, const char *text,
		   int (*get)(struct rs_virt *virt, const char *text, struct rs_virt_id *id,
			      struct rs_error *err),
		   struct rs_virt **out, struct rs_virt_id *id, struct rs_error *err)
{
	struct rs_virt *virt;
	struct rs_virt_id found = {0};
	int ret = prepare_library(err);

	if (ret)
		return ret;
	virt = g_new0(struct rs_virt, 1);
	memset(virt->events, -1, sizeof(virt->events));
	virt->monitor = -1;
	ret = open_connection(uri, &virt->conn, &found.uri, err);
	/* Drivers without a daemon have none. */
	if (!ret)
		vir.virConnectSetKeepAlive(virt->conn, ALIVE_INTERVAL_S, ALIVE_COUNT);
	if (!ret)
		ret = get(virt, text, &found, err);
	if (!ret)
		ret = identify(virt, &found, err);
	if (ret) {
		rs_virt_close(virt);
		free(found.uri);
		return ret;
	}
	*id = found;
	*out = virt;
	return 0;
}

int rs_virt_open(const char *uri, const char *name, struct rs_virt **out, struct rs_virt_id *id,
		 struct rs_error *err)
{
	return open_by(uri, name, find_domain, out, id, err);
}

int rs_virt_make(const char *uri, const char *xml, struct rs_virt **out, struct rs_virt_id *id,
		 struct rs_error *err)
{
	return open_by(uri, xml, make_domain, out, id, err);
}

int rs_virt_start(struct rs_virt *virt, struct rs_error *err)
{
	return vir.virDomainCreateWithFlags(virt->domain, OURS) ? fail(err) : 0;
}

int rs_virt_destroy(struct rs_virt *virt, struct rs_error *err)
{
	return vir.virDomainDestroy(virt->domain) ? fail(err) : 0;
}

/* Nothing of it fails for who closes it. */
void rs_virt_close(struct rs_virt *virt)
{
	if (virt->closing) {
		vir.virConnectUnregisterCloseCallback(virt->conn, on_close);
		release(virt->closing);
	}
	if (virt->monitor >= 0)
		vir.virConnectDomainQemuMonitorEventDeregister(virt->conn, virt->monitor);
	for (size_t i = 0; i < G_N_ELEMENTS(virt->events); i++)
		if (virt->events[i] >= 0)
			vir.virConnectDomainEventDeregisterAny(virt->conn, virt->events[i]);
	if (virt->domain)
		vir.virDomainFree(virt->domain);
	if (virt->conn)
		vir.virConnectClose(virt->conn);
	g_free(virt);
}

int rs_virt_dump(struct rs_virt *virt, const char *path, struct rs_error *err)
{
	return vir.virDomainCoreDumpWithFormat(virt->domain, path, VIR_DOMAIN_CORE_DUMP_FORMAT_RAW,
					       VIR_DUMP_MEMORY_ONLY)
		       ? fail(err)
		       : 0;
}

static int state_of(virDomainPtr domain, enum rs_domain_state *out, struct rs_error *err)
{
	int state, reason;

	if (vir.virDomainGetState(domain, &state, &reason, 0))
		return fail(err);
	*out = RS_DOMAIN_PAUSED;
	if (state == VIR_DOMAIN_RUNNING || state == VIR_DOMAIN_BLOCKED ||
	    state == VIR_DOMAIN_SHUTDOWN)
		*out = RS_DOMAIN_RUNNING;
	else if (state == VIR_DOMAIN_SHUTOFF || state == VIR_DOMAIN_NOSTATE)
		*out = RS_DOMAIN_OFF;
	return 0;
}

int rs_virt_list(const char *uri,
		 void (*add)(void *data, const char *name, const char *uuid,
			     enum rs_domain_state state, const char *xml),
		 void *data, char **real_uri, struct rs_error *err)
{
	char uuid[VIR_UUID_STRING_BUFLEN];
	virDomainPtr *domains = NULL;
	enum rs_domain_state state;
	virConnectPtr conn = NULL;
	int n = 0, ret = prepare_library(err);

	if (ret)
		return ret;
	ret = open_connection(uri, &conn, real_uri, err);
	if (!ret && is_qemu(conn)) {
		n = vir.virConnectListAllDomains(conn, &domains, 0);
		ret = n < 0 ? fail(err) : 0;
	}
	for (int i = 0; i < n; i++) {
		char *xml = vir.virDomainGetXMLDesc(domains[i], 0);

		/* One that has gone away in between is none. */
		if (!vir.virDomainGetUUIDString(domains[i], uuid) &&
		    !state_of(domains[i], &state, NULL))
			add(data, vir.virDomainGetName(domains[i]), uuid, state, xml);
		free(xml);
		vir.virDomainFree(domains[i]);
	}
	free(domains);
	if (conn)
		vir.virConnectClose(conn);
	return ret;
}

int rs_virt_look(struct rs_virt *virt, struct rs_domain_status *out, struct rs_error *err)
{
	enum rs_domain_state state;
	int persistent, ret = state_of(virt->domain, &state, err);

	if (ret)
		return ret;
	persistent = vir.virDomainIsPersistent(virt->domain);
	if (persistent < 0)
		return fail(err);
	out->persistent = persistent == 1;
	out->state = state;
	/* -1, should it have ended in between. */
	out->id = out->state == RS_DOMAIN_OFF ? -1 : (int)vir.virDomainGetID(virt->domain);
	return 0;
}

static int take_text(char *text, char **out, struct rs_error *err)
{
	if (!text)
		return fail(err);
	if (strlen(text) > RS_DOMAIN_TEXT_MAX) {
		free(text);
		return rs_error_set(err, EIO, "libvirt: the answer is longer than %u MiB",
				    RS_DOMAIN_TEXT_MAX >> 20);
	}
	*out = text;
	return 0;
}

int rs_virt_read_xml(struct rs_virt *virt, bool inactive, char **out, struct rs_error *err)
{
	return take_text(
		vir.virDomainGetXMLDesc(virt->domain, inactive ? VIR_DOMAIN_XML_INACTIVE : 0), out,
		err);
}

int rs_virt_change_device(struct rs_virt *virt, const char *xml, bool attach, bool inactive,
			  struct rs_error *err)
{
	unsigned int flags = inactive ? VIR_DOMAIN_AFFECT_CONFIG : VIR_DOMAIN_AFFECT_LIVE;
	int ret = attach ? vir.virDomainAttachDeviceFlags(virt->domain, xml, flags)
			 : vir.virDomainDetachDeviceFlags(virt->domain, xml, flags);

	return ret ? fail(err) : 0;
}

static int command_with(struct rs_virt *virt, const char *json, int fd, char **text,
			struct rs_error *err)
{
	unsigned int came = 0;
	int *files = NULL, ret;

	if (!vir.virDomainQemuMonitorCommandWithFiles)
		return rs_error_set(err, ENOTSUP, "this libvirt hands no descriptors over");
	ret = vir.virDomainQemuMonitorCommandWithFiles(virt->domain, json, 1, &fd, &came, &files,
						       text, 0);
	if (ret)
		return fail(err);
	/* None is asked for. */
	for (unsigned int i = 0; i < came; i++)
		close(files[i]);
	free(files);
	return 0;
}

int rs_virt_command(struct rs_virt *virt, const char *json, int fd, char **reply,
		    struct rs_error *err)
{
	char *text = NULL;
	int ret;

	if (fd >= 0)
		ret = command_with(virt, json, fd, &text, err);
	else
		ret = vir.virDomainQemuMonitorCommand(virt->domain, json, &text, 0) ? fail(err) : 0;
	return ret ? ret : take_text(text, reply, err);
}

int rs_virt_ask_agent(struct rs_virt *virt, const char *json, int timeout_s, char **answer,
		      struct rs_error *err)
{
	char *text = vir.virDomainQemuAgentCommand(virt->domain, json, timeout_s, 0);
	const virError *error = text ? NULL : vir.virGetLastError();

	if (error && error->code == VIR_ERR_ARGUMENT_UNSUPPORTED)
		return rs_error_set(err, ENODEV,
				    "the domain has no channel org.qemu.guest_agent.0 to an agent "
				    "in the guest");
	if (error && code_of(error) == EHOSTUNREACH)
		return rs_error_set(err, EHOSTUNREACH,
				    "nothing in the guest answers as QEMU's guest agent: is "
				    "qemu-guest-agent installed there, and running?");
	return take_text(text, answer, err);
}

/* ---- events ---- */

static void release(void *data)
{
	struct listener *listener = data;

	if (!g_atomic_ref_count_dec(&listener->refs))
		return;
	listener->events.release(listener->events.data);
	g_free(listener);
}

static void tell(struct listener *listener, enum rs_domain_change change, const char *detail)
{
	listener->events.changed(listener->events.data, change, detail ? detail : "");
}

static const char *stop_reason(int detail)
{
	static const char *const reasons[] = {
		[VIR_DOMAIN_EVENT_STOPPED_SHUTDOWN] = "it was shut down",
		[VIR_DOMAIN_EVENT_STOPPED_DESTROYED] = "it was forced off",
		[VIR_DOMAIN_EVENT_STOPPED_CRASHED] = "it crashed",
		[VIR_DOMAIN_EVENT_STOPPED_MIGRATED] = "it was migrated to another host",
		[VIR_DOMAIN_EVENT_STOPPED_SAVED] = "it was saved to a file",
		[VIR_DOMAIN_EVENT_STOPPED_FAILED] = "its QEMU failed",
		[VIR_DOMAIN_EVENT_STOPPED_FROM_SNAPSHOT] = "a snapshot was loaded",
	};

	return detail >= 0 && detail < (int)G_N_ELEMENTS(reasons) ? reasons[detail] : "it stopped";
}

static int on_lifecycle(virConnectPtr conn, virDomainPtr domain, int event, int detail, void *data)
{
	switch (event) {
	case VIR_DOMAIN_EVENT_STARTED:
		tell(data, RS_DOMAIN_STARTED, NULL);
		break;
	case VIR_DOMAIN_EVENT_SUSPENDED:
	case VIR_DOMAIN_EVENT_PMSUSPENDED:
		tell(data, RS_DOMAIN_SUSPENDED, NULL);
		break;
	case VIR_DOMAIN_EVENT_RESUMED:
		tell(data, RS_DOMAIN_RESUMED, NULL);
		break;
	case VIR_DOMAIN_EVENT_CRASHED:
		tell(data, RS_DOMAIN_CRASHED, "the guest has panicked");
		break;
	case VIR_DOMAIN_EVENT_STOPPED:
		if (detail == VIR_DOMAIN_EVENT_STOPPED_CRASHED)
			tell(data, RS_DOMAIN_CRASHED, "its QEMU has ended by itself");
		tell(data,
		     detail == VIR_DOMAIN_EVENT_STOPPED_MIGRATED ? RS_DOMAIN_MIGRATED
								 : RS_DOMAIN_STOPPED,
		     stop_reason(detail));
		break;
	default:
		break;
	}
	return 0;
}

static void on_reboot(virConnectPtr conn, virDomainPtr domain, void *data)
{
	tell(data, RS_DOMAIN_REBOOTED, NULL);
}

static void on_device_added(virConnectPtr conn, virDomainPtr domain, const char *alias, void *data)
{
	tell(data, RS_DOMAIN_DEVICE_ADDED, alias);
}

static void on_device_removed(virConnectPtr conn, virDomainPtr domain, const char *alias,
			      void *data)
{
	tell(data, RS_DOMAIN_DEVICE_REMOVED, alias);
}

static void on_monitor(virConnectPtr conn, virDomainPtr domain, const char *event,
		       long long seconds, unsigned int micros, const char *details, void *data)
{
	struct listener *listener = data;

	if (details && strlen(details) > RS_DOMAIN_TEXT_MAX)
		details = NULL;
	listener->events.monitor(listener->events.data, event, rs_monitor_moment(seconds, micros),
				 details);
}

static void on_close(virConnectPtr conn, int reason, void *data)
{
	struct listener *listener = data;

	listener->events.lost(listener->events.data);
}

static const struct {
	int event;
	virConnectDomainEventGenericCallback call;
} calls[] = {
	{VIR_DOMAIN_EVENT_ID_LIFECYCLE, VIR_DOMAIN_EVENT_CALLBACK(on_lifecycle)},
	{VIR_DOMAIN_EVENT_ID_REBOOT, VIR_DOMAIN_EVENT_CALLBACK(on_reboot)},
	{VIR_DOMAIN_EVENT_ID_DEVICE_ADDED, VIR_DOMAIN_EVENT_CALLBACK(on_device_added)},
	{VIR_DOMAIN_EVENT_ID_DEVICE_REMOVED, VIR_DOMAIN_EVENT_CALLBACK(on_device_removed)},
};

static struct listener *hold(struct listener *listener)
{
	g_atomic_ref_count_inc(&listener->refs);
	return listener;
}

static int listen_to_all(struct rs_virt *virt, struct listener *listener, struct rs_error *err)
{
	G_STATIC_ASSERT(G_N_ELEMENTS(calls) <= G_N_ELEMENTS(virt->events));

	for (size_t i = 0; i < G_N_ELEMENTS(calls); i++) {
		virt->events[i] = vir.virConnectDomainEventRegisterAny(
			virt->conn, virt->domain, calls[i].event, calls[i].call, hold(listener),
			release);
		if (virt->events[i] < 0) {
			release(listener);
			return fail(err);
		}
	}
	/* Drivers that are not QEMU's have no such events, and those without a daemon lose none. */
	virt->monitor = vir.virConnectDomainQemuMonitorEventRegister(
		virt->conn, virt->domain, NULL, on_monitor, hold(listener), release, 0);
	if (virt->monitor < 0)
		release(listener);
	/* A driver without a daemon says that it has taken it, and never lets it go. */
	if (!vir.virConnectRegisterCloseCallback(virt->conn, on_close, listener, NULL))
		virt->closing = hold(listener);
	return 0;
}

int rs_virt_listen(struct rs_virt *virt, const struct rs_virt_events *events, struct rs_error *err)
{
	struct listener *listener = g_new0(struct listener, 1);
	int ret;

	listener->events = *events;
	g_atomic_ref_count_init(&listener->refs);
	ret = listen_to_all(virt, listener, err);
	release(listener);
	return ret;
}
