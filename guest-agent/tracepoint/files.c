/* SPDX-License-Identifier: MIT */
/* The files of a tracepoint: see ringside/tracepoint.h. */
#include "alone.h"
#include "core.h"
#include "format.h"
#include "out.h"

#include <ringside/tracepoint.h>

/* What an event is called, copied while it was registered. */
struct names {
	uint32_t id;
	bool found;
	bool enabled;
	char text[2 * RS_NAME_MAX]; /* system:name */
};

static uint32_t copy(char *to, const char *from)
{
	uint32_t n = 0;

	for (; from[n]; n++)
		to[n] = from[n];
	return n;
}

static bool take_names(struct rs_event *event, void *data)
{
	struct names *names = data;
	uint32_t n;

	if (rs_load(&event->id) != names->id)
		return true;
	/* rs_agent_register() has checked how long they are. */
	n = copy(names->text, event->info->system);
	names->text[n++] = ':';
	n += copy(names->text + n, event->info->name);
	names->text[n] = 0;
	names->enabled = rs_event_control(event) & RS_EVENT_ENABLED;
	names->found = true;
	return false;
}

static bool look_up(uint32_t id, struct names *names)
{
	names->id = id;
	names->found = false;
	if (id)
		rs_tracepoint_each(take_names, names);
	return names->found;
}

/* ---- reading ---- */

static int end(struct rs_out *out)
{
	rs_put(out, '\n');
	return (int)rs_put_end(out);
}

static int read_filter(uint32_t id, struct rs_out *out)
{
	struct rs_hcall_reply reply = {.text_size = 0};
	int result = rs_alone() ? 0 : rs_agent_query(id, &reply);

	if (result < 0)
		return result;
	rs_put_text(out, reply.values[2] ? reply.text : "none");
	return end(out);
}

struct reading {
	uint32_t id;
	char *out;
	uint32_t size;
	int result;
};

/* Here, since the event stays registered meanwhile. */
static bool read_format(struct rs_event *event, void *data)
{
	struct reading *reading = data;

	if (rs_load(&event->id) != reading->id)
		return true;
	reading->result = rs_format(event->info, reading->id, reading->out, reading->size);
	return false;
}

int rs_tracepoint_read(uint32_t id, enum rs_tracepoint_file file, char *out, uint32_t size)
{
	struct rs_out text = {.out = out, .size = size};
	struct reading reading = {id, out, size, -RS_ENOENT};
	struct names names;

	if (!look_up(id, &names))
		return -RS_ENOENT;
	switch (file) {
	case RS_TRACEPOINT_ENABLE:
		rs_put(&text, names.enabled ? '1' : '0');
		return end(&text);
	case RS_TRACEPOINT_ID:
		rs_put_number(&text, id, 0, ' ');
		return end(&text);
	case RS_TRACEPOINT_FILTER:
		return read_filter(id, &text);
	case RS_TRACEPOINT_FORMAT:
		rs_tracepoint_each(read_format, &reading);
		return reading.result;
	}
	return -RS_EINVAL;
}

/* ---- writing ---- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static int write_filter(const struct names *names, const char *from, uint32_t size,
			struct rs_hcall_reply *reply)
{
	char data[RS_HCALL_DATA];
	uint32_t n = copy(data, names->text);

	if (size > sizeof(data) - n - 2)
		return -RS_E2BIG;
	n += copy(data + n, ": ");
	for (uint32_t i = 0; i < size; i++) {
		if (!from[i])
			return -RS_EINVAL;
		data[n++] = from[i];
	}
	return rs_hypercall(RS_HCALL_SET_FILTER, NULL, data, n, reply);
}

static int write_enable(const struct names *names, bool on, struct rs_hcall_reply *reply)
{
	if (!rs_alone())
		return on ? rs_agent_enable(names->text, reply)
			  : rs_agent_disable(names->text, reply);
	rs_alone_enable(names->id, on);
	return 0;
}

int rs_tracepoint_write(uint32_t id, enum rs_tracepoint_file file, const char *text, uint32_t size,
			struct rs_hcall_reply *reply)
{
	struct names names;
	int result = -RS_EINVAL;

	if (reply)
		__builtin_memset(reply, 0, sizeof(*reply));
	if (!look_up(id, &names))
		return -RS_ENOENT;
	while (size && is_blank(text[size - 1]))
		size--;
	for (; size && is_blank(*text); text++)
		size--;
	switch (file) {
	case RS_TRACEPOINT_ENABLE:
		if (size == 1 && (*text == '0' || *text == '1'))
			result = write_enable(&names, *text == '1', reply);
		break;
	case RS_TRACEPOINT_FILTER:
		result = write_filter(&names, text, size, reply);
		break;
	case RS_TRACEPOINT_ID:
	case RS_TRACEPOINT_FORMAT:
		return -RS_EACCES;
	}
	return result < 0 ? result : 0;
}
