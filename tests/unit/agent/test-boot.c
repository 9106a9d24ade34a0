/* SPDX-License-Identifier: MIT */
/* What an agent says of itself when it attaches, what it takes over, and what it leaves behind. */
#define _GNU_SOURCE
#include "arch.h"
#include "core.h"
#include "region/regions.h"
#include <rs-trace-page.h>
#include <rs-trace-ring.h>

#include <glib.h>
#include <string.h>
#include <unistd.h>

static RsTraceRegion *region;
static struct rs_control *control;
static struct rs_guest_info *info;
static uint32_t rings; /* one for each CPU that we may run on */

static const struct rs_event_info what = {
	.system = "test", .name = "event", .print = "", .print_args = ""};
static struct rs_event event = {.info = &what};
static struct rs_agent_provider provider = {
	.name = "boot-test", .events = &event, .events_end = &event + 1};

static void set_up(void)
{
	struct rs_region_config config = {
		.vcpus = rings, .ring_bytes = 16 * 1024, .hcall_channel = RS_CHANNEL_MAILBOX};

	g_assert_cmpint(rs_region_create(&config, &region, NULL), ==, 0);
	control = rs_trace_region_section(region, RS_SEC_CONTROL, NULL);
	info = rs_trace_region_section(region, RS_SEC_GUEST_INFO, NULL);
}

static void tear_down(void)
{
	rs_agent_fini();
	rs_trace_region_free(region);
}

static int boot(struct rs_agent_config config)
{
	config.region = region->map;
	config.region_size = region->size;
	return rs_agent_init(&config);
}

/* ---- ops, of which each test has some ---- */

static uint32_t asked, rung, number = 1;
static uint64_t magic_then;

static uint64_t os_time(void)
{
	static uint64_t now = 1000;

	asked++;
	magic_then = info->magic;
	return ++now;
}
static uint32_t os_number(void)
{
	asked++;
	return number;
}
static const char *os_comm(void)
{
	static char comm[RS_COMM_LEN];

	asked++;
	comm[0] = (char)('a' + number);
	return comm;
}
static void os_ring(uint32_t slot)
{
	rung++; /* and nobody answers */
}

/* ---- what it says ---- */

static void test_info(void)
{
	static const uint8_t zeros[sizeof(info->reserved1)];
	struct rs_trace_ops ops = {.time_now = os_time};
	struct rs_agent_config config = {
		.ops = &ops,
		.agent = "agent 1",
		.name = "guest 1",
		.cpu_count = 2,
		.flags = RS_GUEST_SELF_PATCH,
		.nudge_vector = 0xf0,
		.tsc_hz = 12345678901,
		.page_table_root = 0x123456789000,
		.owner_pid = 77,
	};

	set_up();
	memset(info, 0xee, sizeof(*info)); /* of whatever was there before */
	info->magic = RS_GUEST_MAGIC;
	memset(info->boots, 0, sizeof(info->boots));
	info->provider_slots = 0;
	info->provider_changes = 11;
	info->cmdline_changes = 22;
	control->clock_ping = 33;
	control->clock_chain = 4;
	g_assert_cmpint(boot(config), ==, 0);
	g_assert_cmphex(info->magic, ==, RS_GUEST_MAGIC);
	g_assert_cmphex(magic_then, ==, 0); /* nobody took it for complete before */
	g_assert_cmpuint(info->abi_major, ==, RS_ABI_MAJOR);
	g_assert_cmpuint(info->abi_minor, ==, RS_ABI_MINOR);
	g_assert_cmpuint(info->arch, ==, RS_ARCH);
	g_assert_cmpuint(info->features, ==, 0);
	g_assert_cmphex(info->session_id, ==, region->header.session_id);
	g_assert_cmpuint(info->boot, ==, 1);
	g_assert_cmpuint(info->flags, ==,
			 RS_GUEST_SELF_PATCH | RS_GUEST_PREEMPTIBLE | RS_GUEST_STACKS |
				 RS_GUEST_RING_MODE | RS_GUEST_RING_SHAPE);
	g_assert_cmpuint(info->state, ==, RS_GUEST_RUNNING);
	g_assert_cmpuint(info->cpu_count, ==, 2);
	g_assert_cmpuint(info->exit_code, ==, 0);
	g_assert_cmpuint(info->nudge_vector, ==, 0xf0);
	g_assert_cmpuint(info->tsc_hz, ==, 12345678901);
	g_assert_cmphex(info->page_table_root, ==, 0x123456789000);
	g_assert_cmpuint(info->paging, ==, RS_ARCH_PAGING);
	g_assert_cmpuint(info->provider_changes, ==, 11);
	g_assert_cmpuint(info->cmdline_changes, ==, 22);
	g_assert_cmpuint(info->applied_generation, ==, 0);
	g_assert_cmpuint(info->lost_no_ring + info->lost_nested, ==, 0);
	g_assert_cmpuint(info->owner_pid, ==, 77);
	g_assert_cmpuint(info->clock_pong, ==, 33);
	g_assert_cmpuint(info->clock_ts, >, 1000);
	g_assert_cmpmem(info->reserved1, sizeof(info->reserved1), zeros, sizeof(info->reserved1));
	g_assert_cmpuint(info->boots[1].boot, ==, 1);
	g_assert_cmpuint(info->boots[1].ts, >, 1000);
	g_assert_cmpuint(info->boots[1].chain, ==, 4);
	g_assert_cmpuint(info->boots[0].boot, ==, 0);
	g_assert_cmpstr(info->agent, ==, "agent 1");
	g_assert_cmpstr(info->name, ==, "guest 1");
	tear_down();
}

static void test_paging(void)
{
	static const struct {
		uint64_t root;
		uint32_t paging, said;
	} cases[] = {
		{0, RS_PAGING_NONE, RS_PAGING_NONE},
		{0, RS_ARCH_PAGING + 1, RS_ARCH_PAGING + 1},
		{0x1000, RS_PAGING_NONE, RS_ARCH_PAGING},
		{0x1000, RS_ARCH_PAGING + 1, RS_ARCH_PAGING + 1},
	};

	for (uint32_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		set_up();
		g_assert_cmpint(boot((struct rs_agent_config){.page_table_root = cases[i].root,
							      .paging = cases[i].paging}),
				==, 0);
		g_assert_cmpuint(info->paging, ==, cases[i].said);
		tear_down();
	}
}

/* A text is cut at the room for it, with its NUL. */
static void test_texts(void)
{
	char longest[RS_LABEL_LEN + 2], cut[RS_LABEL_LEN] = {0};

	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = 0;
	memset(cut, 'x', sizeof(cut) - 1);
	for (uint32_t size = RS_LABEL_LEN + 1; size >= RS_LABEL_LEN - 2; size--) {
		longest[size] = 0;
		if (size < RS_LABEL_LEN - 1)
			cut[size] = 0;
		set_up();
		g_assert_cmpint(boot((struct rs_agent_config){.agent = longest, .name = NULL}), ==,
				0);
		g_assert_cmpmem(info->agent, sizeof(info->agent), cut, sizeof(cut));
		g_assert_cmpstr(info->name, ==, "");
		tear_down();
	}
}

/* ---- what it takes over ---- */

/* Boots are counted while the region stays as it was laid out. */
static void test_count(void)
{
	set_up();
	for (uint32_t n = 1; n < 20; n++) {
		g_assert_cmpint(boot((struct rs_agent_config){0}), ==, 0);
		g_assert_cmpuint(info->boot, ==, n);
		g_assert_cmpuint(rs_core.rings.boot, ==, n);
		for (uint32_t i = 0; i < RS_BOOTS && i < n; i++)
			g_assert_cmpuint(info->boots[(n - i) % RS_BOOTS].boot, ==, n - i);
		rs_agent_fini();
	}
	info->session_id++;
	g_assert_cmpint(boot((struct rs_agent_config){0}), ==, 0);
	g_assert_cmpuint(info->boot, ==, 1);
	tear_down();
}

/* Every ring can be written to: it goes on where the boot before stopped. */
static void test_rings(void)
{
	struct rs_ring_state *states;

	set_up();
	states = rs_trace_region_section(region, RS_SEC_RING_STATE, NULL);
	g_assert_cmpint(boot((struct rs_agent_config){0}), ==, 0);
	g_assert_cmpuint(rs_core.rings.count, ==, rings);
	for (uint32_t i = 0; i < rings; i++)
		g_assert_cmphex(states[i].word, ==, RS_WORD_INITIAL(rs_core.rings.units));
	rs_agent_fini();
	g_assert_cmpuint(rs_core.rings.count, ==, 0);
	tear_down();
}

/* A host that was gone may be back with a new boot, and has to be greeted again. */
static void test_host(void)
{
	struct rs_trace_ops ops = {.hypercall_ring = os_ring};
	struct rs_agent_config config = {.ops = &ops, .tsc_hz = 1};

	g_assert_cmpint(rs_agent_hello(), ==, -RS_ENOTCONN);
	set_up();
	for (uint32_t i = 0; i < 2; i++) {
		rung = 0;
		g_assert_cmpint(boot(config), ==, 0);
		g_assert_cmpint(rs_agent_register(&provider), ==, 0);
		g_assert_cmpint(rs_agent_unregister(&provider), ==, 0);
		g_assert_cmpuint(rung, ==, 0);
		g_assert_cmpint(rs_agent_hello(), ==, -RS_EHOSTUNREACH);
		g_assert_cmpuint(rung, ==, 1);
		g_assert_cmpint(rs_agent_register(&provider), ==, 0);
		g_assert_cmpuint(rung, ==, 2);
		g_assert_cmpint(rs_agent_unregister(&provider), ==, 0);
		g_assert_cmpuint(rung, ==, 3);
		rs_agent_host_gone();
		g_assert_cmpint(rs_agent_log("anybody?"), ==, -RS_EHOSTUNREACH);
		g_assert_cmpuint(rung, ==, 3);
		rs_agent_fini();
	}
	tear_down();
}

/* ---- which ops are asked ---- */

static void emit(void)
{
	uint64_t entry = 0;

	rs_emit_8(&event, &entry, 8);
}

/* The ops go with their boot, and a thread tells each boot its name. */
static void test_no_ops(void)
{
	for (uint32_t i = 0; i < 2; i++) {
		set_up();
		asked = 0;
		g_assert_cmpint(boot((struct rs_agent_config){0}), ==, 0);
		g_assert_true(rs_core.plain == rs_port_restartable());
		g_assert_cmpint(rs_agent_register(&provider), ==, 0);
		emit();
		emit();
		g_assert_cmpuint(asked, ==, 0);
		g_assert_cmpuint(info->cmdline_changes, ==, 1);
		g_assert_cmpuint(info->lost_no_ring, ==, 0);
		tear_down();
	}
}

/* What the rings hold: whole records, each number once. Returns how many there are. */
static uint32_t read_back(uint32_t most)
{
	g_autofree uint8_t *seen = g_malloc0(most);
	uint32_t found = 0;

	for (uint32_t i = 0; i < rings; i++) {
		RsTraceRingConfig config = {.ring = i, .from = RS_TRACE_FROM_START};
		RsTraceRing *reader = rs_trace_ring_new(region, &config, NULL);
		RsTraceChunk chunk;

		g_assert_nonnull(reader);
		while (rs_trace_ring_next(reader, 0, &chunk) == RS_TRACE_RING_DATA) {
			RsTracePageWalk walk;
			RsTracePageItem item;

			rs_trace_page_begin(&walk, chunk.page);
			while ((item = rs_trace_page_next(&walk, chunk.page, chunk.to)) >=
			       RS_TRACE_PAGE_MARK) {
				const uint64_t *entry =
					(const uint64_t *)(const void *)(chunk.page + walk.payload);
				uint64_t copy[3] = {0};

				if (item != RS_TRACE_PAGE_RECORD)
					continue;
				memcpy(copy, entry, walk.size);
				g_assert_cmpuint(walk.id, ==, event.id);
				g_assert_cmpuint(walk.pid, ==, (uint32_t)gettid());
				g_assert_cmpuint(copy[0], <, most);
				g_assert_cmpuint(walk.size, ==, 8 + copy[0] % 3 * 6);
				for (uint32_t b = 8; b < walk.size; b++)
					g_assert_cmphex(((uint8_t *)copy)[b], ==, b);
				g_assert_cmpuint(seen[copy[0]]++, ==, 0);
				found++;
			}
			g_assert_cmpint(item, !=, RS_TRACE_PAGE_BAD);
		}
		rs_trace_ring_free(reader);
	}
	return found;
}

/* Events of each size that has a way of its own, from a page's start to its end. */
static void test_records(void)
{
	enum { EVENTS = 300 };

	set_up();
	g_assert_cmpint(boot((struct rs_agent_config){0}), ==, 0);
	g_assert_cmpint(rs_agent_register(&provider), ==, 0);
	for (uint64_t i = 0; i < EVENTS; i++) {
		uint64_t entry[3] = {i, 0x0f0e0d0c0b0a0908, 0x13121110};

		if (i % 3 == 1)
			entry[1] &= 0xffffffffffff; /* zeroes behind its end */
		if (i % 3 == 0)
			rs_emit_8(&event, entry, 8);
		else if (i % 3 == 1)
			rs_emit_16(&event, entry, 14);
		else
			rs_emit_plain(&event, entry, 20);
	}
	g_assert_cmpuint(info->lost_no_ring + info->lost_nested, ==, 0);
	g_assert_cmpuint(read_back(EVENTS), ==, EVENTS);
	tear_down();
}

/* Each op alone is asked for each event. One that tells tasks apart makes each of them known. */
static void test_ops(void)
{
	static const struct {
		struct rs_trace_ops ops;
		bool tasks;
	} cases[] = {
		{{.time_now = os_time}, false},        {{.cpu_id = os_number}, false},
		{{.context_flags = os_number}, false}, {{.current_pid = os_number}, true},
		{{.current_tgid = os_number}, true},   {{.current_comm = os_comm}, true},
	};

	for (uint32_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		uint32_t changes;

		g_test_message("%u", i);
		test_no_ops();
		set_up();
		number = 1;
		g_assert_cmpint(boot((struct rs_agent_config){.ops = &cases[i].ops}), ==, 0);
		g_assert_cmpint(rs_agent_register(&provider), ==, 0);
		emit();
		g_assert_cmpuint(info->cmdline_changes, ==, 1);
		for (number = 2; number < 4; number++) {
			changes = info->cmdline_changes;
			asked = 0;
			emit();
			g_assert_cmpuint(asked, >, 0);
			g_assert_cmpuint(info->cmdline_changes - changes, ==, cases[i].tasks);
		}
		g_assert_cmpuint(info->lost_no_ring, ==, 0);
		tear_down();
	}
}

/* ---- what it leaves behind ---- */

/* An event that was on its way when the agent left touches the region no more. */
static void test_left(void)
{
	set_up();
	g_assert_cmpint(boot((struct rs_agent_config){0}), ==, 0);
	g_assert_true(rs_event_ctl == rs_trace_region_section(region, RS_SEC_EVENT_CTL, NULL));
	g_assert_cmpint(rs_agent_register(&provider), ==, 0);
	rs_agent_fini();
	g_assert_true(rs_event_ctl == rs_nothing_enabled);
	g_assert_false(rs_agent_active());
	g_assert_cmpuint(event.id, ==, 0);
	event.id = RS_FIRST_EVENT_ID;
	emit();
	event.id = 0;
	g_assert_cmpuint(info->lost_no_ring, ==, 0);
	rs_agent_cmdline(7, 7, "late");
	g_assert_cmpuint(info->cmdline_changes, ==, 0);
	tear_down();
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	rings = (uint32_t)MAX(sysconf(_SC_NPROCESSORS_CONF), 4);
	g_test_add_func("/agent/boot/info", test_info);
	g_test_add_func("/agent/boot/paging", test_paging);
	g_test_add_func("/agent/boot/texts", test_texts);
	g_test_add_func("/agent/boot/count", test_count);
	g_test_add_func("/agent/boot/rings", test_rings);
	g_test_add_func("/agent/boot/host", test_host);
	g_test_add_func("/agent/boot/no-ops", test_no_ops);
	g_test_add_func("/agent/boot/records", test_records);
	g_test_add_func("/agent/boot/ops", test_ops);
	g_test_add_func("/agent/boot/left", test_left);
	return g_test_run();
}
