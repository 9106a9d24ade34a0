/* SPDX-License-Identifier: MIT */
/*
 * The template is read element by element, and written as it comes, without comments. So what is
 * left out or changed is decided by an element's place, and what depends on its children is added
 * at its end.
 */
#include "libvirt/template.h"

#include "libvirt/domain.h"
#include "libvirt/domain_xml.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define DEPTH_MAX 32u

struct disk {
	bool is_file, has_source, is_read_only, is_floppy, is_cdrom;
	bool is_pluggable; /* its bus takes devices while the guest runs */
};

struct work {
	const struct rs_template_wish *wish;
	const struct rs_domain_xml *xml;
	GString *out;
	const GSList *path; /* the elements around, the innermost first; during a call */
	unsigned int depth;
	unsigned int skip;  /* the depth of an element that is left out with all in it; 0: none */
	bool open;          /* the last begin still lacks its ">" */
	struct disk disk;   /* within one */
	bool is_channel;    /* within one of a unix socket */
	bool has_variables; /* its firmware writes to a file … */
	bool is_stateless;  /* … but this one does not */
	bool has_kernel, has_devices, has_cmdline;
};

static bool refuse(GError **error, int code, const char *format, ...) G_GNUC_PRINTF(3, 4);
static bool refuse(GError **error, int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	*error = g_error_new_valist(G_FILE_ERROR, code, format, args);
	va_end(args);
	return false;
}

/* ---- places ---- */

/* Whether the innermost elements are these, as "disk/devices", and <domain> is around them. */
static bool is_at(const struct work *work, const char *place)
{
	const GSList *at = work->path;
	unsigned int depth = 1;

	for (; *place && at; at = at->next, depth++) {
		size_t length = strcspn(place, "/");

		if (strlen(at->data) != length || strncmp(at->data, place, length))
			return false;
		place += length + (place[length] == '/');
	}
	return !*place && work->depth == depth;
}

static bool is_at_any(const struct work *work, const char *const *places)
{
	for (; *places; places++)
		if (is_at(work, *places))
			return true;
	return false;
}

static const char *attribute(const char **names, const char **values, const char *name)
{
	for (size_t i = 0; names[i]; i++)
		if (g_str_equal(names[i], name))
			return values[i];
	return NULL;
}

static bool is(const char *value, const char *text)
{
	return value && g_str_equal(value, text);
}

/* Replaced by ours, unique, or of a run that is over. */
static bool is_left_out(const struct work *work, const char **names, const char **values)
{
	static const char *const places[] = {"name",
					     "uuid",
					     "on_poweroff",
					     "on_reboot",
					     "on_crash",
					     "mirror/disk/devices",
					     "transient/disk/devices",
					     "mac/interface/devices",
					     "target/interface/devices",
					     "serial/devices",
					     "console/devices",
					     "parallel/devices",
					     NULL};
	static const char *const memory[] = {"memory", "currentMemory", NULL};
	static const char *const cpus[] = {"vcpu", "vcpus", "topology/cpu", NULL};
	const struct rs_template_wish *wish = work->wish;
	const char *type = attribute(names, values, "type");

	if (is_at_any(work, places) || (wish->memory && is_at_any(work, memory)) ||
	    (wish->cpus && is_at_any(work, cpus)) || (wish->append && is_at(work, "cmdline/os")))
		return true;
	if (is_at(work, "shmem/devices"))
		return g_str_has_prefix(attribute(names, values, "name"), RS_SHMEM_PREFIX);
	/* It would write to the host, or listen there. */
	if (is_at(work, "channel/devices"))
		return is(type, "file") || is(type, "pipe") || is(type, "dev") || is(type, "tcp") ||
		       is(type, "udp");
	if (is_at(work, "source/channel/devices"))
		return work->is_channel;
	return is_at(work, "entry/system/sysinfo") && is(attribute(names, values, "name"), "uuid");
}

/* Attributes that are left out, of elements that stay. */
static bool is_dropped(const struct work *work, const char *name)
{
	static const struct {
		const char *place, *name;
	} dropped[] = {{"", "id"},
		       {"graphics/devices", "port"},
		       {"graphics/devices", "tlsPort"},
		       {"graphics/devices", "websocket"},
		       {"graphics/devices", "socket"},
		       {"graphics/devices", "autoport"},
		       {"listen/graphics/devices", "socket"},
		       {"cid/vsock/devices", "address"},
		       {"cid/vsock/devices", "auto"}};

	for (size_t i = 0; i < G_N_ELEMENTS(dropped); i++)
		if (g_str_equal(name, dropped[i].name) && is_at(work, dropped[i].place))
			return true;
	return false;
}

/* ---- what is written ---- */

static void put(struct work *work, const char *format, ...) G_GNUC_PRINTF(2, 3);
static void put(struct work *work, const char *format, ...)
{
	g_autofree char *text = NULL;
	va_list args;

	va_start(args, format);
	text = g_markup_vprintf_escaped(format, args);
	va_end(args);
	if (work->open)
		g_string_append_c(work->out, '>');
	work->open = false;
	g_string_append(work->out, text);
}

/* Right after <domain>. The order of elements does not matter there. */
static void begin_domain(struct work *work)
{
	const struct rs_template_wish *wish = work->wish;
	const char *end = wish->keep_crashed ? "preserve" : "destroy";

	put(work, "<name>%s</name><uuid>%s</uuid>", wish->name, wish->uuid);
	put(work, "<on_poweroff>destroy</on_poweroff><on_reboot>destroy</on_reboot>");
	put(work, "<on_crash>%s</on_crash>", end);
	if (wish->memory)
		put(work, "<memory unit='KiB'>%" PRIu64 "</memory>", wish->memory >> 10);
	if (wish->cpus)
		put(work, "<vcpu>%" PRIu32 "</vcpu>", wish->cpus);
}

/* On PCI Express libvirt would put it behind a bridge. */
static void put_place(struct work *work)
{
	const struct rs_xml_bus *port = rs_domain_xml_empty_port(work->xml);

	if (!rs_domain_xml_is_express(work->xml) && !strstr(work->xml->machine, "q35"))
		return;
	put(work, "<address type='pci' domain='0' bus='0x%02x' slot='0x%02x' function='0'/>",
	    port ? port->index : 0, port ? 0 : rs_domain_xml_free_slot(work->xml));
}

static void begin_devices(struct work *work)
{
	const struct rs_template_wish *wish = work->wish;

	/* There may be several such elements. */
	if (work->has_devices)
		return;
	work->has_devices = true;
	put(work, "<serial type='null'><target port='0'/></serial>");
	put(work, "<shmem name='%s' role='" RS_XML_MASTER "'><model type='ivshmem-plain'/>",
	    wish->memory_name);
	put(work, "<size unit='M'>%" PRIu64 "</size>", wish->memory_mib);
	put_place(work);
	put(work, "</shmem>");
}

/*
 * libvirt plugs such a disk in before the guest begins, and then several domains can lay a file
 * over one, which none of them writes. Where nothing can be plugged in, one has it for itself.
 */
static void end_disk(struct work *work)
{
	const struct disk *disk = &work->disk;

	if (disk->is_cdrom || disk->is_read_only)
		return;
	if (disk->is_floppy)
		put(work, "<readonly/>");
	else if (disk->has_source && disk->is_pluggable && work->xml->acpi)
		put(work, "<transient shareBacking='yes'/>");
	else if (disk->has_source)
		put(work, "<transient/>");
}

/* ---- elements ---- */

static void begin_disk(struct work *work, const char **names, const char **values)
{
	const char *device = attribute(names, values, "device");

	work->disk = (struct disk){
		.is_file = !attribute(names, values, "type") ||
			   is(attribute(names, values, "type"), "file"),
		.is_floppy = is(device, "floppy"),
		.is_cdrom = is(device, "cdrom"),
	};
}

static void learn_disk(struct work *work, const char **names, const char **values)
{
	const char *bus = attribute(names, values, "bus");

	if (is_at(work, "source/disk/devices"))
		work->disk.has_source = true;
	else if (is_at(work, "readonly/disk/devices"))
		work->disk.is_read_only = true;
	else if (is_at(work, "target/disk/devices"))
		work->disk.is_pluggable = is(bus, "virtio") || is(bus, "scsi") || is(bus, "usb");
}

static void learn(struct work *work, const char **names, const char **values)
{
	const char *type = attribute(names, values, "type");

	if (is_at(work, "disk/devices"))
		begin_disk(work, names, values);
	else if (is_at(work, "channel/devices"))
		work->is_channel = is(type, "unix");
	else if (is_at(work, "kernel/os"))
		work->has_kernel = true;
	else if (is_at(work, "loader/os"))
		work->is_stateless |= is(attribute(names, values, "stateless"), "yes");
	else
		learn_disk(work, names, values);
	if (is_at(work, "nvram/os") || (is_at(work, "loader/os") && is(type, "pflash")) ||
	    (is_at(work, "os") && attribute(names, values, "firmware")))
		work->has_variables = true;
}

static bool check(const struct work *work, const char *name, const char **names,
		  const char **values, GError **error)
{
	const char *model = attribute(names, values, "model");

	if (work->depth == 1 && !g_str_equal(name, "domain"))
		return refuse(error, EBADMSG, "it is a <%.40s>, not a <domain>", name);
	if (is_at(work, "shmem/devices") && !attribute(names, values, "name"))
		return refuse(error, EBADMSG, "a shmem device has no name");
	if (is_at(work, "memory/devices") && (is(model, "nvdimm") || is(model, "virtio-pmem")))
		return refuse(error, ENOTSUP, "its memory device '%.40s' would be written", model);
	return true;
}

static void begin_element(struct work *work, const char *name, const char **names,
			  const char **values)
{
	put(work, "<%s", name);
	for (size_t i = 0; names[i]; i++)
		if (!is_dropped(work, names[i]))
			put(work, " %s='%s'", names[i], values[i]);
	if (is_at(work, "graphics/devices") && !is(attribute(names, values, "type"), "sdl"))
		put(work, " autoport='yes'");
	else if (is_at(work, "cid/vsock/devices"))
		put(work, " auto='yes'");
	work->open = true;
	if (work->depth == 1)
		begin_domain(work);
	else if (is_at(work, "devices"))
		begin_devices(work);
}

static void on_start(GMarkupParseContext *context, const char *name, const char **names,
		     const char **values, void *data, GError **error)
{
	struct work *work = data;

	if (++work->depth > DEPTH_MAX) {
		refuse(error, EBADMSG, "its elements are nested too deeply");
		return;
	}
	work->path = g_markup_parse_context_get_element_stack(context);
	if (work->skip || !check(work, name, names, values, error))
		return;
	learn(work, names, values);
	if (is_left_out(work, names, values))
		work->skip = work->depth;
	else
		begin_element(work, name, names, values);
}

static bool end_places(struct work *work, GError **error)
{
	const struct disk *disk = &work->disk;

	if (is_at(work, "disk/devices")) {
		if (!disk->is_file && !disk->is_read_only && !disk->is_cdrom && !disk->is_floppy)
			return refuse(error, ENOTSUP,
				      "a disk that is no file would be written: it needs "
				      "<readonly/>");
		end_disk(work);
	} else if (is_at(work, "os") && work->wish->append && !work->has_cmdline) {
		work->has_cmdline = true;
		put(work, "<cmdline>%s</cmdline>", work->wish->append);
	} else if (work->depth == 1 && !work->has_devices) {
		put(work, "<devices>");
		begin_devices(work);
		put(work, "</devices>");
	}
	return true;
}

static void on_end(GMarkupParseContext *context, const char *name, void *data, GError **error)
{
	struct work *work = data;

	work->path = g_markup_parse_context_get_element_stack(context);
	if (!work->skip && end_places(work, error)) {
		if (work->open)
			g_string_append(work->out, "/>");
		else
			put(work, "</%s>", name);
		work->open = false;
	}
	if (work->skip == work->depth)
		work->skip = 0;
	work->depth--;
}

static void on_text(GMarkupParseContext *context, const char *text, gsize size, void *data,
		    GError **error)
{
	struct work *work = data;
	g_autofree char *copy = NULL;

	/* A new one is made where there is none. */
	work->path = g_markup_parse_context_get_element_stack(context);
	if (work->skip || !work->depth || is_at(work, "genid"))
		return;
	copy = g_strndup(text, size);
	put(work, "%s", copy);
}

/* ---- the whole ---- */

static bool check_whole(const struct work *work, GError **error)
{
	if (work->wish->append && !(work->has_kernel && work->has_cmdline))
		return refuse(error, EINVAL,
			      "its domain boots no <kernel> that a command line could be for");
	if (!work->has_variables || work->is_stateless)
		return true;
	return refuse(error, ENOTSUP,
		      "its firmware keeps variables in a file, which would be left behind: it "
		      "needs <loader stateless='yes'>, or BIOS");
}

static int check_machine(const struct rs_domain_xml *xml, struct rs_error *err)
{
	/* libvirt takes the host's, which is x86_64, where there is none. */
	if (*xml->arch && !g_str_equal(xml->arch, "x86_64"))
		return rs_error_set(err, ENOTSUP, "the guest is %s: only x86_64 can be traced",
				    xml->arch);
	if (g_str_has_prefix(xml->machine, "microvm"))
		return rs_error_set(err, ENOTSUP, "the machine %s has no PCI bus", xml->machine);
	return 0;
}

static int write_all(struct work *work, const char *text, struct rs_error *err)
{
	static const GMarkupParser calls = {
		.start_element = on_start, .end_element = on_end, .text = on_text};
	GMarkupParseContext *context =
		g_markup_parse_context_new(&calls, G_MARKUP_TREAT_CDATA_AS_TEXT, work, NULL);
	GError *error = NULL;
	int code;

	if (g_markup_parse_context_parse(context, text, -1, &error) &&
	    g_markup_parse_context_end_parse(context, &error))
		check_whole(work, &error);
	g_markup_parse_context_free(context);
	if (!error)
		return 0;
	code = error->domain == G_FILE_ERROR ? error->code : EBADMSG;
	rs_error_set(err, code, "%s", error->message);
	g_error_free(error);
	return -code;
}

int rs_template_make(const char *text, const struct rs_template_wish *wish, char **out,
		     struct rs_error *err)
{
	struct work work = {.wish = wish};
	struct rs_domain_xml *xml = NULL;
	int ret;

	if (strlen(text) > RS_DOMAIN_TEXT_MAX)
		return rs_error_set(err, EBADMSG, "it is longer than %u MiB",
				    RS_DOMAIN_TEXT_MAX >> 20);
	ret = rs_domain_xml_parse(text, &xml, err);
	if (ret)
		return ret;
	work.xml = xml;
	work.out = g_string_new(NULL);
	ret = check_machine(xml, err);
	if (!ret)
		ret = write_all(&work, text, err);
	rs_domain_xml_free(xml);
	*out = ret ? *out : g_strdup(work.out->str);
	g_string_free(work.out, TRUE);
	return ret;
}

int rs_template_cpus(const char *text, uint32_t *out, struct rs_error *err)
{
	struct rs_domain_xml *xml;
	int ret = rs_domain_xml_parse(text, &xml, err);

	if (ret)
		return ret;
	*out = xml->cpus;
	rs_domain_xml_free(xml);
	return 0;
}
