/* SPDX-License-Identifier: MIT */
/* The agent on a region that the host laid out: attach, describe, emit, patch itself, ask, end. */
#define RS_CREATE_TRACE_POINTS
#include "test-events.h"

#include "core.h"
#include "region/regions.h"
#include <rs-trace-page.h>
#include <rs-trace-ring.h>

#include <glib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static RS_PROVIDER(provider, "agent-test");

struct fixture {
	RsTraceRegion *region;
	struct rs_control *control;
	uint32_t *words;
	struct rs_guest_info *info;
};

/* The state that the ops report. Each test sets what it needs. */
static uint64_t fake_time = 1000;
static uint32_t fake_cpu, fake_pid = 7, fake_context;
static const char *fake_comm = "tester";

static uint64_t op_time(void)
{
	return fake_time += 10;
}
static uint32_t op_cpu(void)
{
	return fake_cpu;
}
static uint32_t op_pid(void)
{
	return fake_pid;
}
static uint32_t op_context(void)
{
	return fake_context;
}
static const char *op_comm(void)
{
	static char comm[RS_COMM_LEN];

	memset(comm, 0, sizeof(comm));
	memcpy(comm, fake_comm, MIN(strlen(fake_comm), sizeof(comm)));
	return comm;
}

static uintptr_t text_from, text_to;
static uint32_t pokes;

static void pages_of(void *from, void *to, int protection)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t start = (uintptr_t)from & ~(page - 1);

	g_assert_cmpint(mprotect((void *)start, (uintptr_t)to - start, protection), ==, 0);
}
static void op_text_open(void *from, void *to)
{
	text_from = (uintptr_t)from;
	text_to = (uintptr_t)to;
	pages_of(from, to, PROT_READ | PROT_WRITE | PROT_EXEC);
}
static void op_text_close(void *from, void *to)
{
	pages_of(from, to, PROT_READ | PROT_EXEC);
}
/* Like a kernel's text-poke: the first byte is a trap while the others change. */
static void op_write_text(void *at, const void *bytes, uint32_t size)
{
	uint8_t *text = at, before = text[-1], after = text[size];

	g_assert_cmpuint(size, ==, RS_SITE_BYTES);
	g_assert_cmpuint(size, <=, RS_TEXT_POKE_MAX);
	g_assert_cmpuint((uintptr_t)at, >=, text_from);
	g_assert_cmpuint((uintptr_t)at + size, <=, text_to);
	__atomic_store_n(text, 0xcc, __ATOMIC_SEQ_CST);
	memcpy(text + 1, (const uint8_t *)bytes + 1, size - 1);
	__atomic_store_n(text, *(const uint8_t *)bytes, __ATOMIC_SEQ_CST);
	g_assert_cmphex(text[-1], ==, before);
	g_assert_cmphex(text[size], ==, after);
	pokes++;
}

static struct rs_trace_ops ops = {
	.time_now = op_time,
	.cpu_id = op_cpu,
	.current_pid = op_pid,
	.context_flags = op_context,
	.current_comm = op_comm,
	.write_kernel_text = op_write_text,
	.text_open = op_text_open,
	.text_close = op_text_close,
};

static struct rs_agent_config agent_config(const struct fixture *f)
{
	return (struct rs_agent_config){
		.region = f->region->map,
		.region_size = f->region->size,
		.ops = &ops,
		.agent = "test 1",
		.name = "a guest",
		.cpu_count = 2,
		.flags = RS_GUEST_SELF_PATCH,
		.tsc_hz = 1000000000,
	};
}

static void set_up(struct fixture *f, gconstpointer data)
{
	struct rs_region_config config = {.vcpus = 2, .ring_bytes = 64 * 1024};
	struct rs_error err = {0};
	size_t size;

	fake_cpu = 0;
	fake_pid = 7;
	fake_context = 0;
	fake_comm = "tester";
	if (data)
		config.hcall_channel = RS_CHANNEL_MAILBOX;
	g_assert_cmpint(rs_region_create(&config, &f->region, &err), ==, 0);
	f->control = rs_trace_region_section(f->region, RS_SEC_CONTROL, &size);
	f->words = rs_trace_region_section(f->region, RS_SEC_EVENT_CTL, &size);
	f->info = rs_trace_region_section(f->region, RS_SEC_GUEST_INFO, &size);
}

static void attach(struct fixture *f)
{
	struct rs_agent_config config = agent_config(f);

	g_assert_cmpint(rs_agent_init(&config), ==, 0);
	g_assert_cmpint(rs_agent_register(&provider), ==, 0);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
	/* Switch sites off, so that a test does not affect the next. */
	if (rs_agent_active()) {
		f->control->flags = RS_CONTROL_STOP;
		rs_agent_apply_control();
		rs_agent_fini();
	}
	rs_trace_region_free(f->region);
}

/* Enables as a host does, through the control pages and the agent's own patching. */
static void enable(struct fixture *f, struct rs_event *event, bool on)
{
	f->words[event->id] = on ? RS_EVENT_ENABLED : 0;
	f->control->flags = RS_CONTROL_SELF_PATCH;
	f->control->generation++;
	g_assert_true(rs_agent_control_due());
	g_assert_cmpint(rs_agent_apply_control(), ==, 0);
	g_assert_false(rs_agent_control_due());
	g_assert_cmpuint(f->info->applied_generation, ==, f->control->generation);
}

/* The only record in ring `ring`, after its marks. */
static const struct rs_rec_header *only_record(struct fixture *f, uint32_t ring)
{
	static RsTraceRing *reader;
	RsTraceRingConfig config = {.ring = ring};
	RsTraceChunk chunk;
	uint32_t at;

	rs_trace_ring_free(reader);
	reader = rs_trace_ring_new(f->region, &config, NULL);
	g_assert_nonnull(reader);
	g_assert_cmpint(rs_trace_ring_next(reader, 0, &chunk), ==, RS_TRACE_RING_DATA);
	g_assert_cmpuint(rs_trace_page_count(chunk.page, chunk.from, chunk.to, NULL), ==, 1);
	for (at = chunk.from; at < chunk.to; at += 8) {
		const struct rs_rec_header *header =
			(const struct rs_rec_header *)(chunk.page + at);

		if (header->id >= RS_FIRST_EVENT_ID)
			return header;
	}
	g_assert_not_reached();
}

static void test_info(struct fixture *f, gconstpointer data)
{
	struct rs_guest_info info;
	struct rs_agent_config config = agent_config(f);
	size_t size;
	struct rs_provider *entry = rs_trace_region_section(f->region, RS_SEC_PROVIDERS, &size);

	attach(f);
	g_assert_true(rs_trace_region_guest_info(f->region, &info, NULL));
	g_assert_cmpuint(info.session_id, ==, f->region->header.session_id);
	g_assert_cmpuint(info.boot, ==, 1);
	g_assert_cmpuint(info.flags, ==,
			 RS_GUEST_SELF_PATCH | RS_GUEST_PREEMPTIBLE | RS_GUEST_STACKS |
				 RS_GUEST_RING_MODE | RS_GUEST_RING_SHAPE);
	g_assert_cmpuint(info.state, ==, RS_GUEST_RUNNING);
	g_assert_cmpstr(info.agent, ==, "test 1");
	g_assert_cmpuint(info.provider_slots, ==, 1);
	g_assert_cmpuint(info.boots[1].boot, ==, 1);
	g_assert_cmpstr(entry->name, ==, "agent-test");
	g_assert_cmpuint(entry->event_count, ==, 3);
	g_assert_cmpuint(entry->site_count, ==, __stop_rs_sites - __start_rs_sites);
	g_assert_cmpuint(entry->site_count, >=, 3);

	g_assert_cmpint(rs_agent_init(&config), ==, -RS_EBUSY);
	g_assert_cmpint(rs_agent_register(&provider), ==, -RS_EBUSY);
	/* A second boot on the same region has another number. */
	rs_agent_fini();
	g_assert_cmpint(rs_agent_register(&provider), ==, -RS_ENOTCONN);
	g_assert_cmpint(rs_agent_init(&config), ==, 0);
	g_assert_cmpuint(f->info->boot, ==, 2);
}

static void test_bad_regions(struct fixture *f, gconstpointer data)
{
	g_autofree uint8_t *copy = g_malloc0(f->region->size);
	struct rs_agent_config config = agent_config(f);
	struct rs_region_header *header = (struct rs_region_header *)copy;

#define EXPECT(code, ...)                                                                          \
	do {                                                                                       \
		memcpy(copy, f->region->map, sizeof(*header));                                     \
		config = agent_config(f);                                                          \
		config.region = copy;                                                              \
		__VA_ARGS__;                                                                       \
		g_assert_cmpint(rs_agent_init(&config), ==, code);                                 \
		g_assert_false(rs_agent_active());                                                 \
	} while (0)
	EXPECT(-RS_ENODEV, config.region = NULL);
	EXPECT(-RS_ENODEV, config.region_size = 100);
	EXPECT(-RS_ENODEV, header->magic ^= 1);
	EXPECT(-RS_EPROTO, header->abi_major++);
	EXPECT(-RS_EPROTO, header->features = 1u << 31);
	EXPECT(-RS_EBADMSG, config.region_size = f->region->size - 1);
	EXPECT(-RS_EBADMSG, header->ring_count = 0);
	EXPECT(-RS_ENOSPC, header->ring_count = RS_MAX_CPUS + 1);
	EXPECT(-RS_ENOSPC, header->ring_count = UINT32_MAX);
	EXPECT(-RS_ENOSPC, header->event_capacity = UINT32_MAX);
	EXPECT(-RS_EBADMSG, header->ring_pages = RS_RING_PAGES_MAX * 2);
	EXPECT(-RS_EBADMSG, header->ring_pages = 3);
	EXPECT(-RS_EBADMSG, header->ring_page_size = 2048);
	EXPECT(-RS_EBADMSG, header->ring_mode = 2);
	EXPECT(-RS_EBADMSG, header->section[RS_SEC_RINGS].offset += 8);
	EXPECT(-RS_EBADMSG, header->section[RS_SEC_RINGS].size = UINT64_MAX - 4095);
	EXPECT(-RS_EBADMSG, header->section[RS_SEC_RING_STATE].offset = 0);
	EXPECT(-RS_EBADMSG,
	       header->section[RS_SEC_CONTROL].offset = header->section[RS_SEC_RINGS].offset);
	EXPECT(-RS_ENOSPC, header->section[RS_SEC_RING_STATE].size = 0);
	EXPECT(-RS_EBADMSG, header->section[RS_SEC_RINGS].size = 4096);
	EXPECT(-RS_ENOSPC, header->ring_pages *= 2);
	EXPECT(-RS_EBADMSG, header->section[RS_SEC_RING_STATE].stride = 120);
	EXPECT(-RS_EBADMSG, header->section[RS_SEC_RING_STATE].stride += 1);
	EXPECT(-RS_EBADMSG, header->section[RS_SEC_RING_CTL].stride += 4);
	EXPECT(-RS_EBADMSG, header->section[RS_SEC_PROVIDERS].stride += 10);
	EXPECT(-RS_EBADMSG, header->section[RS_SEC_EVENT_CTL].stride = 8);
	EXPECT(-RS_EBADMSG, header->section[RS_SEC_FILTERS].stride = 9);
	EXPECT(-RS_EBADMSG, header->section[RS_SEC_RINGS].stride *= 2,
	       header->section[RS_SEC_RINGS].count /= 2);
	EXPECT(-RS_EBADMSG, header->section[RS_SEC_CMDLINE].stride += 8,
	       header->section[RS_SEC_CMDLINE].count /= 2);
	EXPECT(-RS_EBADMSG, header->header_size -= 8);
	EXPECT(-RS_EBADMSG, header->section_offset -= 8);
	EXPECT(-RS_EBADMSG, header->section_offset += 4);
	EXPECT(-RS_EBADMSG, header->section_stride -= 8);
	EXPECT(-RS_EBADMSG, header->section_count = UINT32_MAX);
	EXPECT(-RS_ENOSPC, header->section_count = RS_SEC_RINGS);
	EXPECT(-RS_ENOSPC, header->section[RS_SEC_RING_STATE].count = 1);
	EXPECT(-RS_ENOSPC, header->event_capacity = RS_FIRST_EVENT_ID);
#undef EXPECT
	/* Features that an agent need not know. */
	memcpy(copy, f->region->map, sizeof(*header));
	header->features = ~RS_FEATURES_REQUIRED;
	g_assert_cmpint(rs_agent_init(&config), ==, 0);
	rs_agent_fini();
}

static void test_no_room(struct fixture *f, gconstpointer data)
{
	struct rs_region_header *header = (struct rs_region_header *)f->region->map;
	struct rs_agent_config config = agent_config(f);

	/* All or nothing: three events do not fit into two ids. */
	header->event_capacity = RS_FIRST_EVENT_ID + 2;
	g_assert_cmpint(rs_agent_init(&config), ==, 0);
	g_assert_cmpint(rs_agent_register(&provider), ==, -RS_ENOSPC);
	g_assert_cmpuint(f->info->provider_slots, ==, 0);
	g_assert_cmpuint(rs_event_test_pair.id, ==, 0);
	trace_test_pair(1, 2);
}

static void test_unregister(struct fixture *f, gconstpointer data)
{
	size_t size;
	struct rs_provider *entry = rs_trace_region_section(f->region, RS_SEC_PROVIDERS, &size);
	uint32_t id;

	attach(f);
	id = rs_event_test_pair.id;
	g_assert_cmpuint(id, >=, RS_FIRST_EVENT_ID);
	g_assert_true(rs_event_by_id(rs_event_test_pair.id) == &rs_event_test_pair);
	enable(f, &rs_event_test_pair, true);
	g_assert_cmpuint(f->info->sites_on, >, 0);
	g_assert_cmpint(rs_agent_unregister(&provider), ==, 0);
	g_assert_cmpuint(entry[0].state, ==, RS_PROVIDER_DEAD);
	g_assert_cmpuint(rs_event_test_pair.id, ==, 0);
	g_assert_null(rs_event_by_id(id));
	g_assert_cmpint(rs_agent_unregister(&provider), ==, -RS_ENOTCONN);
	g_assert_false(rs_site_test_pair());

	g_assert_cmpint(rs_agent_register(&provider), ==, 0);
	g_assert_cmpuint(rs_event_test_pair.id, ==, id);
	g_assert_cmpuint(entry[0].state, ==, RS_PROVIDER_LIVE);
	g_assert_cmpuint(entry[0].generation, ==, 2);
	g_assert_cmpuint(f->info->provider_slots, ==, 1);
}

static void test_emit_pair(struct fixture *f, gconstpointer data)
{
	const struct rs_rec_header *record;
	const uint32_t *payload;

	attach(f);
	trace_test_pair(1, 2); /* off */
	enable(f, &rs_event_test_pair, true);
	fake_cpu = 1;
	trace_test_pair(3, 4);
	enable(f, &rs_event_test_pair, false);
	trace_test_pair(5, 6);
	record = only_record(f, 1);
	payload = (const uint32_t *)(record + 1);
	g_assert_cmpuint(record->id, ==, rs_event_test_pair.id);
	g_assert_cmpuint(record->size, ==, 16);
	g_assert_cmpuint(record->ts, ==, (uint32_t)fake_time);
	g_assert_cmpuint(payload[0], ==, 3);
	g_assert_cmpuint(payload[1], ==, 4);
}

static void test_emit_all(struct fixture *f, gconstpointer data)
{
	static const uint16_t list[] = {100, 200, 300};
	const struct rs_rec_header *record;
	const struct rs_entry_test_all *entry;

	attach(f);
	enable(f, &rs_event_test_all, true);
	trace_test_all(&fake_time, "a comm longer than that", list, 3, "because");
	record = only_record(f, 0);
	entry = (const struct rs_entry_test_all *)(record + 1);
	g_assert_cmpuint(record->size, ==, 8 + sizeof(*entry) + 6 + 8);
	g_assert_cmpuint(entry->u_8, ==, 8);
	g_assert_cmpint(entry->s_1, ==, -1);
	g_assert_cmpint(entry->s_8, ==, -8);
	g_assert_cmpuint(entry->addr, ==, (uintptr_t)&fake_time);
	g_assert_cmpmem(entry->mac, 6, "\1\2\3\4\5\6", 6);
	g_assert_cmpmem(entry->comm, 16, "a comm longer than that", 16);
	g_assert_cmpuint(entry->list, ==, rs_locator(sizeof(*entry), 6));
	g_assert_cmpuint(entry->why, ==, rs_locator(sizeof(*entry) + 6, 8));
	g_assert_cmpuint(entry->none, ==, rs_locator(sizeof(*entry) + 14, 0));
	g_assert_cmpmem((const uint8_t *)entry + sizeof(*entry), 6, list, 6);
	g_assert_cmpstr((const char *)entry + sizeof(*entry) + 6, ==, "because");
}

static void test_emit_huge_and_null(struct fixture *f, gconstpointer data)
{
	g_autofree char *big = g_strnfill(100000, 'x');
	const struct rs_rec_header *record;
	size_t size;
	struct rs_ring_state *state = rs_trace_region_section(f->region, RS_SEC_RING_STATE, &size);

	attach(f);
	enable(f, &rs_event_test_all, true);
	trace_test_all(NULL, NULL, NULL, 5, big);
	record = only_record(f, 0);
	g_assert_cmpuint(record->size, ==, RS_REC_CUT | (4096 - RS_RING_PAGE_HEADER));
	g_assert_cmpuint(state->too_large, ==, 1);

	fake_cpu = 1;
	trace_test_all(NULL, NULL, NULL, 5, NULL);
	record = only_record(f, 1);
	g_assert_cmpuint(record->size, ==, 8 + sizeof(struct rs_entry_test_all) + 7);
	g_assert_cmpstr((const char *)(record + 1) + sizeof(struct rs_entry_test_all), ==,
			"(null)");
}

static void test_no_ring(struct fixture *f, gconstpointer data)
{
	attach(f);
	enable(f, &rs_event_test_bare, true);
	fake_cpu = 2;
	trace_test_bare();
	g_assert_cmpuint(f->info->lost_no_ring, ==, 1);
	fake_cpu = 0;
	trace_test_bare();
	g_assert_cmpuint(only_record(f, 0)->size, ==, 8);
}

/* Each site is one poke of exactly its bytes. A site that is right already is not poked. */
static void test_pokes(struct fixture *f, gconstpointer data)
{
	uint32_t sites = (uint32_t)(__stop_rs_sites - __start_rs_sites);

	attach(f);
	pokes = 0;
	for (uint32_t id = RS_FIRST_EVENT_ID; id < RS_FIRST_EVENT_ID + 3; id++)
		f->words[id] = RS_EVENT_ENABLED;
	f->control->flags = RS_CONTROL_SELF_PATCH;
	f->control->generation++;
	g_assert_cmpint(rs_agent_apply_control(), ==, 0);
	g_assert_cmpuint(pokes, ==, sites);
	f->control->generation++;
	g_assert_cmpint(rs_agent_apply_control(), ==, 0);
	g_assert_cmpuint(pokes, ==, sites);
	/* The host does not ask for it: perhaps it patches by itself. */
	for (uint32_t id = RS_FIRST_EVENT_ID; id < RS_FIRST_EVENT_ID + 3; id++)
		f->words[id] = 0;
	f->control->flags = 0;
	f->control->generation++;
	g_assert_true(rs_agent_control_due());
	g_assert_cmpint(rs_agent_apply_control(), ==, 0);
	g_assert_false(rs_agent_control_due());
	g_assert_cmpuint(pokes, ==, sites);
	g_assert_cmpuint(f->info->sites_on, ==, sites);
}

/* Only the sites of events that are enabled are on, whatever else their words say. */
static void test_some_on(struct fixture *f, gconstpointer data)
{
	attach(f);
	f->control->flags = RS_CONTROL_SELF_PATCH;
	f->words[rs_event_test_pair.id] = RS_EVENT_ENABLED;
	for (uint32_t id = RS_FIRST_EVENT_ID; id < RS_FIRST_EVENT_ID + 3; id++)
		f->words[id] |= ~RS_EVENT_ENABLED;
	f->control->generation++;
	g_assert_cmpint(rs_agent_apply_control(), ==, 0);
	g_assert_true(rs_site_test_pair());
	g_assert_cmpuint(f->info->sites_on, >, 0);
	g_assert_cmpuint(f->info->sites_on, <, __stop_rs_sites - __start_rs_sites);
	f->words[rs_event_test_pair.id] = 0;
	f->control->generation++;
	g_assert_cmpint(rs_agent_apply_control(), ==, 0);
	g_assert_false(rs_site_test_pair());
	g_assert_cmpuint(f->info->sites_on, ==, 0);
}

/* Whoever does not patch itself is left alone, and so is who has no region. */
static void test_not_self_patching(struct fixture *f, gconstpointer data)
{
	struct rs_agent_config config = agent_config(f);

	pokes = 0;
	g_assert_false(rs_agent_control_due());
	g_assert_cmpint(rs_agent_apply_control(), ==, 0);
	rs_agent_host_gone();
	config.flags = 0;
	g_assert_cmpint(rs_agent_init(&config), ==, 0);
	g_assert_cmpint(rs_agent_register(&provider), ==, 0);
	f->control->generation++;
	g_assert_false(rs_agent_control_due());
	f->info->sites_on = 77;
	rs_agent_host_gone();
	g_assert_cmpuint(f->info->sites_on, ==, 77);
	g_assert_cmpuint(pokes, ==, 0);
}

/* Each error says something else. */
static void test_errors(struct fixture *f, gconstpointer data)
{
	g_autoptr(GHashTable) texts = g_hash_table_new(g_str_hash, g_str_equal);
	const char *unknown = rs_agent_strerror(-9999);
	static const int errors[] = {
		0,          -RS_ENOSYS,   -RS_EINVAL,       -RS_ENOENT,
		-RS_EACCES, -RS_E2BIG,    -RS_EHOSTUNREACH, -RS_ENODEV,
		-RS_EPROTO, -RS_EBADMSG,  -RS_ENOSPC,       -RS_EOVERFLOW,
		-RS_EILSEQ, -RS_ENOTCONN, -RS_EBUSY,        -RS_EADDRINUSE,
		-RS_EXDEV,
	};

	for (uint32_t i = 0; i < G_N_ELEMENTS(errors); i++) {
		const char *text = rs_agent_strerror(errors[i]);

		g_assert_cmpstr(text, !=, unknown);
		g_assert_true(g_hash_table_add(texts, (gpointer)text));
	}
	g_assert_cmpstr(rs_agent_strerror(1), ==, unknown);
}

static void test_foreign_bytes(struct fixture *f, gconstpointer data)
{
	const struct rs_site *site = __start_rs_sites;
	/* By number: for the compiler, nothing lies at this distance from a constant. */
	volatile uint8_t *code =
		(volatile uint8_t *)((uintptr_t)&site->code + (uintptr_t)(intptr_t)site->code);
	uint8_t old = *code;

	attach(f);
	pages_of((void *)code, (void *)(code + 1), PROT_READ | PROT_WRITE | PROT_EXEC);
	*code = 0xcc; /* a debugger's breakpoint */
	for (uint32_t id = RS_FIRST_EVENT_ID; id < RS_FIRST_EVENT_ID + 3; id++)
		f->words[id] = RS_EVENT_ENABLED;
	f->control->flags = RS_CONTROL_SELF_PATCH;
	f->control->generation++;
	g_assert_cmpint(rs_agent_apply_control(), ==, 1);
	g_assert_cmpuint(f->info->patch_errors, ==, 1);
	g_assert_cmpuint(f->info->sites_on, ==, __stop_rs_sites - __start_rs_sites - 1);
	g_assert_cmphex(*code, ==, 0xcc);
	pages_of((void *)code, (void *)(code + 1), PROT_READ | PROT_WRITE | PROT_EXEC);
	*code = old;
	f->control->flags |= RS_CONTROL_STOP;
	f->control->generation++;
	g_assert_cmpint(rs_agent_apply_control(), ==, 0);
	g_assert_cmpuint(f->info->sites_on, ==, 0);
	g_assert_false(rs_site_test_pair());
}

/* Sites go off, whatever the host's words say, and stay so. Nobody is asked anything. */
static void test_host_gone(struct fixture *f, gconstpointer data)
{
	attach(f);
	for (uint32_t id = RS_FIRST_EVENT_ID; id < RS_FIRST_EVENT_ID + 3; id++)
		f->words[id] = RS_EVENT_ENABLED;
	f->control->flags = RS_CONTROL_SELF_PATCH;
	f->control->generation++;
	g_assert_cmpint(rs_agent_apply_control(), ==, 0);
	g_assert_cmpuint(f->info->sites_on, ==, __stop_rs_sites - __start_rs_sites);
	g_assert_true(rs_site_test_pair());
	rs_agent_host_gone();
	g_assert_cmpuint(f->info->sites_on, ==, 0);
	g_assert_false(rs_site_test_pair());
	f->control->generation++;
	g_assert_cmpint(rs_agent_apply_control(), ==, 0);
	g_assert_cmpuint(f->info->sites_on, ==, 0);
	g_assert_false(rs_site_test_pair());
	g_assert_cmpint(rs_agent_log("anybody?"), ==, -RS_EHOSTUNREACH);
}

static GByteArray *raw;
static void op_push_raw(const void *record, uint32_t size)
{
	g_byte_array_append(raw, record, size);
}

static void test_os_pipe(struct fixture *f, gconstpointer data)
{
	g_autofree char *big = g_strnfill(5000, 'x');

	raw = g_byte_array_new();
	ops.trace_pipe_push_raw_record = op_push_raw;
	attach(f);
	enable(f, &rs_event_test_pair, true);
	enable(f, &rs_event_test_all, true);
	trace_test_pair(8, 9);
	g_assert_cmpuint(raw->len, ==, 16);
	g_assert_cmpuint(((struct rs_rec_header *)raw->data)->id, ==, rs_event_test_pair.id);
	g_assert_cmpuint(((uint32_t *)raw->data)[3], ==, 9);
	g_byte_array_set_size(raw, 0);
	trace_test_all(NULL, NULL, NULL, 0, big);
	g_assert_cmpuint(raw->len, ==, RS_RAW_MAX);
	g_assert_cmpuint(((struct rs_rec_header *)raw->data)->size, ==, RS_REC_CUT | RS_RAW_MAX);
	ops.trace_pipe_push_raw_record = NULL;
	g_byte_array_unref(raw);
}

static void test_filter(struct fixture *f, gconstpointer data)
{
	size_t size;
	uint8_t *filters = rs_trace_region_section(f->region, RS_SEC_FILTERS, &size);
	struct rs_filter_program *program = (struct rs_filter_program *)(filters + 64);
	struct rs_filter_insn *insn = (struct rs_filter_insn *)(program + 1);
	size_t ring_size;
	struct rs_ring_state *state =
		rs_trace_region_section(f->region, RS_SEC_RING_STATE, &ring_size);

	attach(f);
	enable(f, &rs_event_test_pair, true);
	*insn = (struct rs_filter_insn){.op = RS_OP_GT,
					.source = RS_SRC_FIELD,
					.width = 4,
					.offset = 4,
					.on_true = RS_FILTER_ACCEPT,
					.on_false = RS_FILTER_REJECT,
					.imm = 10,
					.mask = UINT64_MAX};
	program->insn_count = 1;
	program->size = 64;
	program->pool = 64;
	program->event = rs_event_test_pair.id;
	program->sequence = 2;
	f->words[rs_event_test_pair.id] = RS_EVENT_ENABLED | 1u << RS_EVENT_FILTER_SHIFT;
	trace_test_pair(0, 10);
	g_assert_cmpuint(rs_word_records(state->word), ==, 0);
	trace_test_pair(0, 11);
	g_assert_cmpuint(rs_word_records(state->word), ==, 1);
	/* While a program is being written, every event is recorded. */
	program->sequence = 3;
	trace_test_pair(0, 9);
	g_assert_cmpuint(rs_word_records(state->word), ==, 2);
	/* One that was made for another event, and one outside the section, likewise. */
	program->sequence = 4;
	program->event++;
	trace_test_pair(0, 9);
	g_assert_cmpuint(rs_word_records(state->word), ==, 3);
	f->words[rs_event_test_pair.id] = RS_EVENT_ENABLED | 0xffffffu << RS_EVENT_FILTER_SHIFT;
	trace_test_pair(0, 9);
	g_assert_cmpuint(rs_word_records(state->word), ==, 4);
}

static const struct rs_cmdline_entry *find_name(struct fixture *f, uint32_t pid, uint64_t when)
{
	size_t size;
	struct rs_cmdline_bucket *buckets =
		rs_trace_region_section(f->region, RS_SEC_CMDLINE, &size);
	const struct rs_cmdline_entry *
		best = NULL,
	       *way = buckets[rs_cmdline_hash(pid, f->region->header.section[RS_SEC_CMDLINE].count)]
			      .way;

	for (uint32_t i = 0; i < RS_CMDLINE_WAYS; i++) {
		if (way[i].sequence && way[i].pid == pid && way[i].since <= when &&
		    (!best || way[i].since > best->since))
			best = &way[i];
	}
	return best;
}

static void test_cmdline(struct fixture *f, gconstpointer data)
{
	const struct rs_guest_info *info =
		rs_trace_region_section(f->region, RS_SEC_GUEST_INFO, NULL);
	uint32_t changes;
	uint64_t then;

	attach(f);
	enable(f, &rs_event_test_pair, true);
	trace_test_pair(1, 1); /* the agent notes a task that fires an event */
	then = fake_time;
	g_assert_cmpmem(find_name(f, 7, then)->comm, 7, "tester", 7);
	g_assert_null(find_name(f, 7, then - 1));
	rs_agent_cmdline(7, 5, "a-name-of-32-bytes-needs-no-NUL!");
	g_assert_cmpmem(find_name(f, 7, fake_time)->comm, 32, "a-name-of-32-bytes-needs-no-NUL!",
			32);
	g_assert_cmpuint(find_name(f, 7, fake_time)->tgid, ==, 5);
	g_assert_cmpuint(find_name(f, 7, fake_time)->boot, ==, 1);
	g_assert_cmpmem(find_name(f, 7, then)->comm, 7, "tester", 7);
	/* The same name again uses no entry, and no reader need look. */
	changes = info->cmdline_changes;
	g_assert_cmpuint(changes, ==, 2);
	for (int i = 0; i < 20; i++)
		rs_agent_cmdline(7, 5, "a-name-of-32-bytes-needs-no-NUL!");
	g_assert_cmpmem(find_name(f, 7, then)->comm, 7, "tester", 7);
	g_assert_cmpuint(info->cmdline_changes, ==, changes);
	/* A new entry replaces the oldest. */
	for (int i = 0; i < 8; i++) {
		char name[8] = {'n', (char)('0' + i)};

		rs_agent_cmdline(7, 5, name);
	}
	g_assert_null(find_name(f, 7, then));
	g_assert_cmpmem(find_name(f, 7, fake_time)->comm, 3, "n7", 3);
	/* Another boot goes on counting, so that a reader sees its first name. */
	changes = info->cmdline_changes;
	rs_agent_fini();
	attach(f);
	g_assert_cmpuint(info->cmdline_changes, ==, changes);
}

/* A host that answers the mailbox. */
static int serve;
static gpointer host(gpointer data)
{
	struct fixture *f = data;
	size_t size;
	struct rs_hcall_request *request =
		rs_trace_region_section(f->region, RS_SEC_REQUEST, &size);
	struct rs_hcall_response *response =
		rs_trace_region_section(f->region, RS_SEC_RESPONSE, &size);
	uint32_t answered = 0;

	while (__atomic_load_n(&serve, __ATOMIC_ACQUIRE)) {
		for (uint32_t i = 0; i < 2; i++) {
			uint32_t sequence = rs_load_acquire(&request[i].sequence);

			if (sequence == response[i].sequence)
				continue;
			response[i].result = request[i].number == RS_HCALL_ENABLE &&
							     !memcmp(request[i].data, "test:*", 6)
						     ? 3
						     : -RS_ENOSYS;
			response[i].values[0] = request[i].data_size;
			response[i].data_size = 5;
			memcpy(response[i].data, "words", 5);
			rs_store_release(&response[i].sequence, sequence);
			answered++;
		}
		g_thread_yield();
	}
	return GUINT_TO_POINTER(answered);
}

static void test_hypercall(struct fixture *f, gconstpointer data)
{
	struct rs_hcall_reply reply;
	GThread *thread;
	char big[RS_HCALL_DATA + 1] = {0};

	attach(f);
	serve = 1;
	thread = g_thread_new("host", host, f);
	g_assert_cmpint(rs_agent_enable("test:*", &reply), ==, 3);
	g_assert_cmpuint(reply.values[0], ==, 6);
	g_assert_cmpstr(reply.text, ==, "words");
	g_assert_cmpint(rs_agent_log("hello"), ==, -RS_ENOSYS);
	g_assert_cmpint(rs_hypercall(RS_HCALL_LOG, NULL, big, sizeof(big), NULL), ==, -RS_E2BIG);
	rs_agent_exit(0x105);
	g_assert_cmpuint(f->info->state, ==, RS_GUEST_EXITED);
	g_assert_cmpuint(f->info->exit_code, ==, 5);
	__atomic_store_n(&serve, 0, __ATOMIC_RELEASE);
	g_assert_cmpuint(GPOINTER_TO_UINT(g_thread_join(thread)), ==, 3);
	/* Nobody answers; the fake clock makes five seconds pass soon. */
	rs_core.config.tsc_hz = 1000;
	g_assert_cmpint(rs_agent_log("anybody?"), ==, -RS_EHOSTUNREACH);
}

static void on_write(struct rs_event_state *state, void *data)
{
	state->own = data;
}
static void on_read(const struct rs_event_state *state, void *data)
{
	*(void **)data = state->own;
}

static void test_state(struct fixture *f, gconstpointer data)
{
	void *got = NULL;

	attach(f);
	rs_event_write_state(rs_event_test_all.id, on_write, f);
	rs_event_read_state(rs_event_test_all.id, on_read, &got);
	g_assert_true(got == f);
	got = NULL;
	rs_event_read_state(999, on_read, &got);
	g_assert_null(got);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#define ADD(path, name) g_test_add("/agent/" path, struct fixture, NULL, set_up, name, tear_down)
	ADD("info", test_info);
	ADD("bad-regions", test_bad_regions);
	ADD("no-room", test_no_room);
	ADD("ids", test_unregister);
	ADD("emit/pair", test_emit_pair);
	ADD("emit/all", test_emit_all);
	ADD("emit/huge", test_emit_huge_and_null);
	ADD("emit/no-ring", test_no_ring);
	ADD("pokes", test_pokes);
	ADD("some-on", test_some_on);
	ADD("not-self-patching", test_not_self_patching);
	ADD("errors", test_errors);
	ADD("foreign-bytes", test_foreign_bytes);
	ADD("host-gone", test_host_gone);
	ADD("os-pipe", test_os_pipe);
	ADD("filter", test_filter);
	ADD("cmdline", test_cmdline);
	ADD("state", test_state);
	g_test_add("/agent/hypercall", struct fixture, "mailbox", set_up, test_hypercall,
		   tear_down);
	return g_test_run();
}
