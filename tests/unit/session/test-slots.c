/* SPDX-License-Identifier: MIT */
#include "session/slots.h"

#include "region/regions.h"
#include <errno.h>
#include <ringside/atomic.h>
#include <string.h>

struct fixture {
	RsTraceRegion *region;
	struct rs_slots *slots;
};

static struct rs_hcall_request *request_in(struct fixture *f, uint32_t slot)
{
	return rs_trace_region_element(f->region, RS_SEC_REQUEST, slot);
}

static struct rs_hcall_response *response_in(struct fixture *f, uint32_t slot)
{
	return rs_trace_region_element(f->region, RS_SEC_RESPONSE, slot);
}

static void boot(struct fixture *f, uint32_t number)
{
	struct rs_guest_info *info = rs_trace_region_section(f->region, RS_SEC_GUEST_INFO, NULL);

	rs_store(&info->boot, number);
}

static void set_up(struct fixture *f, gconstpointer data)
{
	struct rs_region_config config = {.vcpus = 2, .ring_bytes = 65536};
	struct rs_error err = {0};

	g_assert_cmpint(rs_region_create(&config, &f->region, &err), ==, 0);
	f->slots = rs_slots_create(f->region);
	boot(f, 1);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
	rs_slots_destroy(f->slots);
	rs_trace_region_free(f->region);
}

static struct rs_ticket ask(struct fixture *f, uint32_t slot, uint64_t arg)
{
	struct rs_hcall_request *shared = request_in(f, slot), copy;
	struct rs_ticket ticket;

	shared->number = RS_HCALL_WAIT;
	shared->args[0] = arg;
	shared->data_size = 0;
	rs_store_release(&shared->sequence, shared->sequence + 1);
	g_assert_true(rs_slots_fresh(f->slots, slot));
	g_assert_cmpint(rs_slots_take(f->slots, slot, &copy, &ticket), ==, 0);
	g_assert_cmpmem(&copy, sizeof(copy), shared, sizeof(*shared));
	g_assert_false(rs_slots_fresh(f->slots, slot));
	return ticket;
}

static int answer(struct fixture *f, const struct rs_ticket *ticket, uint64_t value)
{
	struct rs_hcall_response response = {.values = {value}};

	return rs_slots_answer(f->slots, ticket, &response);
}

static void expect(struct fixture *f, uint32_t slot, uint32_t sequence, uint64_t value)
{
	g_assert_cmpuint(response_in(f, slot)->sequence, ==, sequence);
	g_assert_cmpuint(response_in(f, slot)->values[0], ==, value);
}

static void test_take(struct fixture *f, gconstpointer data)
{
	uint32_t count = rs_slots_count(f->slots);
	struct rs_hcall_request copy;
	struct rs_ticket ticket;

	g_assert_cmpuint(count, ==, f->region->header.section[RS_SEC_REQUEST].count);
	g_assert_false(rs_slots_fresh(f->slots, 0));
	g_assert_false(rs_slots_fresh(f->slots, count));
	g_assert_cmpint(rs_slots_take(f->slots, 0, &copy, &ticket), ==, -EAGAIN);
	g_assert_cmpint(rs_slots_take(f->slots, count, &copy, &ticket), ==, -ENOENT);
	g_assert_cmpint(rs_slots_take(f->slots, UINT32_MAX, &copy, &ticket), ==, -ENOENT);
	ask(f, count - 1, 1);
	g_assert_cmpint(rs_slots_take(f->slots, count - 1, &copy, &ticket), ==, -EAGAIN);
	/* Too large: nobody sees it, and it is answered. */
	request_in(f, 0)->data_size = RS_HCALL_DATA + 1;
	request_in(f, 0)->sequence = 9;
	g_assert_cmpint(rs_slots_take(f->slots, 0, &copy, &ticket), ==, -EMSGSIZE);
	g_assert_cmpuint(response_in(f, 0)->sequence, ==, 9);
	g_assert_cmpint(response_in(f, 0)->result, ==, -RS_E2BIG);
	g_assert_cmpint(answer(f, &ticket, 1), ==, -ESTALE);
	request_in(f, 0)->data_size = RS_HCALL_DATA;
	request_in(f, 0)->sequence = 10;
	g_assert_cmpint(rs_slots_take(f->slots, 0, &copy, &ticket), ==, 0);
}

/* Requests that another session answered are done, others are new. */
static void test_second_session(struct fixture *f, gconstpointer data)
{
	struct rs_ticket done = ask(f, 0, 1), left = ask(f, 1, 1);

	g_assert_cmpint(answer(f, &done, 1), ==, 0);
	g_assert_cmpint(rs_slots_accept(f->slots, &left), ==, 0);
	rs_slots_destroy(f->slots);
	f->slots = rs_slots_create(f->region);
	g_assert_false(rs_slots_fresh(f->slots, 0));
	g_assert_true(rs_slots_fresh(f->slots, 1));
	/* A ticket of the other session is invalid here. */
	g_assert_cmpint(answer(f, &left, 1), ==, -ESTALE);
}

static void test_out_of_order(struct fixture *f, gconstpointer data)
{
	struct rs_ticket first = ask(f, 0, 1), second = ask(f, 1, 2), never = {.slot = 1u << 31};

	g_assert_cmpint(rs_slots_accept(f->slots, &first), ==, 0);
	g_assert_cmpint(rs_slots_accept(f->slots, &second), ==, 0);
	g_assert_cmpuint(response_in(f, 0)->accepted, ==, first.sequence);
	expect(f, 0, 0, 0);
	g_assert_cmpint(answer(f, &second, 22), ==, 0);
	expect(f, 0, 0, 0);
	g_assert_cmpint(answer(f, &first, 11), ==, 0);
	expect(f, 0, first.sequence, 11);
	expect(f, 1, second.sequence, 22);
	/* Once only, and not what was never asked. */
	g_assert_cmpint(answer(f, &first, 12), ==, -ESTALE);
	g_assert_cmpint(rs_slots_accept(f->slots, &first), ==, -ESTALE);
	g_assert_cmpint(answer(f, &never, 12), ==, -ESTALE);
	expect(f, 0, first.sequence, 11);
	g_assert_cmpuint(rs_slots_dropped(f->slots), ==, 2);
}

/* The guest boots again, silently or with a request in the same slot. */
static void test_reboot(struct fixture *f, gconstpointer data)
{
	struct rs_ticket old = ask(f, 0, 1), older = ask(f, 1, 1), now;

	boot(f, 2);
	g_assert_cmpint(rs_slots_accept(f->slots, &old), ==, -ESTALE);
	g_assert_cmpint(answer(f, &old, 1), ==, -ESTALE);
	expect(f, 0, 0, 0);
	g_assert_cmpuint(response_in(f, 0)->accepted, ==, 0);
	/* Even where the new boot's request has the sequence of the old one's. */
	g_assert_cmpint(answer(f, &older, 1), ==, -ESTALE);
	expect(f, 1, 0, 0);
	/* A boot that comes back does not bring its tickets back. */
	boot(f, 1);
	g_assert_cmpint(answer(f, &older, 1), ==, -ESTALE);
	now = ask(f, 1, 3);
	g_assert_cmpint(answer(f, &now, 33), ==, 0);
	expect(f, 1, now.sequence, 33);
	g_assert_cmpuint(rs_slots_dropped(f->slots), ==, 3);
}

/* The guest has given up and uses the slot for something else. */
static void test_reuse(struct fixture *f, gconstpointer data)
{
	struct rs_ticket first = ask(f, 0, 1), second;

	/* Before we have seen the other request … */
	request_in(f, 0)->sequence++;
	g_assert_cmpint(answer(f, &first, 1), ==, -ESTALE);
	expect(f, 0, 0, 0);
	request_in(f, 0)->sequence--;
	first = ask(f, 0, 1);
	/* … while we hold both … */
	second = ask(f, 0, 2);
	g_assert_cmpint(answer(f, &first, 1), ==, -ESTALE);
	expect(f, 0, 0, 0);
	g_assert_cmpint(answer(f, &second, 22), ==, 0);
	/* … and after the other one has been answered. */
	g_assert_cmpint(answer(f, &first, 1), ==, -ESTALE);
	expect(f, 0, second.sequence, 22);
}

static void test_refuse_all(struct fixture *f, gconstpointer data)
{
	struct rs_ticket done = ask(f, 0, 1), left = ask(f, 1, 1), gone = ask(f, 2, 1);

	g_assert_cmpint(answer(f, &done, 1), ==, 0);
	request_in(f, 2)->sequence++;
	g_assert_cmpuint(rs_slots_refuse_all(f->slots, "over"), ==, 1);
	g_assert_cmpint(response_in(f, 0)->result, ==, 0);
	g_assert_cmpint(response_in(f, 1)->result, ==, -RS_EACCES);
	g_assert_cmpuint(response_in(f, 1)->sequence, ==, left.sequence);
	g_assert_cmpstr((char *)response_in(f, 1)->data, ==, "over");
	g_assert_cmpuint(response_in(f, 2)->sequence, !=, gone.sequence);
	g_assert_cmpuint(rs_slots_refuse_all(f->slots, "over"), ==, 0);
}

/* The first slot and the last. */
static void test_refuse_ends(struct fixture *f, gconstpointer data)
{
	uint32_t last = rs_slots_count(f->slots) - 1;

	ask(f, 0, 1);
	ask(f, last, 1);
	g_assert_cmpuint(rs_slots_refuse_all(f->slots, "over"), ==, 2);
	g_assert_cmpint(response_in(f, 0)->result, ==, -RS_EACCES);
	g_assert_cmpint(response_in(f, last)->result, ==, -RS_EACCES);
}

static void test_response(void)
{
	g_autofree char *text = g_strnfill(RS_HCALL_DATA + 10, 'x');
	struct rs_hcall_response response = {0};

	rs_response_set(&response, -RS_EACCES, text);
	g_assert_cmpint(response.result, ==, -RS_EACCES);
	g_assert_cmpuint(response.data_size, ==, RS_HCALL_DATA - 1);
	g_assert_cmpuint(strlen((char *)response.data), ==, RS_HCALL_DATA - 1);
}

static void test_ends(void)
{
	struct rs_hcall_request request = {.number = RS_HCALL_EXIT, .args = {255}};
	struct rs_target_end end;

	g_assert_true(rs_request_ends(&request, &end));
	g_assert_cmpint(end.reason, ==, RS_END_EXIT);
	g_assert_cmpint(end.code, ==, 255);
	request.args[0] = 256;
	g_assert_false(rs_request_ends(&request, &end));
	request.number = RS_HCALL_PANIC;
	request.data_size = RS_HCALL_DATA;
	memset(request.data, 'x', sizeof(request.data));
	g_assert_true(rs_request_ends(&request, &end));
	g_assert_cmpint(end.reason, ==, RS_END_PANIC);
	g_assert_cmpuint(strlen(end.text), ==, sizeof(end.text) - 1);
	request.number = RS_HCALL_LOG;
	g_assert_false(rs_request_ends(&request, &end));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#define TEST(name, function)                                                                       \
	g_test_add("/slots/" name, struct fixture, NULL, set_up, function, tear_down)
	TEST("take", test_take);
	TEST("second-session", test_second_session);
	TEST("out-of-order", test_out_of_order);
	TEST("reboot", test_reboot);
	TEST("reuse", test_reuse);
	TEST("refuse-all", test_refuse_all);
	TEST("refuse-ends", test_refuse_ends);
	g_test_add_func("/slots/response", test_response);
	g_test_add_func("/slots/ends", test_ends);
	return g_test_run();
}
