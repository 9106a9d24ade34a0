/* SPDX-License-Identifier: MIT */
#include "room.h"

#include "../agent/text.h"
#include "region/regions.h"

#include <ringside/control.h>
#include <string.h>

struct room room;

static void keep(const void *record, uint32_t size)
{
	const struct rs_rec_header *header = record;

	room.records++;
	room.id = header->id;
	room.size = size - (guint)sizeof(*header);
	memcpy(room.payload, header + 1, room.size);
}

static void note_panic(const char *why)
{
	g_assert_cmpuint(strlen(why), >, 10);
	room.panics++;
}

static const struct rs_trace_ops ops = {
	.trace_pipe_push_raw_record = keep,
	.text_open = os_text_open,
	.text_close = os_text_close,
	.panic = note_panic,
};

void room_set_up(void)
{
	const struct rs_region_config layout = {.vcpus = 2, .ring_bytes = 1 << 20};
	struct rs_agent_config config = {.ops = &ops,
					 .agent = "provider 1",
					 .name = "provider",
					 .cpu_count = 2,
					 .flags = RS_GUEST_SELF_PATCH};
	struct rs_control *control;

	memset(&room, 0, sizeof(room));
	g_assert_cmpint(rs_region_create(&layout, &room.region, NULL), ==, 0);
	config.region = room.region->map;
	config.region_size = room.region->size;
	g_assert_cmpint(rs_agent_init(&config), ==, 0);
	control = rs_trace_region_section(room.region, RS_SEC_CONTROL, NULL);
	control->flags = RS_CONTROL_SELF_PATCH;
}

void room_tear_down(void)
{
	rs_agent_fini();
	rs_trace_region_free(room.region);
}

void room_switch(const struct rs_agent_provider *provider, const char *name, bool on)
{
	struct rs_control *control = rs_trace_region_section(room.region, RS_SEC_CONTROL, NULL);
	uint32_t *words = rs_trace_region_section(room.region, RS_SEC_EVENT_CTL, NULL);
	guint found = 0;

	for (const struct rs_event *event = provider->first; event; event = event->next) {
		if (!event->id || (name && strcmp(event->info->name, name) != 0))
			continue;
		words[event->id] = on ? RS_EVENT_ENABLED : 0;
		found++;
	}
	g_assert_cmpuint(found, >, 0);
	control->generation++;
	g_assert_cmpint(rs_agent_apply_control(), ==, 0);
}

static const struct rs_field_info *field_of(const struct rs_event *event, const char *name)
{
	for (uint32_t i = 0; i < event->info->field_count; i++) {
		if (strcmp(event->info->fields[i].name, name) == 0)
			return &event->info->fields[i];
	}
	g_assert_not_reached();
}

const void *room_field(const struct rs_agent_provider *provider, const char *name,
		       const char *field, guint *size)
{
	const struct rs_event *event = rs_provider_find(provider, name);
	const struct rs_field_info *info;
	uint32_t locator;

	g_assert_nonnull(event);
	g_assert_cmpuint(event->id, ==, room.id);
	info = field_of(event, field);
	*size = info->size;
	if (info->kind != RS_KIND_DYN_ARRAY && info->kind != RS_KIND_DYN_STRING)
		return room.payload + info->offset;
	memcpy(&locator, room.payload + info->offset, sizeof(locator));
	*size = locator >> 16;
	return room.payload + (locator & 0xffff);
}

guint64 room_number(const struct rs_agent_provider *provider, const char *name, const char *field)
{
	guint size;
	const void *at = room_field(provider, name, field, &size);
	guint64 value = 0;

	g_assert_cmpuint(size, <=, sizeof(value));
	memcpy(&value, at, size);
	return value;
}

char *room_text(const struct rs_agent_provider *provider, const char *name, const char *field)
{
	guint size;
	const char *at = room_field(provider, name, field, &size);

	return g_strndup(at, size);
}
