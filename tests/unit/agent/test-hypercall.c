/* SPDX-License-Identifier: MIT */
/*
 * Requests one by one, against a host that the test plays at the ring: what it is asked, what the
 * agent makes of any answer, which slot is taken, and how long an answer is waited for.
 */
#define _GNU_SOURCE
#include "core.h"
#include "ports.h"
#include "region/regions.h"

#include <glib.h>
#include <ringside/hypercall.h>
#include <string.h>

#define SLOTS 3u
#define HZ 10u /* so the agent's patience of 5 s is 50 ticks */

static RsTraceRegion *region;
static struct rs_control *control;
static struct rs_guest_info *info;

static uint64_t now;
static uint32_t cpu, rung, slot_rung, relaxed, nudges;
static bool nudged;
/* What the host does when it is rung, and while the agent waits for it. */
static void (*at_ring)(uint32_t slot), (*meanwhile)(void);
static struct rs_hcall_request asked; /* the last one */
static struct rs_hcall_response answer;

static struct rs_hcall_request *request_of(uint32_t slot)
{
	return rs_trace_region_element(region, RS_SEC_REQUEST, slot);
}

static struct rs_hcall_response *response_of(uint32_t slot)
{
	return rs_trace_region_element(region, RS_SEC_RESPONSE, slot);
}

static void answer_now(uint32_t slot)
{
	struct rs_hcall_response *to = response_of(slot);

	answer.sequence = request_of(slot)->sequence;
	answer.accepted = to->accepted;
	*to = answer;
}

static uint64_t op_time(void)
{
	return now;
}
static uint32_t op_cpu(void)
{
	return cpu;
}
static uint32_t op_pid(void)
{
	return 77;
}
static void op_ring(uint32_t slot)
{
	rung++;
	slot_rung = slot;
	asked = *request_of(slot);
	if (at_ring)
		at_ring(slot);
}
static void op_relax(void)
{
	relaxed++;
	now += HZ;
	if (meanwhile)
		meanwhile();
}
static void op_wait_nudge(const uint32_t *nudge, uint32_t seen, bool will_be)
{
	g_assert_true(nudge == &control->nudge);
	g_assert_cmpuint(seen, ==, control->nudge);
	nudges++;
	nudged = will_be;
	now += 1000 * HZ;
	if (meanwhile)
		meanwhile();
}

static const struct rs_trace_ops ringing = {.time_now = op_time,
					    .cpu_id = op_cpu,
					    .current_pid = op_pid,
					    .hypercall_ring = op_ring,
					    .relax = op_relax};

static void set_up_on(uint32_t channel, const struct rs_trace_ops *ops, volatile uint32_t *mmio)
{
	struct rs_region_config config = {
		.vcpus = 1, .ring_bytes = 64 * 1024, .hcall_channel = channel};
	struct rs_agent_config agent = {
		.ops = ops, .cpu_count = 1, .tsc_hz = HZ, .hcall_mmio = mmio};
	struct rs_region_header *header;

	g_assert_cmpint(rs_region_create(&config, &region, NULL), ==, 0);
	header = (struct rs_region_header *)region->map;
	g_assert_cmpuint(header->section[RS_SEC_REQUEST].count, >=, 1);
	for (uint32_t i = 0; i < 2; i++) {
		struct rs_section *s = &header->section[i ? RS_SEC_REQUEST : RS_SEC_RESPONSE];

		g_assert_cmpuint(s->size, >=, SLOTS * s->stride);
		s->count = region->header.section[i ? RS_SEC_REQUEST : RS_SEC_RESPONSE].count =
			SLOTS;
	}
	control = rs_trace_region_section(region, RS_SEC_CONTROL, NULL);
	info = rs_trace_region_section(region, RS_SEC_GUEST_INFO, NULL);
	agent.region = region->map;
	agent.region_size = region->size;
	now = 1000;
	cpu = rung = relaxed = nudges = 0;
	at_ring = answer_now;
	meanwhile = NULL;
	memset(&answer, 0, sizeof(answer));
	g_assert_cmpint(rs_agent_init(&agent), ==, 0);
}

static void set_up(void)
{
	set_up_on(RS_CHANNEL_MAILBOX, &ringing, NULL);
}

static void tear_down(void)
{
	rs_agent_fini();
	rs_trace_region_free(region);
}

/* What the host is asked: all of it, up to the most bytes. */
static void test_request(void)
{
	static const uint32_t sizes[] = {0, 1, RS_HCALL_DATA - 1, RS_HCALL_DATA};
	const uint64_t args[6] = {1, 2, 3, 4, 5, UINT64_MAX};
	uint8_t data[RS_HCALL_DATA + 1];
	uint32_t last = 0;

	set_up();
	for (uint32_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i % 251 + 1);
	for (uint32_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
		memset(request_of(0)->data, 0, RS_HCALL_DATA);
		g_assert_cmpint(rs_hypercall(40 + i, args, data, sizes[i], NULL), ==, 0);
		g_assert_cmpuint(rung, ==, i + 1);
		g_assert_cmpuint(slot_rung, ==, 0);
		g_assert_cmpuint(asked.number, ==, 40 + i);
		g_assert_cmpuint(asked.sequence, !=, last);
		g_assert_cmpmem(asked.args, sizeof(asked.args), args, sizeof(args));
		g_assert_cmpuint(asked.pid, ==, 77);
		g_assert_cmpuint(asked.data_size, ==, sizes[i]);
		g_assert_cmpmem(asked.data, sizes[i], data, sizes[i]);
		if (sizes[i] < RS_HCALL_DATA)
			g_assert_cmpuint(asked.data[sizes[i]], ==, 0);
		last = asked.sequence;
	}
	g_assert_cmpint(rs_hypercall(40, args, data, RS_HCALL_DATA + 1, NULL), ==, -RS_E2BIG);
	g_assert_cmpuint(rung, ==, G_N_ELEMENTS(sizes));
	/* Without arguments they are 0. */
	g_assert_cmpint(rs_hypercall(40, NULL, NULL, 0, NULL), ==, 0);
	for (uint32_t i = 0; i < 6; i++)
		g_assert_cmpuint(asked.args[i], ==, 0);
	g_assert_cmpuint(relaxed, ==, 0);
	tear_down();
}

/* Any answer: the text is cut, and ends. */
static void test_reply(void)
{
	struct rs_hcall_reply reply;
	const uint32_t room = sizeof(reply.text) - 1;
	const uint32_t sizes[] = {0, 1, room - 1, room, room + 1, UINT32_MAX};

	set_up();
	memset(answer.data, 'x', sizeof(answer.data));
	for (uint32_t i = 0; i < 6; i++)
		answer.values[i] = 1ull << 60 | i;
	for (uint32_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
		uint32_t size = MIN(sizes[i], room);

		answer.data_size = sizes[i];
		answer.result = (int32_t)i - 3;
		memset(&reply, 0xee, sizeof(reply));
		g_assert_cmpint(rs_hypercall(40, NULL, NULL, 0, &reply), ==, (int32_t)i - 3);
		g_assert_cmpuint(reply.text_size, ==, size);
		for (uint32_t k = 0; k < sizeof(reply.text); k++)
			g_assert_cmpint(reply.text[k], ==, k < size ? 'x' : 0);
		g_assert_cmpmem(reply.values, sizeof(reply.values), answer.values,
				sizeof(answer.values));
	}
	/* Who is not answered gets nothing of an earlier one. */
	memset(&reply, 0xee, sizeof(reply));
	g_assert_cmpint(rs_hypercall(40, NULL, NULL, RS_HCALL_DATA + 1, &reply), ==, -RS_E2BIG);
	for (uint32_t k = 0; k < sizeof(reply); k++)
		g_assert_cmpint(((uint8_t *)&reply)[k], ==, 0);
	tear_down();
}

/* One's own slot, else the next that is free. Whoever is dying takes his own in any case. */
static void test_slots(void)
{
	struct rs_hcall_ticket tickets[SLOTS];
	struct rs_hcall_reply reply;
	int32_t result;

	set_up();
	for (cpu = 0; cpu < 2 * SLOTS + 1; cpu++) {
		g_assert_cmpint(rs_agent_log(""), ==, 0);
		g_assert_cmpuint(slot_rung, ==, cpu % SLOTS);
	}
	cpu = SLOTS + 1;
	at_ring = NULL;
	for (uint32_t i = 0; i < SLOTS; i++) {
		g_assert_cmpint(rs_hypercall_begin(&tickets[i], 40, NULL, NULL, 0), ==, 0);
		g_assert_cmpint(tickets[i].slot, ==, (cpu + i) % SLOTS);
		g_assert_cmpuint(slot_rung, ==, (cpu + i) % SLOTS);
		g_assert_cmpuint(tickets[i].sequence, ==, asked.sequence);
		g_assert_false(rs_hypercall_poll(&tickets[i], &result, &reply));
	}
	rung = 0;
	g_assert_cmpint(rs_agent_log(""), ==, -RS_EHOSTUNREACH);
	g_assert_cmpint(rs_hypercall_begin(&tickets[0], 40, NULL, NULL, 0), ==, -RS_EHOSTUNREACH);
	g_assert_cmpuint(rung, ==, 0);
	answer.data_size = 2;
	answer.data[0] = answer.data[1] = 'x';
	for (uint32_t i = 0; i < SLOTS; i++) {
		answer.result = (int32_t)i;
		answer_now((uint32_t)tickets[i].slot);
		memset(&reply, 0xee, sizeof(reply));
		g_assert_true(rs_hypercall_poll(&tickets[i], &result, &reply));
		g_assert_cmpint(result, ==, i);
		g_assert_cmpstr(reply.text, ==, "xx");
		/* It alone is free again. */
		g_assert_cmpint(rs_hypercall_begin(&tickets[i], 40, NULL, NULL, 0), ==, 0);
		g_assert_cmpint(tickets[i].slot, ==, (cpu + i) % SLOTS);
	}
	at_ring = answer_now;
	rs_agent_panic("why");
	g_assert_cmpuint(asked.number, ==, RS_HCALL_PANIC);
	g_assert_cmpuint(slot_rung, ==, cpu % SLOTS);
	tickets[0].sequence = asked.sequence; /* it took that slot over, and has given it back */
	for (uint32_t i = 1; i < SLOTS; i++) {
		answer_now((uint32_t)tickets[i].slot);
		g_assert_true(rs_hypercall_poll(&tickets[i], &result, NULL));
	}
	tear_down();
}

/* Neither what was answered last nor what is promised becomes a sequence. */
static void test_sequences(void)
{
	set_up();
	request_of(0)->sequence = 10;
	response_of(0)->sequence = 11;
	response_of(0)->accepted = 12;
	g_assert_cmpint(rs_agent_log(""), ==, 0);
	g_assert_cmpuint(asked.sequence, ==, 13);
	request_of(0)->sequence = 20;
	response_of(0)->sequence = 22;
	response_of(0)->accepted = 21;
	g_assert_cmpint(rs_agent_log(""), ==, 0);
	g_assert_cmpuint(asked.sequence, ==, 23);
	request_of(0)->sequence = 30;
	response_of(0)->accepted = 32;
	g_assert_cmpint(rs_agent_log(""), ==, 0);
	g_assert_cmpuint(asked.sequence, ==, 31);
	request_of(0)->sequence = UINT32_MAX;
	g_assert_cmpint(rs_agent_log(""), ==, 0);
	g_assert_cmpuint(asked.sequence, ==, 0);
	tear_down();
}

static void accept_only(uint32_t slot)
{
	response_of(slot)->accepted = request_of(slot)->sequence;
}
static void accept_another(uint32_t slot)
{
	response_of(slot)->accepted = request_of(slot)->sequence + 1;
}
static void after_a_while(void)
{
	if (relaxed == 100 || nudges == 3)
		answer_now(0);
}
static void ping_and_answer(void)
{
	control->clock_ping += relaxed == 1;
	after_a_while();
}
static void end_session(void)
{
	if (relaxed == 100)
		control->flags |= RS_CONTROL_STOP;
}
static void lose_host(void)
{
	if (relaxed == 100)
		rs_core.host_gone = 1;
}

/* Five seconds without a sign of the host; without end once it has promised an answer. */
static void test_patience(void)
{
	static void (*const silent[])(uint32_t) = {NULL, accept_another};
	static void (*const ends[])(void) = {end_session, lose_host};

	set_up();
	for (uint32_t i = 0; i < G_N_ELEMENTS(silent); i++) {
		at_ring = silent[i];
		relaxed = 0;
		g_assert_cmpint(rs_agent_log(""), ==, -RS_EHOSTUNREACH);
		g_assert_cmpuint(relaxed, ==, 6); /* the sixth makes it more than 5 s */
	}
	/* The slots are free again. */
	at_ring = answer_now;
	g_assert_cmpint(rs_agent_log(""), ==, 0);
	g_assert_cmpuint(slot_rung, ==, 0);
	/* Another patience, or none. A port may have a clock that has not moved. */
	at_ring = NULL;
	rs_core.config.patience_ms = 2000;
	relaxed = 0;
	g_assert_cmpint(rs_agent_log(""), ==, -RS_EHOSTUNREACH);
	g_assert_cmpuint(relaxed, ==, 3);
	at_ring = answer_now;
	g_assert_cmpint(rs_agent_log(""), ==, 0);
	at_ring = NULL;
	rs_core.config.patience_ms = RS_NO_PATIENCE;
	relaxed = 0;
	g_assert_cmpint(rs_agent_log(""), ==, -RS_EHOSTUNREACH);
	g_assert_cmpuint(relaxed, ==, 1);
	/* An answer that comes at once is taken. */
	at_ring = answer_now;
	g_assert_cmpint(rs_agent_log(""), ==, 0);
	rs_core.config.patience_ms = 0;
	/* At an unknown rate it is longer than that. */
	rs_core.config.tsc_hz = 0;
	at_ring = NULL;
	meanwhile = after_a_while;
	relaxed = 0;
	g_assert_cmpint(rs_agent_log(""), ==, 0);
	g_assert_cmpuint(relaxed, ==, 100);
	rs_core.config.tsc_hz = HZ;
	/* Whoever waits looks meanwhile what the host wants. */
	at_ring = accept_only;
	meanwhile = ping_and_answer;
	relaxed = 0;
	g_assert_cmpint(rs_agent_log(""), ==, 0);
	g_assert_cmpuint(relaxed, ==, 100);
	g_assert_cmpuint(info->clock_pong, ==, 1);
	/* An ended session does not answer, nor does a host that is gone. */
	for (uint32_t i = 0; i < G_N_ELEMENTS(ends); i++) {
		meanwhile = ends[i];
		relaxed = 0;
		g_assert_cmpint(rs_agent_log(""), ==, -RS_EHOSTUNREACH);
		g_assert_cmpuint(relaxed, ==, 100);
		control->flags = 0;
	}
	rung = 0;
	g_assert_cmpint(rs_agent_log(""), ==, -RS_EHOSTUNREACH);
	g_assert_cmpuint(rung, ==, 0);
	tear_down();
}

/* What comes late is slept for, if the OS can; what does not come is not. */
static void test_sleep(void)
{
	struct rs_trace_ops sleeping = ringing;

	sleeping.wait_nudge = op_wait_nudge;
	set_up_on(RS_CHANNEL_MAILBOX, &sleeping, NULL);
	at_ring = accept_only;
	meanwhile = after_a_while;
	for (uint32_t i = 0; i < 2; i++) {
		nudges = 0;
		control->nudge = 9 + i;
		control->flags = i ? RS_CONTROL_NUDGES : RS_CONTROL_SELF_PATCH;
		g_assert_cmpint(rs_agent_log(""), ==, 0);
		g_assert_cmpuint(nudges, ==, 3);
		g_assert_cmpint(nudged, ==, i);
	}
	g_assert_cmpuint(relaxed, ==, 0);
	at_ring = NULL;
	meanwhile = NULL;
	g_assert_cmpint(rs_agent_log(""), ==, -RS_EHOSTUNREACH);
	g_assert_cmpuint(nudges, ==, 3);
	tear_down();
}

static void check_text(uint32_t number, const char *text)
{
	g_assert_cmpuint(asked.number, ==, number);
	g_assert_cmpmem(asked.data, asked.data_size, text, strlen(text));
}

/* Each question by its name. */
static void test_questions(void)
{
	g_autofree char *longest = g_strnfill(RS_HCALL_DATA + 2, 't');
	struct rs_hcall_reply reply;
	uint32_t generation = 5;

	set_up();
	answer.values[0] = 8;
	answer.result = 2;
	g_assert_cmpint(rs_agent_enable("a:b", &reply), ==, 2);
	check_text(RS_HCALL_ENABLE, "a:b");
	g_assert_cmpuint(reply.values[0], ==, 8);
	g_assert_cmpint(rs_agent_disable("c", &reply), ==, 2);
	check_text(RS_HCALL_DISABLE, "c");
	g_assert_cmpint(rs_agent_set_filter("c: x == 1", NULL), ==, 2);
	check_text(RS_HCALL_SET_FILTER, "c: x == 1");
	g_assert_cmpint(rs_agent_log("line"), ==, 2);
	check_text(RS_HCALL_LOG, "line");
	g_assert_cmpint(rs_agent_log(NULL), ==, 2);
	check_text(RS_HCALL_LOG, "");
	/* The text is cut. */
	longest[RS_HCALL_DATA] = 0;
	g_assert_cmpint(rs_agent_log(longest), ==, 2);
	check_text(RS_HCALL_LOG, longest);
	longest[RS_HCALL_DATA] = 't';
	g_assert_cmpint(rs_agent_log(longest), ==, 2);
	g_assert_cmpuint(asked.data_size, ==, RS_HCALL_DATA);
	g_assert_cmpint(rs_agent_query(99, &reply), ==, 2);
	check_text(RS_HCALL_QUERY, "");
	g_assert_cmpuint(asked.args[0], ==, 99);
	for (answer.result = -1; answer.result <= 1; answer.result++) {
		g_assert_cmpint(rs_agent_wait_control(&generation), ==, answer.result);
		g_assert_cmpuint(asked.number, ==, RS_HCALL_WAIT);
		g_assert_cmpuint(asked.args[0], ==, answer.result == 1 ? 8 : 5);
		g_assert_cmpuint(generation, ==, answer.result < 0 ? 5 : 8);
	}
	g_assert_cmpint(rs_agent_hello(), ==, 2);
	check_text(RS_HCALL_HELLO, "");
	rs_agent_panic("why");
	check_text(RS_HCALL_PANIC, "why");
	g_assert_cmpuint(info->state, ==, RS_GUEST_PANICKED);
	rs_agent_exit(0x1ff);
	check_text(RS_HCALL_EXIT, "");
	g_assert_cmpuint(asked.args[0], ==, 0xff);
	g_assert_cmpuint(info->exit_code, ==, 0xff);
	g_assert_cmpuint(info->state, ==, RS_GUEST_EXITED);
	rung = 0;
	rs_agent_fini();
	rs_agent_panic("why");
	rs_agent_exit(1);
	g_assert_cmpint(rs_agent_log("line"), ==, -RS_EHOSTUNREACH);
	g_assert_cmpint(rs_agent_hello(), ==, -RS_ENOTCONN);
	g_assert_cmpuint(rung, ==, 0);
	rs_trace_region_free(region);
}

static struct rs_event event;
static struct rs_agent_provider provider = {
	.name = "provider", .events = &event, .events_end = &event + 1};

static void answer_while_known(uint32_t slot)
{
	g_assert_cmpuint(provider.id, !=, 0);
	g_assert_cmpuint(event.id, !=, 0);
	g_assert_cmpuint(asked.args[0], ==, provider.id - 1);
	answer_now(slot);
}

/* The host is told of a provider that is there, once it has been greeted on this region. */
static void test_told(void)
{
	static const struct rs_event_info what = {
		.system = "s", .name = "e", .print = "", .print_args = ""};
	struct rs_agent_config again;

	set_up();
	event.info = &what;
	for (uint32_t i = 0; i < 3; i++) {
		bool greeted = i == 1;

		at_ring = answer_now;
		if (greeted)
			g_assert_cmpint(rs_agent_hello(), ==, 0);
		rung = 0;
		at_ring = answer_while_known;
		g_assert_cmpint(rs_agent_register(&provider), ==, 0);
		g_assert_cmpuint(rung, ==, greeted);
		if (greeted)
			g_assert_cmpuint(asked.number, ==, RS_HCALL_REGISTER);
		g_assert_cmpint(rs_agent_register(&provider), ==, -RS_EBUSY);
		g_assert_cmpint(rs_agent_unregister(&provider), ==, 0);
		g_assert_cmpuint(rung, ==, greeted ? 2 : 0);
		if (greeted)
			g_assert_cmpuint(asked.number, ==, RS_HCALL_UNREGISTER);
		g_assert_cmpuint(provider.id, ==, 0);
		g_assert_cmpuint(event.id, ==, 0);
		g_assert_cmpint(rs_agent_unregister(&provider), ==, -RS_ENOTCONN);
		g_assert_cmpuint(rung, ==, greeted ? 2 : 0);
		if (!greeted)
			continue;
		/* Another boot has greeted nobody. */
		again = rs_core.config;
		rs_agent_fini();
		g_assert_cmpint(rs_agent_init(&again), ==, 0);
	}
	tear_down();
}

static void answer_slot(void)
{
	answer_now(2);
}

/* Where there is no way to the host, the slot is free again. */
static void test_channels(void)
{
	struct rs_trace_ops plain = ringing;
	struct rs_hcall_reply reply;
	volatile uint32_t mmio = 99;

	plain.hypercall_ring = NULL;
	set_up_on(RS_CHANNEL_NONE, &plain, &mmio);
	g_assert_cmpint(rs_agent_log(""), ==, -RS_EHOSTUNREACH);
	g_assert_cmpuint(request_of(0)->sequence, ==, 0);
	tear_down();
	set_up_on(RS_CHANNEL_MMIO, &plain, NULL);
	for (uint32_t i = 0; i < 2 * SLOTS; i++) {
		g_assert_cmpint(rs_hypercall(40, NULL, NULL, 0, &reply), ==, -RS_EHOSTUNREACH);
		g_assert_cmpuint(request_of(0)->sequence, ==, i + 1);
	}
	g_assert_cmpuint(relaxed, ==, 0);
	tear_down();
	set_up_on(RS_CHANNEL_MMIO, &plain, &mmio);
	cpu = 2;
	meanwhile = answer_slot;
	g_assert_cmpint(rs_agent_log(""), ==, 0);
	g_assert_cmpuint(mmio, ==, 2);
	rs_core.header.hcall_channel = RS_CHANNEL_PORT;
	rs_core.header.hcall_addr = 0x511;
	ports.then = answer_slot;
	catch_ports();
	g_assert_cmpint(rs_agent_log(""), ==, 0);
	let_ports_be();
	g_assert_cmpuint(ports.writes, ==, 1);
	g_assert_cmphex(ports.port, ==, 0x511);
	g_assert_cmpuint(ports.value, ==, 2);
	rs_core.header.hcall_channel = RS_CHANNEL_EVENTFD; /* of a doorbell only */
	relaxed = 0;
	g_assert_cmpint(rs_agent_log(""), ==, -RS_EHOSTUNREACH);
	g_assert_cmpuint(relaxed, ==, 0);
	tear_down();
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/agent/hypercall/request", test_request);
	g_test_add_func("/agent/hypercall/reply", test_reply);
	g_test_add_func("/agent/hypercall/slots", test_slots);
	g_test_add_func("/agent/hypercall/sequences", test_sequences);
	g_test_add_func("/agent/hypercall/patience", test_patience);
	g_test_add_func("/agent/hypercall/sleep", test_sleep);
	g_test_add_func("/agent/hypercall/questions", test_questions);
	g_test_add_func("/agent/hypercall/told", test_told);
	g_test_add_func("/agent/hypercall/channels", test_channels);
	return g_test_run();
}
