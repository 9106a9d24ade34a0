/* SPDX-License-Identifier: MIT */
/* Things that a well-behaved guest does not do, for the tests of the host. */
#include "demo.h"
#include <ringside/agent.h>
#include <ringside/cmdline.h>
#include <ringside/descriptor.h>
#include <ringside/hypercall.h>
#include <ringside/region.h>

static RS_PROVIDER(provider, demo_name);

bool hostile_wants_no_agent(void)
{
	return rs_option("noagent", NULL, 0) || rs_option("badabi", NULL, 0) ||
	       rs_option("stale", NULL, 0);
}

static struct rs_guest_info *guest_info(void *region, uint64_t size)
{
	const struct rs_region_header *header = region;
	const struct rs_section *section = &header->section[RS_SEC_GUEST_INFO];
	if (section->offset + sizeof(struct rs_guest_info) > size)
		return NULL;
	return (void *)((char *)region + section->offset);
}

/* badabi: an agent of another major version says hello. stale: an agent says hello for another
 * session's region, as if somebody had replaced the layout. */
void hostile_start_agent(void)
{
	void *region;
	uint64_t size;
	if (rs_option("noagent", NULL, 0) || !rs_region(&region, &size))
		return;
	struct rs_agent_config config = {
		.region = region,
		.region_size = size,
		.agent = "ringside bare metal, lying",
		.name = demo_name,
		.cpu_count = rs_cpu_count(),
		.tsc_hz = rs_tsc_hz(),
		.page_table_root = rs_page_table_root(),
	};
	if (rs_agent_init(&config))
		return;
	/* At once: the host may look at any time, and must not see an honest agent. */
	struct rs_guest_info *info = guest_info(region, size);
	if (info && rs_option("badabi", NULL, 0))
		info->abi_major = RS_ABI_MAJOR + 41;
	if (info && rs_option("stale", NULL, 0))
		info->session_id ^= 0x5a5a5a5a5a5a5a5aull;
	if (rs_agent_register(&provider))
		return;
	rs_printf("demo: hello answered %d\n", rs_agent_hello());
}

static uint64_t state = 0x243f6a8885a308d3ull;

static uint64_t next_random(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* The host refuses noise early. Numbers that are nearly right get further. */
static uint64_t garbage(uint64_t size)
{
	uint64_t r = next_random();
	switch (r & 7) {
	case 0:
		return r >> 56;
	case 1:
		return ~0ull;
	case 2:
		return next_random() % size;
	case 3:
		return 0x1b5b324a1b5d303bull; /* terminal escapes */
	case 4:
		return RS_GUEST_MAGIC;
	case 5:
		return (r >> 8 & 0xfff) << 32 | (r >> 20 & 0xfff);
	default:
		return r;
	}
}

void hostile_scribble(void)
{
	void *region;
	uint64_t size;
	if (!rs_region(&region, &size)) {
		rs_puts("demo: scribble: no region\n");
		rs_exit(1);
	}
	const struct rs_region_header *header = region;
	uint64_t from = header->guest_offset, to = header->region_size, passes = 0;
	uint64_t seconds = rs_option_u64("duration", 1), rounds = rs_option_u64("rounds", 0);
	uint64_t start = rs_tsc();
	if (to > size || from >= to)
		rs_panic("scribble: the region makes no sense");
	state ^= rs_option_u64("seed", 0);
	rs_printf("demo: scribbling over 0x%lx..0x%lx\n", from, to);
	do {
		for (uint64_t at = from; at < to; at += 8) {
			uint64_t where = passes ? from + next_random() % (to - from) / 8 * 8 : at;
			*(volatile uint64_t *)((char *)region + where) = garbage(size);
		}
		passes++;
	} while (rounds ? passes < rounds : rs_tsc() - start < seconds * rs_tsc_hz());
	rs_printf("demo: scribbled %lu times\n", passes);
	rs_exit(0);
}

/* ---- lies: true data with a small change, over and over ---- */

#define KEEP_BYTES (96u << 10) /* of each section */
static uint8_t kept[RS_SEC_COUNT][KEEP_BYTES];

static void keep(uint8_t *region, bool back)
{
	const struct rs_region_header *header = (const void *)region;
	for (int i = RS_SEC_GUEST_INFO; i < RS_SEC_COUNT; i++) {
		const struct rs_section *section = &header->section[i];
		uint64_t size = section->size < KEEP_BYTES ? section->size : KEEP_BYTES;
		if (back)
			memcpy(region + section->offset, kept[i], size);
		else
			memcpy(kept[i], region + section->offset, size);
	}
}

/* Changes a word of the kept data, in a section that is not empty. */
static void tell_lie(uint8_t *region)
{
	static const uint8_t sections[] = {RS_SEC_GUEST_INFO, RS_SEC_PROVIDERS,  RS_SEC_EVENTS,
					   RS_SEC_CMDLINE,    RS_SEC_RING_STATE, RS_SEC_RINGS,
					   RS_SEC_RINGS,      RS_SEC_EVENTS};
	const struct rs_region_header *header = (const void *)region;
	uint64_t r = next_random();
	const struct rs_section *section = &header->section[sections[r & 7]];
	/* Most descriptors lie at the start of their section. */
	uint64_t size = section->size < KEEP_BYTES ? section->size : KEEP_BYTES;
	uint8_t *at;
	if (r & 8)
		size = size < 8192 ? size : 8192;
	at = region + section->offset + (r >> 8) % (size / 8) * 8;
	switch (r >> 4 & 3) {
	case 0:
		at[r >> 40 & 7] ^= (uint8_t)(1u << (r >> 48 & 7));
		break;
	case 1:
		*(volatile uint16_t *)(at + (r >> 40 & 6)) = (uint16_t)garbage(size);
		break;
	case 2:
		*(volatile uint32_t *)(at + (r >> 40 & 4)) = (uint32_t)garbage(size);
		break;
	default:
		*(volatile uint64_t *)at = garbage(size);
	}
}

void hostile_lies(void)
{
	void *region;
	uint64_t size;
	if (!rs_region(&region, &size)) {
		rs_puts("demo: lies: no region\n");
		rs_exit(1);
	}
	uint64_t seconds = rs_option_u64("duration", 1), start = rs_tsc(), passes = 0;
	state ^= rs_option_u64("seed", 0) * 0x9e3779b97f4a7c15ull;
	keep(region, false);
	do {
		struct rs_guest_info *info = guest_info(region, size);
		keep(region, true);
		/* Another boot now and then, so that the host reads everything again. */
		info->boot += (uint32_t)(passes / 64);
		for (uint32_t i = 0; i < 1 + passes % 200; i++) {
			tell_lie(region);
			if (i % 64 == 0)
				for (int spin = 0; spin < 2000; spin++)
					rs_pause();
		}
		passes++;
	} while (rs_tsc() - start < seconds * rs_tsc_hz());
	keep(region, true);
	rs_printf("demo: lied %lu times\n", passes);
	rs_exit(0);
}

/* ---- sites: garbage in the site table, in its page tables and in the text ---- */

static uint64_t tables[4][512] __attribute__((aligned(4096)));

static void scribble_tables(void)
{
	for (uint32_t t = 0; t < 4; t++) {
		for (uint32_t i = 0; i < 512; i++) {
			uint64_t r = next_random();
			/* Points to itself, a neighbour or nowhere; mostly present; large pages. */
			uint64_t to = r & 16 ? (uint64_t)tables[r >> 5 & 3] : next_random();
			tables[t][i] = (to & 0x000ffffffffff000ull) | (r & 0x80) | (r & 7 ? 7 : 0);
		}
	}
}

static void ring_host(uint32_t slot)
{
	void *region;
	uint64_t size;
	if (!rs_region(&region, &size))
		return;
	const struct rs_region_header *header = region;
	if (header->hcall_channel != RS_CHANNEL_PORT)
		return;
	__asm__ volatile("outl %0, %w1" : : "a"(slot), "d"(header->hcall_addr) : "memory");
}

static struct rs_hcall_request *request_page(void)
{
	void *region;
	uint64_t size;
	if (!rs_region(&region, &size))
		rs_exit(1);
	const struct rs_region_header *header = region;
	return (void *)((char *)region + header->section[RS_SEC_REQUEST].offset);
}

static void call(uint32_t number, uint64_t arg)
{
	struct rs_hcall_request *request = request_page();
	request->number = number;
	request->args[0] = arg;
	request->data_size = 0;
	__atomic_fetch_add(&request->sequence, 1, __ATOMIC_RELEASE);
	ring_host(0);
}

void hostile_sites(void)
{
	void *region;
	uint64_t size;
	if (!rs_region(&region, &size))
		rs_exit(1);
	const struct rs_region_header *header = region;
	struct rs_provider *p = (void *)((char *)region + header->section[RS_SEC_PROVIDERS].offset);
	struct rs_provider good = *p;
	uint64_t seconds = rs_option_u64("duration", 1), start = rs_tsc(), passes = 0;
	uint32_t count = (uint32_t)(__stop_rs_sites - __start_rs_sites);
	struct rs_site *sites =
		(void *)tables[3]; /* a table of our own: the real one is read-only */
	state ^= rs_option_u64("seed", 0);
	if (count > 128)
		count = 128;
	do {
		scribble_tables();
		p->state = RS_PROVIDER_DEAD;
		__atomic_store_n(&p->sequence, p->sequence + 2, __ATOMIC_RELEASE);
		call(RS_HCALL_UNREGISTER, 0);
		for (uint32_t i = 0; i < count; i++) {
			/* The fields are relative, so adjust them to the copy's address. */
			int32_t by = (int32_t)((char *)&__start_rs_sites[i] - (char *)&sites[i]);
			uint64_t r = next_random();
			sites[i] = __start_rs_sites[i];
			sites[i].code +=
				by + (r % 3 == 0 ? (int32_t)(r >> 32) : (int32_t)(r >> 8 & 1));
			sites[i].target += by + (r & 1 ? (int32_t)(r >> 16) : 0);
			sites[i].event += by + (r & 2 ? (int32_t)(r >> 24) : 0);
		}
		uint64_t r = next_random();
		p->sites = r % 13 == 0 ? 0x200000
			   : r & 1     ? (uint64_t)sites
			   : r & 2     ? good.sites
				       : garbage(size);
		p->site_count = r % 13 == 0 ? RS_MAX_SITES
				: r & 4     ? count
					    : (uint32_t)garbage(size);
		p->site_stride = r & 24 ? sizeof(struct rs_site) : (uint32_t)garbage(64);
		p->page_table_root = r & 32   ? 0
				     : r & 64 ? (uint64_t)tables[r >> 8 & 3]
					      : garbage(size);
		p->state = RS_PROVIDER_LIVE;
		__atomic_store_n(&p->sequence, p->sequence + 2, __ATOMIC_RELEASE);
		call(RS_HCALL_REGISTER, 0);
		/* Also change the tables while the host uses them. */
		for (int i = 0; i < 20; i++) {
			tables[next_random() & 3][next_random() & 511] = next_random();
			for (int spin = 0; spin < 20000; spin++)
				rs_pause();
		}
		passes++;
	} while (rs_tsc() - start < seconds * rs_tsc_hz());
	rs_printf("demo: %lu wrong site tables\n", passes);
	rs_exit(0);
}

/* ---- calls: invalid requests, as fast as possible ---- */

static void fill_request(struct rs_hcall_request *request)
{
	static const char *const texts[] = {"*",
					    "sched:*",
					    "*[",
					    "\x1b[2J\x1b]0;x\x07",
					    "load:flood",
					    "*: PID == 1",
					    "*: ((((((((((1",
					    "sched:*: COMM ~ \"*\"",
					    "\xff\xfe",
					    ""};
	uint64_t r = next_random();
	const char *text = texts[r % 10];
	request->number = r & 64 ? (uint32_t)(r >> 8 & 7) + 1 : (uint32_t)garbage(4096);
	if (request->number == RS_HCALL_PANIC || request->number == RS_HCALL_EXIT)
		request->number = RS_HCALL_LOG;
	for (int i = 0; i < 6; i++)
		request->args[i] = r & 128 ? next_random() % 80 : garbage(4096);
	for (uint32_t i = 0; i < RS_HCALL_DATA; i += 8)
		*(uint64_t *)&request->data[i] =
			r & 0x100000 ? 0x2a5b5c2a2a3a3a2aull : garbage(4096);
	request->data_size = (uint32_t)garbage(2 * RS_HCALL_DATA);
	if (r & 0x200000) {
		request->data_size = (uint32_t)strlen(text);
		memcpy(request->data, text, request->data_size);
	}
}

void hostile_calls(uint32_t cpu)
{
	uint64_t seconds = rs_option_u64("duration", 1), start = rs_tsc(), passes = 0;
	bool logs = rs_option("logs", NULL, 0);
	struct rs_hcall_request *request = request_page() + cpu;
	state ^= rs_option_u64("seed", 0) + cpu;
	do {
		fill_request(request);
		if (logs)
			request->number = RS_HCALL_LOG;
		request->sequence++;
		ring_host(next_random() & 7 ? cpu : (uint32_t)garbage(4096));
		passes++;
	} while (rs_tsc() - start < seconds * rs_tsc_hz());
	rs_printf("demo: vCPU %u made %lu absurd requests\n", cpu, passes);
	if (cpu == 0)
		rs_exit(0);
	for (;;)
		rs_idle();
}

void hostile_crash(const char *how)
{
	rs_printf("demo: crash=%s\n", how);
	if (strcmp(how, "panic") == 0)
		rs_panic("the demo was told to panic\x1b[31m!\nringside: not so");
	if (strcmp(how, "triple") == 0)
		rs_triple_fault();
	if (strcmp(how, "reset") == 0)
		rs_reset();
	if (strcmp(how, "hang") == 0)
		sched_hang();
	if (strncmp(how, "exit:", 5) == 0) {
		uint32_t code = 0;
		for (const char *p = how + 5; *p >= '0' && *p <= '9'; p++)
			code = code * 10 + (uint32_t)(*p - '0');
		rs_exit(code);
	}
	rs_panic("unknown crash=%s", how);
}
