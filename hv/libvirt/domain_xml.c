/* SPDX-License-Identifier: MIT */
#include "libvirt/domain_xml.h"

#include <errno.h>
#include <string.h>

#define DEPTH_MAX 32u
#define NAME_BYTES 255u /* of a name of shared memory */
#define SLOT_TOP 0x1e   /* slot 0x1f of an express root has the chipset */

struct parse {
	struct rs_domain_xml *xml;
	unsigned int depth;
	const GSList *path;         /* the elements around, the innermost first; during a call */
	struct rs_xml_shmem *shmem; /* within one */
	struct rs_xml_bus *bus;     /* likewise */
	GString *text;              /* of an element whose text counts; NULL: of none */
	char *unit;                 /* of <size> */
	bool is_domain;
};

static void free_shmem(void *data)
{
	struct rs_xml_shmem *shmem = data;

	g_free(shmem->name);
	g_free(shmem->model);
	g_free(shmem->role);
	g_free(shmem->alias);
	g_free(shmem);
}

static void free_bus(void *data)
{
	struct rs_xml_bus *bus = data;

	g_free(bus->model);
	g_free(bus->alias);
	g_free(bus);
}

void rs_domain_xml_free(struct rs_domain_xml *xml)
{
	if (!xml)
		return;
	g_free(xml->type);
	g_free(xml->arch);
	g_free(xml->machine);
	g_ptr_array_unref(xml->shmems);
	g_ptr_array_unref(xml->buses);
	g_array_unref(xml->taken);
	g_free(xml);
}

/* ---- values ---- */

static bool refuse(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);
static bool refuse(GError **error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	*error = g_error_new_valist(G_MARKUP_ERROR, G_MARKUP_ERROR_INVALID_CONTENT, format, args);
	va_end(args);
	return false;
}

static const char *attribute(const char **names, const char **values, const char *name)
{
	for (size_t i = 0; names[i]; i++)
		if (g_str_equal(names[i], name))
			return values[i];
	return NULL;
}

static void take(char **out, const char *value)
{
	g_free(*out);
	*out = g_strdup(value);
}

static bool number(const char *text, guint64 max, guint64 *out, GError **error)
{
	int base = text && g_str_has_prefix(text, "0x") ? 16 : 10;

	if (text && g_ascii_string_to_unsigned(base == 16 ? text + 2 : text, (guint)base, 0, max,
					       out, NULL))
		return true;
	return refuse(error, "'%.40s' is no number up to %" G_GUINT64_FORMAT, text ? text : "",
		      max);
}

/* libvirt's units: bytes, and powers of 1024 and 1000. */
static bool size_in_bytes(const char *text, const char *unit, uint64_t *out, GError **error)
{
	static const struct {
		const char *unit;
		uint64_t bytes;
	} units[] = {{"b", 1},           {"bytes", 1},      {"KB", 1000},       {"k", 1 << 10},
		     {"KiB", 1 << 10},   {"MB", 1000000},   {"M", 1 << 20},     {"MiB", 1 << 20},
		     {"GB", 1000000000}, {"G", 1ull << 30}, {"GiB", 1ull << 30}};
	guint64 value;

	for (size_t i = 0; i < G_N_ELEMENTS(units); i++) {
		if (!g_str_equal(unit ? unit : "b", units[i].unit))
			continue;
		if (!number(text, (1ull << 40) / units[i].bytes, &value, error))
			return false;
		*out = value * units[i].bytes;
		return true;
	}
	return refuse(error, "the unit '%.40s' is unknown", unit);
}

static bool read_address(const char **names, const char **values, struct rs_pci_address *out,
			 GError **error)
{
	static const char *const parts[] = {"domain", "bus", "slot", "function"};
	static const guint64 max[] = {0xffff, 0xff, 0x1f, 7};
	guint64 value[4] = {0};

	for (size_t i = 0; i < G_N_ELEMENTS(parts); i++) {
		const char *text = attribute(names, values, parts[i]);

		if (text && !number(text, max[i], &value[i], error))
			return false;
	}
	*out = (struct rs_pci_address){true, (uint32_t)value[0], (uint32_t)value[1],
				       (uint32_t)value[2], (uint32_t)value[3]};
	return true;
}

/* ---- elements ---- */

/* Whether the innermost elements are NAME, ABOVE and so on, up to <domain>. */
static bool is_at(const struct parse *parse, unsigned int depth, const char *const names[])
{
	const GSList *at = parse->path;

	if (parse->depth != depth)
		return false;
	for (size_t i = 0; names[i]; i++, at = at->next)
		if (!g_str_equal(at->data, names[i]))
			return false;
	return true;
}

#define IS_AT(parse, depth, ...) is_at(parse, depth, (const char *const[]){__VA_ARGS__, NULL})

/* Of the element within <devices> that we are in. */
static bool is_in_device(const struct parse *parse)
{
	return parse->depth == 4 && g_str_equal(parse->path->next->next->data, "devices");
}

static bool begin_shmem(struct parse *parse, const char **names, const char **values,
			GError **error)
{
	const char *name = attribute(names, values, "name");

	if (parse->xml->shmems->len >= RS_XML_DEVICES_MAX)
		return refuse(error, "there are too many shmem devices");
	if (!name || !*name || strlen(name) > NAME_BYTES || strchr(name, '/') ||
	    g_str_equal(name, ".") || g_str_equal(name, ".."))
		return refuse(error, "a shmem device has no valid name");
	parse->shmem = g_new0(struct rs_xml_shmem, 1);
	parse->shmem->name = g_strdup(name);
	parse->shmem->role = g_strdup(attribute(names, values, "role"));
	g_ptr_array_add(parse->xml->shmems, parse->shmem);
	return true;
}

static bool begin_bus(struct parse *parse, const char **names, const char **values, GError **error)
{
	const char *type = attribute(names, values, "type");
	const char *model = attribute(names, values, "model");
	const char *index = attribute(names, values, "index");
	guint64 value;

	if (!type || !g_str_equal(type, "pci") || !model)
		return true;
	if (parse->xml->buses->len >= RS_XML_DEVICES_MAX)
		return refuse(error, "there are too many PCI controllers");
	if (!number(index, 0xff, &value, error))
		return false;
	parse->bus = g_new0(struct rs_xml_bus, 1);
	parse->bus->index = (uint32_t)value;
	parse->bus->model = g_strdup(model);
	g_ptr_array_add(parse->xml->buses, parse->bus);
	return true;
}

static bool begin_address(struct parse *parse, const char **names, const char **values,
			  GError **error)
{
	const char *type = attribute(names, values, "type");
	struct rs_pci_address address;

	if (!type || !g_str_equal(type, "pci"))
		return true;
	if (!read_address(names, values, &address, error))
		return false;
	if (parse->xml->taken->len >= RS_XML_DEVICES_MAX)
		return refuse(error, "there are too many devices");
	g_array_append_val(parse->xml->taken, address);
	if (parse->shmem)
		parse->shmem->address = address;
	return true;
}

static bool begin(struct parse *parse, const char *name, const char **names, const char **values,
		  GError **error)
{
	if (parse->depth == 1) {
		parse->is_domain = g_str_equal(name, "domain");
		take(&parse->xml->type, attribute(names, values, "type"));
		return parse->is_domain || refuse(error, "it is a <%.40s>, not a <domain>", name);
	}
	if (IS_AT(parse, 3, "type", "os")) {
		take(&parse->xml->arch, attribute(names, values, "arch"));
		take(&parse->xml->machine, attribute(names, values, "machine"));
	} else if (IS_AT(parse, 3, "acpi", "features")) {
		parse->xml->acpi = true;
	} else if (IS_AT(parse, 2, "vcpu")) {
		parse->text = g_string_new(NULL);
	} else if (IS_AT(parse, 3, "shmem", "devices")) {
		return begin_shmem(parse, names, values, error);
	} else if (IS_AT(parse, 3, "controller", "devices")) {
		return begin_bus(parse, names, values, error);
	} else if (is_in_device(parse) && g_str_equal(name, "address")) {
		return begin_address(parse, names, values, error);
	} else if (parse->shmem && IS_AT(parse, 4, "model")) {
		take(&parse->shmem->model, attribute(names, values, "type"));
	} else if (parse->shmem && IS_AT(parse, 4, "alias")) {
		take(&parse->shmem->alias, attribute(names, values, "name"));
	} else if (parse->shmem && IS_AT(parse, 4, "size")) {
		take(&parse->unit, attribute(names, values, "unit"));
		parse->text = g_string_new(NULL);
	} else if (parse->bus && IS_AT(parse, 4, "alias")) {
		take(&parse->bus->alias, attribute(names, values, "name"));
	}
	return true;
}

static void on_start(GMarkupParseContext *context, const char *name, const char **names,
		     const char **values, void *data, GError **error)
{
	struct parse *parse = data;

	if (parse->depth >= DEPTH_MAX) {
		refuse(error, "its elements are nested too deeply");
		return;
	}
	if (parse->text) {
		refuse(error, "there is an element in a number");
		return;
	}
	parse->depth++;
	parse->path = g_markup_parse_context_get_element_stack(context);
	begin(parse, name, names, values, error);
}

static bool end_text(struct parse *parse, const char *name, GError **error)
{
	g_autoptr(GString) text = g_steal_pointer(&parse->text);
	const char *value = g_strstrip(text->str);
	guint64 cpus;

	if (parse->depth == 2) {
		if (!number(value, RS_XML_CPUS_MAX, &cpus, error))
			return false;
		parse->xml->cpus = (uint32_t)cpus;
		return true;
	}
	return size_in_bytes(value, parse->unit, &parse->shmem->size, error);
}

static void on_end(GMarkupParseContext *context, const char *name, void *data, GError **error)
{
	struct parse *parse = data;

	if (parse->text && !end_text(parse, name, error))
		return;
	parse->depth--;
	if (parse->depth == 2) {
		parse->shmem = NULL;
		parse->bus = NULL;
	}
}

static void on_text(GMarkupParseContext *context, const char *text, gsize size, void *data,
		    GError **error)
{
	struct parse *parse = data;

	if (!parse->text)
		return;
	if (parse->text->len + size > 64)
		refuse(error, "a number is too long");
	else
		g_string_append_len(parse->text, text, (gssize)size);
}

static void fill_in(char **text)
{
	if (!*text)
		*text = g_strdup("");
}

int rs_domain_xml_parse(const char *text, struct rs_domain_xml **out, struct rs_error *err)
{
	static const GMarkupParser calls = {
		.start_element = on_start, .end_element = on_end, .text = on_text};
	struct parse parse = {.xml = g_new0(struct rs_domain_xml, 1)};
	GMarkupParseContext *context;
	GError *error = NULL;

	parse.xml->shmems = g_ptr_array_new_with_free_func(free_shmem);
	parse.xml->buses = g_ptr_array_new_with_free_func(free_bus);
	parse.xml->taken = g_array_new(FALSE, FALSE, sizeof(struct rs_pci_address));
	context = g_markup_parse_context_new(&calls, 0, &parse, NULL);
	if (g_markup_parse_context_parse(context, text, -1, &error))
		g_markup_parse_context_end_parse(context, &error);
	g_markup_parse_context_free(context);
	if (parse.text)
		g_string_free(parse.text, TRUE);
	g_free(parse.unit);
	if (!error && !parse.xml->cpus)
		refuse(&error, "it has no <vcpu>");
	if (error) {
		rs_domain_xml_free(parse.xml);
		rs_error_set(err, EBADMSG, "the domain's XML: %s", error->message);
		g_error_free(error);
		return -EBADMSG;
	}
	fill_in(&parse.xml->type);
	fill_in(&parse.xml->arch);
	fill_in(&parse.xml->machine);
	*out = parse.xml;
	return 0;
}

/* ---- questions ---- */

const struct rs_xml_shmem *rs_domain_xml_ours(const struct rs_domain_xml *xml)
{
	for (guint i = 0; i < xml->shmems->len; i++) {
		const struct rs_xml_shmem *shmem = xml->shmems->pdata[i];

		if (g_str_has_prefix(shmem->name, RS_SHMEM_PREFIX))
			return shmem;
	}
	return NULL;
}

static bool is_taken(const struct rs_domain_xml *xml, uint32_t bus, int slot)
{
	for (guint i = 0; i < xml->taken->len; i++) {
		const struct rs_pci_address *at =
			&g_array_index(xml->taken, struct rs_pci_address, i);

		if (at->domain == 0 && at->bus == bus && (slot < 0 || at->slot == (uint32_t)slot))
			return true;
	}
	return false;
}

const struct rs_xml_bus *rs_domain_xml_empty_port(const struct rs_domain_xml *xml)
{
	for (guint i = 0; i < xml->buses->len; i++) {
		const struct rs_xml_bus *bus = xml->buses->pdata[i];

		if (g_str_equal(bus->model, "pcie-root-port") && !is_taken(xml, bus->index, -1))
			return bus;
	}
	return NULL;
}

bool rs_domain_xml_is_express(const struct rs_domain_xml *xml)
{
	for (guint i = 0; i < xml->buses->len; i++) {
		const struct rs_xml_bus *bus = xml->buses->pdata[i];

		if (g_str_equal(bus->model, "pcie-root"))
			return true;
	}
	return false;
}

uint32_t rs_domain_xml_free_slot(const struct rs_domain_xml *xml)
{
	for (int slot = SLOT_TOP; slot > 0; slot--)
		if (!is_taken(xml, 0, slot))
			return (uint32_t)slot;
	return 0;
}
