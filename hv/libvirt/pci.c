/* SPDX-License-Identifier: MIT */
#include "libvirt/pci.h"

#include <errno.h>

#define TIMEOUT_MS 5000
#define DEPTH_MAX 16 /* bridges behind bridges */
#define MEMORY_BAR 2

static JsonObject *object_in(JsonObject *object, const char *name)
{
	JsonNode *node = object ? json_object_get_member(object, name) : NULL;

	return node && JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
}

static JsonArray *array_in(JsonObject *object, const char *name)
{
	JsonNode *node = object ? json_object_get_member(object, name) : NULL;

	return node && JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
}

static JsonObject *object_at(JsonArray *array, guint i)
{
	JsonNode *node = json_array_get_element(array, i);

	return JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
}

static bool number_in(JsonObject *object, const char *name, gint64 *out)
{
	JsonNode *node = object ? json_object_get_member(object, name) : NULL;

	if (!node || !JSON_NODE_HOLDS_VALUE(node) || json_node_get_value_type(node) != G_TYPE_INT64)
		return false;
	*out = json_node_get_int(node);
	return true;
}

static bool is_named(JsonObject *device, const char *id)
{
	JsonNode *node = json_object_get_member(device, "qdev_id");

	return node && JSON_NODE_HOLDS_VALUE(node) &&
	       json_node_get_value_type(node) == G_TYPE_STRING &&
	       g_str_equal(json_node_get_string(node), id);
}

/* In a bus, or behind its bridges. */
static JsonObject *find_device(JsonObject *bus, const char *id, int depth)
{
	JsonArray *devices = array_in(bus, "devices");

	for (guint i = 0; devices && i < json_array_get_length(devices); i++) {
		JsonObject *device = object_at(devices, i), *found;

		if (!device)
			continue;
		if (is_named(device, id))
			return device;
		found = depth < DEPTH_MAX
				? find_device(object_in(device, "pci_bridge"), id, depth + 1)
				: NULL;
		if (found)
			return found;
	}
	return NULL;
}

/* `reply` holds *out. */
static int ask(struct rs_monitor *monitor, const char *id, JsonNode **reply, JsonObject **out,
	       struct rs_error *err)
{
	int ret = rs_monitor_call(monitor, "query-pci", NULL, TIMEOUT_MS, reply, err);
	JsonArray *buses;

	if (ret)
		return ret;
	*out = NULL;
	buses = JSON_NODE_HOLDS_ARRAY(*reply) ? json_node_get_array(*reply) : NULL;
	for (guint i = 0; buses && !*out && i < json_array_get_length(buses); i++)
		*out = find_device(object_at(buses, i), id, 0);
	if (*out)
		return 0;
	json_node_unref(*reply);
	return rs_error_set(err, ENODEV, "QEMU knows no device '%s'", id);
}

int rs_pci_room(struct rs_monitor *monitor, const char *bridge, uint64_t *bytes,
		struct rs_error *err)
{
	JsonObject *device, *range;
	JsonNode *reply;
	gint64 base, limit;
	int ret = ask(monitor, bridge, &reply, &device, err);

	if (ret)
		return ret;
	range = object_in(object_in(object_in(device, "pci_bridge"), "bus"), "prefetchable_range");
	*bytes = 0;
	if (number_in(range, "base", &base) && number_in(range, "limit", &limit) && base > 0 &&
	    limit > base)
		*bytes = (uint64_t)limit - (uint64_t)base + 1;
	json_node_unref(reply);
	return 0;
}

int rs_pci_is_placed(struct rs_monitor *monitor, const char *id, bool *placed, struct rs_error *err)
{
	JsonObject *device;
	JsonArray *regions;
	JsonNode *reply;
	gint64 bar, address;
	int ret = ask(monitor, id, &reply, &device, err);

	if (ret)
		return ret;
	*placed = false;
	regions = array_in(device, "regions");
	for (guint i = 0; regions && i < json_array_get_length(regions); i++) {
		JsonObject *region = object_at(regions, i);

		if (number_in(region, "bar", &bar) && bar == MEMORY_BAR &&
		    number_in(region, "address", &address))
			*placed = address > 0;
	}
	json_node_unref(reply);
	return 0;
}
