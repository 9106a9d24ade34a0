/* SPDX-License-Identifier: MIT */
/* What a well-behaved guest does not do: for the tests of the host. */
#include "demo.h"
#include <ringside/agent.h>

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

/* badabi: an agent of another major version says hello. stale: one that speaks of another session's
 * region, as if the layout had been exchanged under it. */
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
	if (rs_agent_init(&config) || rs_agent_register(&provider))
		return;
	struct rs_guest_info *info = guest_info(region, size);
	if (info && rs_option("badabi", NULL, 0))
		info->abi_major = RS_ABI_MAJOR + 41;
	if (info && rs_option("stale", NULL, 0))
		info->session_id ^= 0x5a5a5a5a5a5a5a5aull;
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

/* Noise is refused early; numbers that are nearly right go further. */
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
