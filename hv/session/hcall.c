/* SPDX-License-Identifier: MIT */
/* Requests of the guest. Each comes as a private copy and is judged here. */
#include "session/private.h"

#include <errno.h>
#include <ringside/atomic.h>
#include <ringside/hypercall.h>
#include <rs-trace-escape.h>
#include <stdio.h>
#include <string.h>

/* The request's text as a string, or NULL when it is too long, holds a NUL or is not UTF-8. */
static char *request_text(const struct rs_hcall_request *request, size_t max)
{
	if (request->data_size > RS_HCALL_DATA || request->data_size > max)
		return NULL;
	if (!g_utf8_validate((const char *)request->data, request->data_size, NULL))
		return NULL;
	return g_strndup((const char *)request->data, request->data_size);
}

static void answer(struct rs_hcall_response *response, int result, const char *text)
{
	size_t size = MIN(strlen(text), RS_HCALL_DATA - 1);

	response->result = result;
	memcpy(response->data, text, size);
	response->data[size] = 0;
	response->data_size = (uint32_t)size;
}

static void answer_error(struct rs_hcall_response *response, int ret, const struct rs_error *err)
{
	int result = RS_ERR_REFUSED;

	if (ret == -ENOENT)
		result = RS_ERR_NOT_FOUND;
	else if (ret == -EINVAL || ret == -EBADMSG)
		result = RS_ERR_BAD_ARGUMENT;
	else if (ret == -ENOSPC || ret == -E2BIG)
		result = RS_ERR_TOO_LARGE;
	answer(response, result, err->message);
}

static void switch_events(struct rs_source *source, const struct rs_hcall_request *request,
			  struct rs_hcall_response *response)
{
	g_autofree char *glob = request_text(request, RS_SESSION_MAX_GLOB);
	const struct asker guest = {.owner = source->guest, .source = source};
	struct rs_session_result result = {0};
	struct rs_error err = {0};
	int ret;

	if (!glob) {
		answer(response, RS_ERR_BAD_ARGUMENT, "no glob, or not a text");
		return;
	}
	if (request->number == RS_HCALL_ENABLE)
		ret = rs_events_enable(source->session, &guest, glob, &result, &err);
	else
		ret = rs_events_disable(source->session, &guest, glob, &result, &err);
	if (ret)
		answer_error(response, ret, &err);
	response->values[0] = result.touched;
	rs_session_result_clear(&result);
}

static void set_filter(struct rs_source *source, const struct rs_hcall_request *request,
		       struct rs_hcall_response *response)
{
	g_autofree char *text = request_text(request, RS_HCALL_DATA);
	g_autofree char *glob = NULL, *expression = NULL;
	const struct asker guest = {.owner = source->guest, .source = source};
	struct rs_session_result result = {0};
	struct rs_error err = {0};
	int ret;

	if (!text) {
		answer(response, RS_ERR_BAD_ARGUMENT, "no filter, or not a text");
		return;
	}
	ret = rs_session_split_filter(text, &glob, &expression, &err);
	if (!ret)
		ret = rs_events_set_filter(source->session, &guest, glob, expression, &result,
					   &err);
	if (ret)
		answer_error(response, ret, &err);
	response->values[0] = result.touched;
	rs_session_result_clear(&result);
}

static void query(struct rs_source *source, const struct rs_hcall_request *request,
		  struct rs_hcall_response *response)
{
	const RsTraceEvent *event = NULL;
	uint64_t id = request->args[0];

	if (id < source->region->header.event_capacity)
		event = rs_trace_schema_by_id(source->schema, (guint)id);
	if (!event) {
		answer(response, RS_ERR_NOT_FOUND, "no event has this id");
		return;
	}
	response->values[0] = source->events[id].on;
	response->values[2] = source->events[id].filter != NULL;
}

static void provider_changed(struct rs_source *source, const struct rs_hcall_request *request,
			     struct rs_hcall_response *response)
{
	uint64_t slot = request->args[0];
	bool comes = request->number == RS_HCALL_REGISTER;

	if (slot >= source->region->header.section[RS_SEC_PROVIDERS].count) {
		answer(response, RS_ERR_BAD_ARGUMENT, "no such provider slot");
		return;
	}
	/* A provider that leaves asks before its text goes: its sites are put right first, while its
	 * entry still says LIVE. */
	if (!comes && slot < source->provider_slots &&
	    source->providers[slot].state == RS_PROVIDER_LIVE) {
		rs_source_provider_left(source, (uint32_t)slot);
		rs_session_say_changed(source->session);
		return;
	}
	rs_source_refresh(source);
	if (slot >= source->provider_slots ||
	    (source->providers[slot].state == RS_PROVIDER_LIVE) != comes)
		answer(response, RS_ERR_NOT_FOUND, "the provider's entry does not say so");
}

static void log_line(struct rs_source *source, const struct rs_hcall_request *request,
		     struct rs_hcall_response *response)
{
	g_autofree char *line = NULL;

	if (request->data_size > RS_HCALL_DATA) {
		answer(response, RS_ERR_TOO_LARGE, "too long a line");
		return;
	}
	line = rs_trace_escape((const char *)request->data, request->data_size, NULL);
	rs_source_say(source, "guest: %s", line);
}

void rs_source_hypercall(void *data, uint32_t vcpu, const struct rs_hcall_request *request,
			 struct rs_hcall_response *response)
{
	struct rs_source *source = data;

	switch (request->number) {
	case RS_HCALL_HELLO:
		rs_source_refresh(source);
		if (!source->hello)
			answer(response, RS_ERR_REFUSED, "the guest info cannot be used");
		break;
	case RS_HCALL_REGISTER:
	case RS_HCALL_UNREGISTER:
		provider_changed(source, request, response);
		break;
	case RS_HCALL_ENABLE:
	case RS_HCALL_DISABLE:
		switch_events(source, request, response);
		break;
	case RS_HCALL_SET_FILTER:
		set_filter(source, request, response);
		break;
	case RS_HCALL_QUERY:
		query(source, request, response);
		break;
	case RS_HCALL_LOG:
		log_line(source, request, response);
		break;
	default:
		answer(response, RS_ERR_BAD_NUMBER, "no such hypercall");
		break;
	}
}

int rs_source_nudge(struct rs_source *source, struct rs_error *err)
{
	struct rs_target *target = source->target;
	uint32_t ways = source->hello ? source->info.flags & target->ops->nudges : 0;
	uint32_t vector = source->info.nudge_vector;

	if (source->ended)
		return rs_error_set(err, ESHUTDOWN, "the guest has ended");
	rs_publisher_nudge(source->publisher);
	if (ways & RS_GUEST_NUDGE_VECTOR && vector >= 32 && vector <= 255)
		return target->ops->nudge(target, vector, err);
	if (ways & RS_GUEST_NUDGE_NMI)
		return target->ops->nudge(target, 0, err);
	return rs_error_set(err, ENOTSUP, "this guest cannot be interrupted");
}

/* ---- mailbox: no exit tells us, so the request pages are looked at now and then ---- */

static void end_by_request(struct rs_source *source, const struct rs_hcall_request *request)
{
	struct rs_target_end end = {.reason = RS_END_EXIT};

	if (request->number == RS_HCALL_EXIT) {
		end.code = (int)(request->args[0] & 0xff);
	} else {
		size_t size = MIN(request->data_size, sizeof(end.text) - 1);

		end.reason = RS_END_PANIC;
		memcpy(end.text, request->data, size);
	}
	/* What the guest said stands; the target's own end, which follows, does not replace it. */
	rs_source_set_ended(source, &end);
	source->target->ops->stop(source->target, "the guest has ended");
}

static void answer_mailbox(struct rs_source *source, uint32_t slot, uint32_t sequence,
			   const struct rs_hcall_request *request)
{
	struct rs_hcall_response *shared =
		rs_trace_region_element(source->region, RS_SEC_RESPONSE, slot);
	struct rs_hcall_response response = {0};
	size_t head = offsetof(struct rs_hcall_response, result);

	source->hypercalls++;
	if (request->number == RS_HCALL_EXIT || request->number == RS_HCALL_PANIC) {
		end_by_request(source, request);
	} else {
		rs_source_hypercall(source, slot, request, &response);
		if (response.result == RS_ERR_BAD_NUMBER ||
		    response.result == RS_ERR_BAD_ARGUMENT || response.result == RS_ERR_TOO_LARGE)
			source->bad_hypercalls++;
	}
	memcpy((uint8_t *)shared + head, (uint8_t *)&response + head, sizeof(response) - head);
	/* Pairs with the agent's acquire load while it waits. */
	rs_store_release(&shared->sequence, sequence);
}

bool rs_source_poll_mailboxes(struct rs_source *source)
{
	uint32_t slots = source->region->header.section[RS_SEC_REQUEST].count;
	bool any = false;

	for (uint32_t i = 0; i < slots && !source->ended; i++) {
		struct rs_hcall_request *shared =
			rs_trace_region_element(source->region, RS_SEC_REQUEST, i);
		/* Pairs with the agent's release store: the request is complete. */
		uint32_t sequence = rs_load_acquire(&shared->sequence);
		g_autofree struct rs_hcall_request *copy = NULL;

		if (sequence == source->answered[i])
			continue;
		copy = g_new(struct rs_hcall_request, 1);
		memcpy(copy, shared, sizeof(*copy));
		source->answered[i] = sequence;
		any = true;
		answer_mailbox(source, i, sequence, copy);
	}
	return any;
}
