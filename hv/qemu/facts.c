/* SPDX-License-Identifier: MIT */
#include "qemu/facts.h"

#include "qemu/private.h"

#include <errno.h>
#include <string.h>

#define PCI_VENDOR 0x1af4 /* ivshmem's */
#define PCI_DEVICE 0x1110
#define BAR 2
#define BRIDGES_MAX 16u /* one behind the other */

/* ---- members of answers ---- */

static JsonNode *member(JsonObject *object, const char *name)
{
	return object ? json_object_get_member(object, name) : NULL;
}

static bool is_value(JsonNode *node, GType type)
{
	return node && JSON_NODE_HOLDS_VALUE(node) && json_node_get_value_type(node) == type;
}

static const char *text_of(JsonObject *object, const char *name)
{
	JsonNode *node = member(object, name);

	return is_value(node, G_TYPE_STRING) ? json_node_get_string(node) : NULL;
}

/* -1: it has no such number, or a negative one. */
static gint64 number_of(JsonObject *object, const char *name)
{
	JsonNode *node = member(object, name);

	return is_value(node, G_TYPE_INT64) ? MAX(json_node_get_int(node), -1) : -1;
}

static bool truth_of(JsonObject *object, const char *name)
{
	JsonNode *node = member(object, name);

	return is_value(node, G_TYPE_BOOLEAN) && json_node_get_boolean(node);
}

static JsonObject *object_of(JsonNode *node)
{
	return node && JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
}

static JsonArray *array_of(JsonNode *node)
{
	return node && JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
}

static guint length_of(JsonArray *array)
{
	return array ? json_array_get_length(array) : 0;
}

static JsonObject *nth(JsonArray *array, guint i)
{
	return object_of(json_array_get_element(array, i));
}

/* ---- questions ---- */

static int ask(struct rs_monitor *monitor, const char *command, JsonNode **reply,
	       struct rs_error *err)
{
	return rs_monitor_call(monitor, command, NULL, RS_QEMU_TIMEOUT_MS, reply, err);
}

/* A list. */
static int ask_list(struct rs_monitor *monitor, const char *command, JsonNode **reply,
		    struct rs_error *err)
{
	int rc = ask(monitor, command, reply, err);

	if (rc == 0 && !array_of(*reply))
		rc = rs_error_set(err, EPROTO, "QEMU's answer to %s makes no sense", command);
	return rc;
}

static int ask_qom(struct rs_monitor *monitor, const char *command, const char *path,
		   const char *property, JsonNode **reply, struct rs_error *err)
{
	JsonObject *arguments = json_object_new();

	json_object_set_string_member(arguments, "path", path);
	if (property)
		json_object_set_string_member(arguments, "property", property);
	return rs_monitor_call(monitor, command, arguments, RS_QEMU_TIMEOUT_MS, reply, err);
}

int rs_qemu_human(struct rs_monitor *monitor, const char *line, int timeout_ms, char **out,
		  struct rs_error *err)
{
	g_autoptr(JsonNode) reply = NULL;
	JsonObject *arguments = json_object_new();
	int rc;

	json_object_set_string_member(arguments, "command-line", line);
	rc = rs_monitor_call(monitor, "human-monitor-command", arguments, timeout_ms, &reply, err);
	if (rc < 0)
		return rc;
	if (!is_value(reply, G_TYPE_STRING))
		return rs_error_set(err, EPROTO, "QEMU's answer to '%s' makes no sense", line);
	*out = g_strdup(json_node_get_string(reply));
	return 0;
}

/* ---- the machine ---- */

static int find_cpus(struct rs_monitor *monitor, struct rs_qemu_facts *facts, struct rs_error *err)
{
	g_autoptr(JsonNode) cpus = NULL, slots = NULL;
	uint64_t most = 0;
	int rc = ask_list(monitor, "query-cpus-fast", &cpus, err);

	if (rc < 0)
		return rc;
	if (length_of(array_of(cpus)))
		facts->thread = (pid_t)MAX(number_of(nth(array_of(cpus), 0), "thread-id"), 0);
	/* Some machines have no such slots. */
	if (ask_list(monitor, "query-hotpluggable-cpus", &slots, NULL) == 0)
		for (guint i = 0; i < length_of(array_of(slots)); i++)
			most += (uint64_t)MAX(number_of(nth(array_of(slots), i), "vcpus-count"), 0);
	most = MAX(most, length_of(array_of(cpus)));
	facts->vcpus = (uint32_t)CLAMP(most, 1, RS_MAX_CPUS);
	return 0;
}

static int find_machine(struct rs_monitor *monitor, struct rs_qemu_facts *facts,
			struct rs_error *err)
{
	g_autoptr(JsonNode) status = NULL, kvm = NULL, name = NULL;
	int rc = ask(monitor, "query-status", &status, err);

	if (rc == 0)
		rc = ask(monitor, "query-kvm", &kvm, err);
	if (rc == 0)
		rc = ask(monitor, "query-name", &name, err);
	if (rc < 0)
		return rc;
	facts->running = truth_of(object_of(status), "running");
	facts->accel = truth_of(object_of(kvm), "enabled") ? RS_QEMU_KVM : RS_QEMU_TCG;
	facts->name = g_strdup(text_of(object_of(name), "name"));
	return find_cpus(monitor, facts, err);
}

int rs_qemu_facts_stub(struct rs_monitor *monitor, bool *ours, bool *other, struct rs_error *err)
{
	g_autoptr(JsonNode) reply = NULL;
	int rc = ask_list(monitor, "query-chardev", &reply, err);

	*ours = *other = false;
	for (guint i = 0; rc == 0 && i < length_of(array_of(reply)); i++) {
		const char *label = text_of(nth(array_of(reply), i), "label");

		*ours |= g_strcmp0(label, RS_QEMU_STUB) == 0;
		/* QEMU's own label for what -s, -gdb or "gdbserver" has made. */
		*other |= g_strcmp0(label, "gdb") == 0;
	}
	return rc;
}

/* ---- the device ---- */

struct device {
	char *path, *id; /* id: NULL if it has none */
};

static void free_device(gpointer data)
{
	struct device *device = data;

	g_free(device->path);
	g_free(device->id);
	g_free(device);
}

/* Adds the ivshmem devices in one part of QEMU's tree. */
static int list_devices(struct rs_monitor *monitor, const char *folder, bool named,
			GPtrArray *devices, struct rs_error *err)
{
	g_autoptr(JsonNode) reply = NULL;
	int rc = ask_qom(monitor, "qom-list", folder, NULL, &reply, err);

	for (guint i = 0; rc == 0 && i < length_of(array_of(reply)); i++) {
		JsonObject *item = nth(array_of(reply), i);
		const char *name = text_of(item, "name");
		struct device *device;

		if (!name || g_strcmp0(text_of(item, "type"), "child<ivshmem-plain>"))
			continue;
		device = g_new0(struct device, 1);
		device->path = g_strdup_printf("%s/%s", folder, name);
		device->id = named ? g_strdup(name) : NULL;
		g_ptr_array_add(devices, device);
	}
	return rc;
}

static const struct device *choose(const GPtrArray *devices, const char *id, struct rs_error *err)
{
	for (guint i = 0; id && i < devices->len; i++) {
		const struct device *device = devices->pdata[i];

		if (g_strcmp0(device->id, id) == 0)
			return device;
	}
	if (!id && devices->len == 1)
		return devices->pdata[0];
	if (id)
		rs_error_set(err, ENODEV, "the machine has no ivshmem-plain device '%s'", id);
	else if (devices->len)
		rs_error_set(err, ENODEV, "the machine has %u ivshmem-plain devices: name one",
			     devices->len);
	else
		rs_error_set(err, ENODEV,
			     "the machine has no ivshmem-plain device, in whose memory its guest "
			     "could be traced");
	return NULL;
}

static int find_memory(struct rs_monitor *monitor, struct rs_qemu_facts *facts, const char *path,
		       struct rs_error *err)
{
	g_autoptr(JsonNode) link = NULL, file = NULL, size = NULL, share = NULL;
	const char *backend;
	int rc = ask_qom(monitor, "qom-get", path, "memdev", &link, err);

	if (rc < 0)
		return rc;
	backend = is_value(link, G_TYPE_STRING) ? json_node_get_string(link) : NULL;
	if (!backend)
		return rs_error_set(err, EPROTO, "QEMU does not say what memory %s has",
				    facts->device);
	if (ask_qom(monitor, "qom-get", backend, "mem-path", &file, NULL) < 0 ||
	    !is_value(file, G_TYPE_STRING) || !*json_node_get_string(file))
		return rs_error_set(err, ENOTSUP,
				    "the memory of device %s has no file that can be shared: it "
				    "has to be a memory-backend-file",
				    facts->device);
	rc = ask_qom(monitor, "qom-get", backend, "size", &size, err);
	if (rc == 0)
		rc = ask_qom(monitor, "qom-get", backend, "share", &share, err);
	if (rc < 0)
		return rc;
	if (!is_value(share, G_TYPE_BOOLEAN) || !json_node_get_boolean(share))
		return rs_error_set(err, ENOTSUP,
				    "the memory of device %s is not shared (share=on)",
				    facts->device);
	if (!is_value(size, G_TYPE_INT64) || json_node_get_int(size) <= 0)
		return rs_error_set(err, EPROTO, "the size of device %s makes no sense",
				    facts->device);
	facts->memory = g_strdup(json_node_get_string(file));
	facts->size = (uint64_t)json_node_get_int(size);
	return 0;
}

/* Whether that PCI device is the one. One without an id is the only one of its kind. */
static bool is_device(JsonObject *pci, const struct device *device)
{
	JsonObject *id = object_of(member(pci, "id"));

	if (device->id)
		return g_strcmp0(text_of(pci, "qdev_id"), device->id) == 0;
	return number_of(id, "vendor") == PCI_VENDOR && number_of(id, "device") == PCI_DEVICE;
}

/* QEMU lists only the regions that have an address. */
static bool has_address(JsonObject *pci)
{
	JsonArray *regions = array_of(member(pci, "regions"));

	for (guint i = 0; i < length_of(regions); i++) {
		if (number_of(nth(regions, i), "bar") == BAR)
			return true;
	}
	return false;
}

static bool find_address(JsonArray *devices, const struct device *device, unsigned int depth)
{
	for (guint i = 0; depth < BRIDGES_MAX && i < length_of(devices); i++) {
		JsonObject *pci = nth(devices, i);
		JsonObject *bridge = object_of(member(pci, "pci_bridge"));

		if ((is_device(pci, device) && has_address(pci)) ||
		    find_address(array_of(member(bridge, "devices")), device, depth + 1))
			return true;
	}
	return false;
}

static int find_bar(struct rs_monitor *monitor, struct rs_qemu_facts *facts,
		    const struct device *device, struct rs_error *err)
{
	g_autoptr(JsonNode) reply = NULL;
	int rc = ask_list(monitor, "query-pci", &reply, err);

	for (guint i = 0; rc == 0 && i < length_of(array_of(reply)); i++)
		facts->assigned |= find_address(
			array_of(member(nth(array_of(reply), i), "devices")), device, 0);
	return rc;
}

static int find_device(struct rs_monitor *monitor, const char *id, struct rs_qemu_facts *facts,
		       struct rs_error *err)
{
	g_autoptr(GPtrArray) devices = g_ptr_array_new_with_free_func(free_device);
	const struct device *device;
	int rc = list_devices(monitor, "/machine/peripheral", true, devices, err);

	if (rc == 0)
		rc = list_devices(monitor, "/machine/peripheral-anon", false, devices, err);
	if (rc < 0)
		return rc;
	device = choose(devices, id, err);
	if (!device)
		return -ENODEV;
	facts->device = g_strdup(device->id ? device->id : device->path);
	rc = find_memory(monitor, facts, device->path, err);
	return rc ? rc : find_bar(monitor, facts, device, err);
}

int rs_qemu_facts_find(struct rs_monitor *monitor, const char *device, struct rs_qemu_facts *out,
		       struct rs_error *err)
{
	struct rs_qemu_facts facts = {0};
	int rc = find_machine(monitor, &facts, err);

	if (rc == 0)
		rc = find_device(monitor, device, &facts, err);
	if (rc < 0)
		rs_qemu_facts_clear(&facts);
	else
		*out = facts;
	return rc;
}

void rs_qemu_facts_clear(struct rs_qemu_facts *facts)
{
	g_free(facts->name);
	g_free(facts->device);
	g_free(facts->memory);
	*facts = (struct rs_qemu_facts){0};
}
