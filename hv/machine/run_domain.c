/* SPDX-License-Identifier: MIT */
#include "machine/run_domain.h"

#include "base/say.h"
#include "libvirt/domain_xml.h"
#include "libvirt/host.h"
#include "libvirt/monitor.h"
#include "libvirt/prepare.h"
#include "libvirt/template.h"
#include "machine/domain.h"
#include "machine/leftover.h"
#include "machine/reach.h"
#include "qemu/adopt.h"
#include <errno.h>
#include <fcntl.h>
#include <rs-trace-escape.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEMPLATE_MAX RS_DOMAIN_TEXT_MAX
#define UUID_CHARS 8 /* of the UUID that stand in the domain's name */
#define MIB ((uint64_t)1 << 20)

/* A domain that is being started. */
struct start {
	const struct rs_machine_config *config;
	struct rs_domain *domain;
	char *memory; /* the path of its trace's memory */
	int watch;    /* of that, until it has no name any more; -1: none */
};

bool rs_machine_is_template(const char *domain)
{
	return g_str_has_suffix(domain, ".xml");
}

/* ---- the owner of its QEMU ---- */

struct owned {
	struct rs_domain *domain; /* its monitor's */
	bool ended;               /* by us */
};

/* Its end is told by its target, which does not know of somebody else who has forced it off. */
static void on_changed(void *data, enum rs_domain_change change, const char *detail)
{
	const struct owned *owned = data;
	g_autofree char *name = rs_trace_escape(rs_domain_name(owned->domain), -1, NULL);
	g_autofree char *line = NULL;
	const char *what = NULL;

	if (change == RS_DOMAIN_LOST)
		what = "libvirt's daemon has gone away; the session goes on, and looks for it";
	else if (change == RS_DOMAIN_FOUND)
		what = "libvirt's daemon is there again";
	else if (change == RS_DOMAIN_STOPPED && !owned->ended)
		what = detail;
	if (!what)
		return;
	line = g_strdup_printf("ringside: domain %s: %s\n", name, what);
	rs_say(line);
}

static void end(void *data)
{
	struct owned *owned = data;

	owned->ended = true;
	rs_domain_destroy(owned->domain, 0, NULL);
}

static void release(void *data)
{
	struct owned *owned = data;

	owned->ended = true;
	rs_domain_destroy(owned->domain, RS_DOMAIN_START_MS, NULL);
}

static int dump(void *data, const char *path, struct rs_error *err)
{
	const struct owned *owned = data;

	return rs_domain_dump(owned->domain, path, RS_DOMAIN_DUMP_MS, err);
}

/* ---- its memory ---- */

static int guard_memory(struct start *start, const char *name, struct rs_error *err)
{
	start->memory = g_strconcat("/dev/shm/", name, NULL);
	return rs_leftover_watch(start->memory, &start->watch, err);
}

/* How much the rings need, a power of two. */
static int choose_mib(const struct rs_machine_config *config, uint32_t cpus, uint64_t *out,
		      struct rs_error *err)
{
	struct rs_fit_wish wish = {
		.vcpus = cpus,
		.ring_bytes = config->ring_bytes,
		.ring_max = config->ring_max,
		.users = config->users,
	};
	struct rs_fit fit;
	uint64_t mib;
	int ret;

	for (mib = rs_prepare_default_mib(cpus);; mib *= 2) {
		wish.size = mib * MIB;
		ret = rs_region_fit(&wish, &fit, err);
		if (ret != -ENOSPC || mib >= RS_PREPARE_MIB_MAX)
			break;
	}
	*out = mib;
	return ret;
}

/* ---- one of a template ---- */

/* The source's name, without the number of the first. Several sessions may have one name. */
static char *name_domain(const char *source, const char *uuid)
{
	const char *end = g_str_has_suffix(source, "@1") ? strrchr(source, '@') : NULL;

	return g_strdup_printf("%.*s-%.*s", end ? (int)(end - source) : (int)strlen(source), source,
			       UUID_CHARS, uuid);
}

static int read_template(const char *path, char **out, struct rs_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	g_autofree char *text = NULL;
	ssize_t n = 0, size = 0;
	struct stat st;

	if (fd < 0)
		return rs_error_set(err, EIO, "%s: %s", path, g_strerror(errno));
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > (off_t)TEMPLATE_MAX) {
		close(fd);
		return rs_error_set(err, EIO, "%s: it is no file, or longer than %u MiB", path,
				    TEMPLATE_MAX >> 20);
	}
	text = g_malloc((gsize)st.st_size + 1);
	while (size < st.st_size && (n = read(fd, text + size, (size_t)(st.st_size - size))) > 0)
		size += n;
	close(fd);
	if (n < 0)
		return rs_error_set(err, EIO, "%s: cannot be read", path);
	text[size] = '\0';
	*out = g_steal_pointer(&text);
	return 0;
}

static int make_xml(struct start *start, const char *text, const char *name, const char *uuid,
		    char **xml, struct rs_error *err)
{
	const struct rs_machine_config *config = start->config;
	g_autofree char *memory = NULL;
	struct rs_template_wish wish = {
		.name = name,
		.uuid = uuid,
		.cpus = config->cpus,
		.memory = config->memory,
		.append = config->append,
		.keep_crashed = config->keep_crashed,
	};
	uint32_t cpus = config->cpus;
	int ret = cpus ? 0 : rs_template_cpus(text, &cpus, err);

	if (!ret)
		ret = choose_mib(config, cpus, &wish.memory_mib, err);
	if (ret)
		return ret;
	memory = rs_host_shmem_name(name, uuid, wish.memory_mib);
	wish.memory_name = memory;
	ret = rs_template_make(text, &wish, xml, err);
	return ret ? ret : guard_memory(start, memory, err);
}

static int make(struct start *start, struct rs_error *err)
{
	const struct rs_machine_config *config = start->config;
	g_autofree char *text = NULL, *xml = NULL, *uuid = g_uuid_string_random();
	g_autofree char *name = name_domain(config->name, uuid);
	int ret = read_template(config->domain, &text, err);

	if (ret)
		return ret;
	ret = make_xml(start, text, name, uuid, &xml, err);
	if (!ret)
		ret = rs_domain_make(config->uri, xml, NULL, RS_DOMAIN_START_MS, &start->domain,
				     err);
	return ret ? rs_error_prefix(err, "%s", config->domain) : 0;
}

/* ---- one that libvirt knows ---- */

static int check_known(struct rs_domain *domain, struct rs_error *err)
{
	struct rs_domain_status status;
	const char *name = rs_domain_name(domain);
	int ret = rs_domain_look(domain, &status, err);

	if (ret)
		return ret;
	if (!rs_domain_is_qemu(domain))
		return rs_error_set(err, ENOTSUP, "'%s' on %s is not run by QEMU", name,
				    rs_domain_uri(domain));
	if (status.state != RS_DOMAIN_OFF)
		return rs_error_set(err, EBUSY,
				    "domain '%s' runs already: 'ringside attach %s' traces it",
				    name, name);
	return 0;
}

/* What an earlier run left there is not wanted, and nobody may have made it before QEMU. */
static int clear_memory(const char *name, struct rs_error *err)
{
	int ret = rs_host_remove_shmem(name, err);

	return ret == -ENOENT ? 0 : ret;
}

static int find_memory(struct start *start, struct rs_error *err)
{
	struct rs_domain *domain = start->domain;
	struct rs_domain_xml *xml = NULL;
	const struct rs_xml_shmem *ours;
	char *text = NULL;
	int ret = rs_domain_read_xml(domain, true, &text, err);

	if (!ret)
		ret = rs_domain_xml_parse(text, &xml, err);
	free(text);
	if (ret)
		return ret;
	ours = rs_domain_xml_ours(xml);
	if (!ours)
		ret = rs_error_set(err, ENODEV,
				   "domain '%s' has no memory for a trace: 'ringside prepare' adds "
				   "it",
				   rs_domain_name(domain));
	else
		ret = rs_host_check_shmem(ours->name, rs_domain_name(domain),
					  rs_domain_uuid(domain), err);
	if (!ret)
		ret = clear_memory(ours->name, err);
	if (!ret)
		ret = guard_memory(start, ours->name, err);
	rs_domain_xml_free(xml);
	return ret;
}

static int start_known(struct start *start, struct rs_error *err)
{
	const struct rs_machine_config *config = start->config;
	int ret = rs_domain_open(config->uri, config->domain, NULL, RS_DOMAIN_TIMEOUT_MS,
				 &start->domain, err);

	if (!ret)
		ret = check_known(start->domain, err);
	if (!ret)
		ret = find_memory(start, err);
	return ret ? ret : rs_domain_start(start->domain, RS_DOMAIN_START_MS, err);
}

/* ---- its target ---- */

static int open_serial(const char *serial, int *out, struct rs_error *err)
{
	*out = -1;
	if (!serial || g_str_equal(serial, "none"))
		return 0;
	if (g_str_equal(serial, "-"))
		*out = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	else
		*out = open(serial, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
	return *out < 0 ? rs_error_set(err, EIO, "%s: %s", serial, g_strerror(errno)) : 0;
}

/* `owned` and its domain are the monitor's then. On failure both are gone. */
static int open_monitor(struct owned *owned, struct rs_monitor **out, struct rs_error *err)
{
	struct rs_domain *domain = owned->domain;
	struct rs_monitor *monitor = rs_domain_monitor_new(domain, NULL);
	int ret = rs_domain_monitor_keep(monitor, on_changed, owned, g_free, err);

	if (ret) {
		rs_monitor_destroy(monitor);
		rs_domain_close(domain);
	} else {
		*out = monitor;
	}
	return ret;
}

static int take(struct start *start, int serial, struct rs_machine *out, struct rs_error *err)
{
	const struct rs_machine_config *config = start->config;
	struct rs_domain *domain = start->domain;
	struct owned *owned = g_new0(struct owned, 1);
	const struct rs_qemu_owner owner = {
		.data = owned,
		.end = end,
		.release = release,
		.dump = dump,
		.serial_fd = serial,
		.serial = RS_TEMPLATE_CONSOLE,
	};
	g_autofree char *via = rs_machine_domain_via(domain);
	g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GArray) pids = rs_host_find_qemus(rs_domain_uuid(domain));
	const struct rs_machine_reach wish = {
		.via = via,
		.run_dir = config->run_dir,
		.name = config->name,
		.memory = {.ring_bytes = config->ring_bytes,
			   .ring_max = config->ring_max,
			   .ring_mode = config->ring_mode,
			   .users = config->users,
			   .origin_ns = config->origin_ns,
			   .anew = true},
	};
	struct rs_machine_device device = {0};
	struct rs_monitor *monitor;
	int ret = rs_machine_find_device(domain, &device, err);

	/* What fails from here on closes the domain's connection, and so ends it. */
	start->domain = NULL;
	owned->domain = domain;
	if (ret) {
		rs_domain_close(domain);
		g_free(owned);
	} else {
		ret = open_monitor(owned, &monitor, err);
	}
	if (!ret)
		ret = rs_machine_reach_qemu(monitor, pids, &device, &owner, &wish, out, lines, err);
	g_free(device.alias);
	g_free(device.memory);
	return ret;
}

int rs_machine_run_domain(const struct rs_machine_config *config, struct rs_machine *out,
			  struct rs_error *err)
{
	struct start start = {.config = config, .watch = -1};
	int serial, ret = open_serial(config->serial, &serial, err);

	if (!ret)
		ret = rs_machine_is_template(config->domain) ? make(&start, err)
							     : start_known(&start, err);
	if (!ret)
		ret = take(&start, serial, out, err);
	if (serial >= 0)
		close(serial);
	rs_domain_close(start.domain);
	/* QEMU and we have it open. */
	if (start.memory)
		rs_leftover_settled(start.memory, start.watch);
	g_free(start.memory);
	return ret;
}
