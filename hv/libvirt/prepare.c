/* SPDX-License-Identifier: MIT */
#include "libvirt/prepare.h"

#include "libvirt/domain_xml.h"
#include "libvirt/host.h"
#include "libvirt/monitor.h"
#include "libvirt/pci.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MIB ((uint64_t)1 << 20)
#define PLACED_MS 6000 /* for a guest that takes a device: a Linux has taken 1.3 s */
#define PRESENT_MS 300 /* for one that has it already */
#define GONE_MS 20000  /* for one that is to let it go: PCI Express gives a user 5 s to object */
#define LET_GO_MS 3000 /* for its QEMU, then */
#define LOOK_MS 100
#define QUIET_MS 1000 /* a wait that takes longer is told */
/* By default: so much for each vCPU's ring, and as much again for all else. */
#define CPU_MIB 4u
#define DEFAULT_MIB_MAX 256u
#define PORT_MIB 2u /* what fits behind a port whose room is not known */

#define NEXT_START                                                                                 \
	"'ringside prepare --config' adds it for the domain's next start, and then it may be "     \
	"larger"

struct work {
	struct rs_domain *domain;
	const struct rs_prepare_wish *wish;
	struct rs_domain_status status;
	struct rs_preparation *out;
};

/* ---- results ---- */

static void free_change(void *data)
{
	struct rs_prepared *change = data;

	g_free(change->name);
	g_free(change->element);
	free(change->before);
	free(change->after);
	g_free(change->note);
	g_free(change);
}

static void free_file(void *data)
{
	struct rs_prepared_file *file = data;

	g_free(file->name);
	g_free(file);
}

void rs_preparation_free(struct rs_preparation *preparation)
{
	if (!preparation)
		return;
	g_ptr_array_unref(preparation->changes);
	g_ptr_array_unref(preparation->files);
	g_free(preparation);
}

int rs_preparation_failed(const struct rs_preparation *preparation, struct rs_error *err)
{
	for (guint i = 0; i < preparation->changes->len; i++) {
		const struct rs_prepared *change = preparation->changes->pdata[i];

		if (!change->err.code)
			continue;
		if (err)
			*err = change->err;
		return -change->err.code;
	}
	return 0;
}

/* ---- what is added ---- */

guint64 rs_prepare_default_mib(guint cpus)
{
	guint64 mib = 2 * CPU_MIB;

	while (mib < DEFAULT_MIB_MAX && mib < CPU_MIB + (guint64)CPU_MIB * cpus)
		mib *= 2;
	return mib;
}

/* `role`: may be NULL. libvirt finds a device to take away only if it is the same. */
static char *element_of(const char *name, const char *role, guint64 mib,
			const struct rs_pci_address *at)
{
	g_autofree char *plays = role ? g_markup_printf_escaped(" role='%s'", role) : g_strdup("");
	g_autofree char *place =
		at->known ? g_strdup_printf("  <address type='pci' domain='0x%04x' bus='0x%02x' "
					    "slot='0x%02x' function='0x%x'/>\n",
					    at->domain, at->bus, at->slot, at->function)
			  : g_strdup("");
	g_autofree char *device = g_markup_printf_escaped("<shmem name='%s'", name);
	g_autofree char *body = g_strdup_printf(">\n"
						"  <model type='ivshmem-plain'/>\n"
						"  <size unit='M'>%" G_GUINT64_FORMAT "</size>\n",
						mib);

	return g_strconcat(device, plays, body, place, "</shmem>\n", NULL);
}

/* How much can be plugged into a port of the run, in MiB: a power of two, or 0. */
static guint64 room_of(struct work *work, const struct rs_xml_bus *port)
{
	struct rs_monitor *monitor = rs_domain_monitor_new(work->domain, NULL);
	uint64_t bytes = 0, mib = 1;
	int ret = port->alias ? rs_pci_room(monitor, port->alias, &bytes, NULL) : -ENODEV;

	rs_monitor_destroy(monitor);
	if (ret)
		return PORT_MIB;
	while (2 * mib * MIB <= bytes)
		mib *= 2;
	return bytes < MIB ? 0 : mib;
}

/* The size, where the run's ports decide it. */
static int fit_port(struct work *work, const struct rs_xml_bus *port, guint64 *mib,
		    struct rs_error *err)
{
	guint64 room = room_of(work, port);

	if (!room)
		return rs_error_set(err, ENOSPC,
				    "the guest has left no room behind its empty pcie-root-port: "
				    "its system may not have started yet. " NEXT_START);
	if (!work->wish->mib)
		*mib = MIN(*mib, room);
	else if (*mib > room)
		return rs_error_set(err, ENOSPC,
				    "%" G_GUINT64_FORMAT " MiB cannot be plugged into the running "
				    "guest, which has left room for %" G_GUINT64_FORMAT
				    " MiB behind its pcie-root-port. " NEXT_START,
				    *mib, room);
	return 0;
}

/* On PCI Express: in an empty port, or, before a start, beside the ports. */
static int choose_express(struct work *work, const struct rs_domain_xml *xml, bool inactive,
			  guint64 *mib, struct rs_pci_address *at, struct rs_error *err)
{
	const struct rs_xml_bus *port = rs_domain_xml_empty_port(xml);

	if (port) {
		*at = (struct rs_pci_address){.known = true, .bus = port->index};
		return inactive ? 0 : fit_port(work, port, mib, err);
	}
	if (!inactive)
		return rs_error_set(err, ENOSPC,
				    "no pcie-root-port of the domain is empty, and nothing can be "
				    "plugged in elsewhere while it runs. " NEXT_START);
	*at = (struct rs_pci_address){.known = true, .slot = rs_domain_xml_free_slot(xml)};
	return at->slot ? 0 : rs_error_set(err, ENOSPC, "no PCI slot of the domain is free");
}

static int choose(struct work *work, const struct rs_domain_xml *xml, bool inactive, guint64 *mib,
		  struct rs_pci_address *at, struct rs_error *err)
{
	*at = (struct rs_pci_address){0};
	*mib = work->wish->mib ? work->wish->mib : rs_prepare_default_mib(xml->cpus);
	if (!g_str_equal(xml->arch, "x86_64"))
		return rs_error_set(err, ENOTSUP, "the guest is %s: only x86_64 can be traced",
				    *xml->arch ? xml->arch : "of an unknown architecture");
	if (!xml->buses->len)
		return rs_error_set(err, ENOTSUP, "the machine %s has no PCI bus", xml->machine);
	/* Elsewhere libvirt finds a slot. */
	return rs_domain_xml_is_express(xml) ? choose_express(work, xml, inactive, mib, at, err)
					     : 0;
}

/* ---- waits ---- */

struct wait {
	const struct rs_prepare_wish *wish;
	enum rs_prepare_wait what;
	gint64 tell, end; /* monotonic, us */
	int ms;
	bool told;
};

static struct wait begin_wait(const struct work *work, enum rs_prepare_wait what, int ms)
{
	const gint64 now = g_get_monotonic_time();

	return (struct wait){
		.wish = work->wish,
		.what = what,
		.tell = now + QUIET_MS * G_TIME_SPAN_MILLISECOND,
		.end = now + ms * G_TIME_SPAN_MILLISECOND,
		.ms = ms,
	};
}

/* Waits a moment. False: it has taken long enough. */
static bool wait_on(struct wait *wait)
{
	const gint64 now = g_get_monotonic_time();

	if (now >= wait->end)
		return false;
	if (now >= wait->tell && !wait->told && wait->wish->waiting) {
		wait->wish->waiting(wait->what, (guint)(wait->ms / 1000), wait->wish->data);
		wait->told = true;
	}
	g_usleep(LOOK_MS * 1000);
	return true;
}

/* ---- whether the guest has taken it ---- */

static int read_xml(struct work *work, bool inactive, char **text, struct rs_domain_xml **xml,
		    struct rs_error *err)
{
	int ret = rs_domain_read_xml(work->domain, inactive, text, err);

	return ret ? ret : rs_domain_xml_parse(*text, xml, err);
}

static const struct rs_xml_shmem *find_shmem(const struct rs_domain_xml *xml, const char *name)
{
	for (guint i = 0; i < xml->shmems->len; i++) {
		const struct rs_xml_shmem *shmem = xml->shmems->pdata[i];

		if (g_str_equal(shmem->name, name))
			return shmem;
	}
	return NULL;
}

/* Gives the guest so much time. */
static bool await_place(struct work *work, const char *device, int ms)
{
	struct rs_monitor *monitor = rs_domain_monitor_new(work->domain, NULL);
	struct wait wait = begin_wait(work, RS_PREPARE_WAIT_TAKEN, ms);
	bool placed = false;

	while (!rs_pci_is_placed(monitor, device, &placed, NULL) && !placed && wait_on(&wait))
		;
	rs_monitor_destroy(monitor);
	return placed;
}

/* Waits until the run has no such device any more. */
static bool await_gone(struct work *work, const char *name)
{
	struct wait wait = begin_wait(work, RS_PREPARE_WAIT_GONE, GONE_MS);
	bool there;

	do {
		g_autofree char *text = NULL;
		struct rs_domain_xml *xml = NULL;

		if (read_xml(work, false, &text, &xml, NULL))
			return false;
		there = find_shmem(xml, name) != NULL;
		rs_domain_xml_free(xml);
	} while (there && wait_on(&wait));
	return !there;
}

/* The guest has not made room for it: it is of no use, and is taken away again. */
static int take_back(struct work *work, struct rs_prepared *change)
{
	bool gone = !rs_domain_detach_device(work->domain, change->element, false, NULL) &&
		    await_gone(work, change->name);

	return rs_error_set(
		&change->err, ENOSPC,
		"the guest has given the device no place in its memory: it has no room "
		"for %" G_GUINT64_FORMAT " MiB, or takes no devices while it runs. %s " NEXT_START,
		change->mib,
		gone ? "It was taken away again." : "It is taken away when the guest lets it go.");
}

static int check_place(struct work *work, struct rs_prepared *change)
{
	struct rs_domain_xml *xml = NULL;
	const struct rs_xml_shmem *shmem;
	bool placed;
	int ret = rs_domain_xml_parse(change->after, &xml, &change->err);

	if (ret)
		return ret;
	shmem = find_shmem(xml, change->name);
	if (work->status.state != RS_DOMAIN_RUNNING || !shmem || !shmem->alias) {
		change->note = g_strdup("whether the guest takes it is not known: it is paused");
		placed = true;
	} else {
		placed = await_place(work, shmem->alias, PLACED_MS);
	}
	rs_domain_xml_free(xml);
	return placed ? 0 : take_back(work, change);
}

/* ---- one definition ---- */

static int check_present(struct work *work, const struct rs_xml_shmem *ours,
			 struct rs_prepared *change)
{
	if (work->wish->mib && work->wish->mib != change->mib)
		return rs_error_set(&change->err, EEXIST,
				    "it has a device of %" G_GUINT64_FORMAT
				    " MiB: take that away first, by 'ringside prepare --remove'",
				    change->mib);
	if (!change->inactive && work->status.state == RS_DOMAIN_RUNNING && ours->alias &&
	    !await_place(work, ours->alias, PRESENT_MS))
		return rs_error_set(&change->err, ENOSPC,
				    "it has a device of %" G_GUINT64_FORMAT
				    " MiB, to which the guest has given no place in its memory: "
				    "shut the domain down and start it again",
				    change->mib);
	if (g_strcmp0(ours->role, RS_XML_MASTER))
		change->note = g_strdup("with this device the domain cannot be saved or migrated: "
					"one that is removed and prepared anew can");
	return 0;
}

/* Whether a definition, as it is now, has such memory. In doubt, yes. */
static bool is_defined(struct work *work, bool inactive, const char *name)
{
	g_autofree char *text = NULL;
	struct rs_domain_xml *xml = NULL;
	bool found;

	if (inactive ? !work->status.persistent : work->status.state == RS_DOMAIN_OFF)
		return false;
	if (read_xml(work, inactive, &text, &xml, NULL))
		return true;
	found = find_shmem(xml, name) != NULL;
	rs_domain_xml_free(xml);
	return found;
}

/* Whoever made a file of this name before QEMU would own the guest's trace. */
static int clear_place(struct work *work, struct rs_prepared *change)
{
	int ret;

	if (is_defined(work, false, change->name) || is_defined(work, true, change->name))
		return 0;
	ret = rs_host_remove_shmem(change->name, &change->err);
	if (!ret || ret == -ENOENT) {
		change->err = (struct rs_error){0};
		return 0;
	}
	return rs_error_prefix(&change->err, "somebody has made the domain's memory before it");
}

/* QEMU lets go of the memory somewhat after the device. */
static void remove_in_time(const char *name, struct rs_error *err)
{
	const gint64 end = g_get_monotonic_time() + LET_GO_MS * G_TIME_SPAN_MILLISECOND;

	while (rs_host_remove_shmem(name, err) == -EBUSY && g_get_monotonic_time() < end)
		g_usleep(LOOK_MS * 1000);
	if (!rs_host_remove_shmem(name, err) || err->code == ENOENT)
		*err = (struct rs_error){0};
}

/* A QEMU that takes no device has made the file all the same. The next start makes its own. */
static int refused(struct work *work, struct rs_prepared *change)
{
	const struct rs_error why = change->err;
	struct rs_error unused = {0};

	if (change->inactive)
		return -why.code;
	if (!is_defined(work, false, change->name))
		remove_in_time(change->name, &unused);
	return rs_error_set(&change->err, why.code, "%s. " NEXT_START, why.message);
}

static int add(struct work *work, const struct rs_domain_xml *xml, struct rs_prepared *change)
{
	const struct rs_xml_shmem *ours = rs_domain_xml_ours(xml);
	struct rs_pci_address at;
	int ret;

	if (ours) {
		change->action = RS_PREPARE_PRESENT;
		change->name = g_strdup(ours->name);
		change->mib = ours->size / MIB;
		ret = rs_host_check_shmem(ours->name, rs_domain_name(work->domain),
					  rs_domain_uuid(work->domain), &change->err);
		return ret ? ret : check_present(work, ours, change);
	}
	ret = choose(work, xml, change->inactive, &change->mib, &at, &change->err);
	if (ret)
		return ret;
	change->action = RS_PREPARE_ADDED;
	change->name = rs_host_shmem_name(rs_domain_name(work->domain),
					  rs_domain_uuid(work->domain), change->mib);
	change->element = element_of(change->name, RS_XML_MASTER, change->mib, &at);
	if (work->wish->dry_run)
		return 0;
	ret = clear_place(work, change);
	if (ret)
		return ret;
	ret = rs_domain_attach_device(work->domain, change->element, change->inactive,
				      &change->err);
	if (ret)
		return refused(work, change);
	ret = rs_domain_read_xml(work->domain, change->inactive, &change->after, &change->err);
	return ret || change->inactive ? ret : check_place(work, change);
}

static int take_away(struct work *work, const struct rs_domain_xml *xml, struct rs_prepared *change)
{
	const struct rs_xml_shmem *ours = rs_domain_xml_ours(xml);
	int ret;

	if (!ours) {
		change->action = RS_PREPARE_ABSENT;
		return 0;
	}
	change->action = RS_PREPARE_REMOVED;
	change->name = g_strdup(ours->name);
	change->mib = ours->size / MIB;
	change->element = element_of(ours->name, ours->role, change->mib, &ours->address);
	if (work->wish->dry_run)
		return 0;
	ret = rs_domain_detach_device(work->domain, change->element, change->inactive,
				      &change->err);
	if (ret && !change->inactive)
		rs_error_prefix(&change->err, "it goes when the domain is next shut down");
	if (!ret && !change->inactive && !await_gone(work, change->name))
		ret = rs_error_set(&change->err, EBUSY,
				   "the guest has not let the device go: it goes then, or when the "
				   "domain is next shut down");
	return ret ? ret
		   : rs_domain_read_xml(work->domain, change->inactive, &change->after,
					&change->err);
}

static void do_one(struct work *work, bool inactive)
{
	struct rs_prepared *change = g_new0(struct rs_prepared, 1);
	struct rs_domain_xml *xml = NULL;

	g_ptr_array_add(work->out->changes, change);
	change->inactive = inactive;
	if (read_xml(work, inactive, &change->before, &xml, &change->err))
		return;
	if (work->wish->remove)
		take_away(work, xml, change);
	else
		add(work, xml, change);
	rs_domain_xml_free(xml);
}

/* ---- the files that are left ---- */

static void remove_file(struct work *work, const char *name)
{
	struct rs_prepared_file *file;

	if (is_defined(work, false, name) || is_defined(work, true, name))
		return;
	file = g_new0(struct rs_prepared_file, 1);
	file->name = g_strdup(name);
	g_ptr_array_add(work->out->files, file);
	if (!work->wish->dry_run)
		remove_in_time(name, &file->err);
}

/* Those that are named for this domain, also from earlier runs. */
static void remove_files(struct work *work)
{
	g_autofree char *stem =
		rs_host_shmem_stem(rs_domain_name(work->domain), rs_domain_uuid(work->domain));
	GDir *dir = g_dir_open("/dev/shm", 0, NULL);
	const char *name;

	while (dir && (name = g_dir_read_name(dir)))
		if (rs_host_is_shmem(name, stem))
			remove_file(work, name);
	if (dir)
		g_dir_close(dir);
}

/* ---- the whole ---- */

static int check(const struct work *work, struct rs_error *err)
{
	const struct rs_prepare_wish *wish = work->wish;
	const char *name = rs_domain_name(work->domain);

	if (!rs_domain_is_qemu(work->domain))
		return rs_error_set(err, ENOTSUP, "'%s' on %s is not run by QEMU", name,
				    rs_domain_uri(work->domain));
	if (wish->mib > RS_PREPARE_MIB_MAX || (wish->mib & (wish->mib - 1)))
		return rs_error_set(err, EINVAL,
				    "the size is a power of two from 1 to %u MiB, not "
				    "%" G_GUINT64_FORMAT,
				    RS_PREPARE_MIB_MAX, wish->mib);
	if (wish->live && work->status.state == RS_DOMAIN_OFF)
		return rs_error_set(err, ENOTCONN, "'%s' does not run", name);
	if (wish->config && !work->status.persistent)
		return rs_error_set(err, ENOTSUP,
				    "'%s' is transient: it has no next start, only --live", name);
	return 0;
}

int rs_prepare(struct rs_domain *domain, const struct rs_prepare_wish *wish,
	       struct rs_preparation **out, struct rs_error *err)
{
	struct work work = {.domain = domain, .wish = wish};
	bool both = !wish->live && !wish->config;
	int ret = rs_domain_look(domain, &work.status, err);

	if (!ret)
		ret = check(&work, err);
	if (ret)
		return ret;
	work.out = g_new0(struct rs_preparation, 1);
	work.out->changes = g_ptr_array_new_with_free_func(free_change);
	work.out->files = g_ptr_array_new_with_free_func(free_file);
	if (wish->config || (both && work.status.persistent))
		do_one(&work, true);
	if (wish->live || (both && work.status.state != RS_DOMAIN_OFF))
		do_one(&work, false);
	if (wish->remove)
		remove_files(&work);
	*out = work.out;
	return 0;
}
