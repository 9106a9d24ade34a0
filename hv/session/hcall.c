/* SPDX-License-Identifier: MIT */
/* Carries out requests of the guest. Each is a private copy, which is checked here. */
#include "session/private.h"
#include "session/slots.h"

#include <errno.h>
#include <ringside/hypercall.h>
#include <rs-trace-escape.h>
#include <string.h>

#define LOG_LINE 300u /* bytes of a line that a guest logs; more are cut */

/* The request's text as a string. NULL: it holds a NUL, or is not UTF-8. */
static char *request_text(const struct rs_hcall_request *request)
{
	if (!g_utf8_validate((const char *)request->data, request->data_size, NULL))
		return NULL;
	return g_strndup((const char *)request->data, request->data_size);
}

static void answer_error(struct rs_hcall_response *response, int ret, const struct rs_error *err)
{
	int result = -RS_EACCES;

	if (ret == -ENOENT)
		result = -RS_ENOENT;
	else if (ret == -EINVAL || ret == -EBADMSG)
		result = -RS_EINVAL;
	else if (ret == -ENOSPC || ret == -E2BIG)
		result = -RS_E2BIG;
	rs_response_set(response, result, err->message);
}

bool rs_source_ask(struct rs_source *source, struct rs_asking *asking,
		   struct rs_hcall_response *response)
{
	struct rs_session_result result = {0};
	struct rs_error err = {0};
	int ret = rs_asking_go_on(asking, &result, &err);

	if (ret < 0)
		answer_error(response, ret, &err);
	response->values[0] = result.touched;
	rs_session_result_clear(&result);
	return ret != 1;
}

/* As rs_source_serve(). */
static bool ask(struct rs_source *source, const struct rs_session_ask *ask,
		const struct rs_ticket *ticket, struct rs_hcall_response *response)
{
	const struct asker guest = {.owner = source->guest, .source = source};
	struct rs_asking *asking = rs_asking_new(source->session, &guest, ask);

	if (!rs_source_ask(source, asking, response)) {
		rs_source_wait_asking(source, ticket, asking);
		return false;
	}
	rs_asking_free(asking);
	return rs_source_wait_patched(source, ticket, response);
}

static bool switch_events(struct rs_source *source, const struct rs_hcall_request *request,
			  const struct rs_ticket *ticket, struct rs_hcall_response *response)
{
	bool on = request->number == RS_HCALL_ENABLE;
	g_autofree char *glob = request_text(request);

	if (glob)
		return ask(source,
			   &(struct rs_session_ask){.kind = on ? RS_ASK_ENABLE : RS_ASK_DISABLE,
						    .glob = glob},
			   ticket, response);
	rs_response_set(response, -RS_EINVAL, "no glob, or not a text");
	return true;
}

static bool set_filter(struct rs_source *source, const struct rs_hcall_request *request,
		       const struct rs_ticket *ticket, struct rs_hcall_response *response)
{
	g_autofree char *text = request_text(request);
	g_autofree char *glob = NULL, *expression = NULL;
	struct rs_error err = {0};
	int ret;

	if (!text) {
		rs_response_set(response, -RS_EINVAL, "no filter, or not a text");
		return true;
	}
	ret = rs_session_split_filter(text, &glob, &expression, &err);
	if (!ret)
		return ask(source,
			   &(struct rs_session_ask){
				   .kind = RS_ASK_FILTER, .glob = glob, .expression = expression},
			   ticket, response);
	answer_error(response, ret, &err);
	return true;
}

static void query(struct rs_source *source, const struct rs_hcall_request *request,
		  struct rs_hcall_response *response)
{
	const RsTraceEvent *event = NULL;
	uint64_t id = request->args[0];
	const char *filter;

	if (id < source->region->header.event_capacity)
		event = rs_trace_schema_by_id(source->schema, (guint)id);
	if (!event) {
		rs_response_set(response, -RS_ENOENT, "no event has this id");
		return;
	}
	response->values[0] = source->events[id].on;
	filter = rs_event_filter(source, (uint32_t)id);
	rs_response_set(response, 0, filter ? filter : "");
	response->values[2] = filter != NULL;
}

/* The guest fires the event next, and its callbacks are to be called. */
static bool set_called(struct rs_source *source, const struct rs_hcall_request *request,
		       const struct rs_ticket *ticket, struct rs_hcall_response *response)
{
	uint64_t id = request->args[0], number = request->args[1], called = request->args[2];
	const RsTraceEvent *event = NULL;
	struct rs_error err = {0};
	int ret;

	if (id < source->region->header.event_capacity)
		event = rs_trace_schema_by_id(source->schema, (guint)id);
	if (number > UINT16_MAX || called > 1) {
		rs_response_set(response, -RS_EINVAL, "not a number, or not 0 or 1");
		return true;
	}
	if (event && rs_event_coming(source, event)) {
		rs_source_note_called(source, (uint32_t)id, (uint16_t)number, called);
		return rs_source_wait_look(source, request, ticket, response);
	}
	if (!event || !rs_event_usable(source, event)) {
		rs_response_set(response, -RS_ENOENT, "no event has this id");
		return true;
	}
	ret = rs_source_set_called(source, (uint32_t)id, (uint16_t)number, called, &err);
	if (ret)
		answer_error(response, ret, &err);
	rs_session_say_changed(source->session);
	return rs_source_wait_patched(source, ticket, response);
}

static bool is_seen(const struct rs_source *source, uint64_t slot, bool live)
{
	return slot < source->provider_slots &&
	       (source->providers[slot].state == RS_PROVIDER_LIVE) == live;
}

void rs_source_answer_look(struct rs_source *source, uint32_t number, uint64_t slot,
			   struct rs_hcall_response *response)
{
	bool comes = number == RS_HCALL_REGISTER;

	if (number == RS_HCALL_HELLO && !source->hello)
		rs_response_set(response, -RS_EACCES, "the guest info cannot be used");
	else if (number != RS_HCALL_HELLO && number != RS_HCALL_CALLBACKS &&
		 !is_seen(source, slot, comes))
		rs_response_set(response, -RS_ENOENT, "the provider's entry does not say so");
}

/* The guest waits for this answer, and its events have to be on by then. */
static bool look(struct rs_source *source, const struct rs_hcall_request *request,
		 const struct rs_ticket *ticket, struct rs_hcall_response *response)
{
	rs_source_refresh(source);
	return rs_source_wait_look(source, request, ticket, response);
}

static bool provider_changed(struct rs_source *source, const struct rs_hcall_request *request,
			     const struct rs_ticket *ticket, struct rs_hcall_response *response)
{
	uint64_t slot = request->args[0];
	bool comes = request->number == RS_HCALL_REGISTER;

	if (slot >= source->region->header.section[RS_SEC_PROVIDERS].count) {
		rs_response_set(response, -RS_EINVAL, "no such provider slot");
		return true;
	}
	/* A provider that leaves asks before its text goes. Its entry still says LIVE: restore its
	 * sites first. */
	if (!comes && is_seen(source, slot, true)) {
		rs_source_provider_left(source, (uint32_t)slot, true);
		rs_session_say_changed(source->session);
		return !source->patching || rs_source_wait_look(source, request, ticket, response);
	}
	return look(source, request, ticket, response);
}

static bool hello(struct rs_source *source, const struct rs_hcall_request *request,
		  const struct rs_ticket *ticket, struct rs_hcall_response *response)
{
	bool now = look(source, request, ticket, response);

	if (source->hello) /* an agent that was seen before its hello looks only now */
		rs_clock_check(source->clock);
	return now;
}

static void log_line(struct rs_source *source, const struct rs_hcall_request *request)
{
	const uint32_t size = MIN(request->data_size, LOG_LINE);
	g_autofree char *line = rs_trace_escape((const char *)request->data, size, NULL);
	g_autofree char *cut = NULL;

	rs_turn_add(&source->session->turn, (uint64_t)size * RS_WORK_LOG);
	if (size < request->data_size)
		cut = g_strdup_printf(" ... (%u more bytes)", request->data_size - size);
	rs_source_say(source, "guest: %s%s", line, cut ? cut : "");
}

bool rs_source_serve(struct rs_source *source, const struct rs_hcall_request *request,
		     const struct rs_ticket *ticket, struct rs_hcall_response *response)
{
	switch (request->number) {
	case RS_HCALL_HELLO:
		return hello(source, request, ticket, response);
	case RS_HCALL_REGISTER:
	case RS_HCALL_UNREGISTER:
		return provider_changed(source, request, ticket, response);
	case RS_HCALL_ENABLE:
	case RS_HCALL_DISABLE:
		return switch_events(source, request, ticket, response);
	case RS_HCALL_SET_FILTER:
		return set_filter(source, request, ticket, response);
	case RS_HCALL_QUERY:
		query(source, request, response);
		break;
	case RS_HCALL_LOG:
		log_line(source, request);
		break;
	case RS_HCALL_EXIT: /* rs_request_ends() has taken all valid ones */
		rs_response_set(response, -RS_EINVAL, "exit code above 255");
		break;
	case RS_HCALL_CALLBACKS:
		return set_called(source, request, ticket, response);
	case RS_HCALL_COMMAND:
		return rs_source_serve_commands(source, request, ticket, response);
	case RS_HCALL_NEWS:
		rs_source_take_news(source, request);
		break;
	case RS_HCALL_WAIT:
		return rs_source_wait_control(source, request, ticket, response);
	default:
		rs_response_set(response, -RS_ENOSYS, "no such hypercall");
		break;
	}
	return true;
}
