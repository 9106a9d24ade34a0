/* SPDX-License-Identifier: MIT */
/* The first C code on each vCPU: command line, region, agent, other vCPUs, rs_main(). */
#include "../text_pool.h"
#include "internal.h"
#include <ringside/agent.h>
#include <ringside/directory.h>

/* Not in a file that reads it: a compiler takes a weak value that it sees for the final one. */
__attribute__((weak)) const uint32_t rs_ring = 3;

#define START_MAGIC 0x336ec578u

struct hvm_start_info {
	uint32_t magic;
	uint32_t version;
	uint32_t flags;
	uint32_t module_count;
	uint64_t modules;
	uint64_t cmdline;
	uint64_t rsdp;
};

extern uint32_t rs_start_info;

static char cmdline[1024];
static void *region;
static uint64_t region_size;
static uint64_t tsc_hz;

__attribute__((weak)) const char rs_guest_name[] = "guest";

__attribute__((weak)) void rs_early(void)
{
}

__attribute__((weak)) bool rs_want_agent(void)
{
	return !rs_option("noagent", NULL, 0);
}

static void copy_cmdline(void)
{
	const struct hvm_start_info *info = (void *)(uintptr_t)rs_start_info;
	__asm__("" : "+r"(info));
	if (!info || info->magic != START_MAGIC || !info->cmdline || info->cmdline >> 32)
		return;
	const char *text = (const char *)(uintptr_t)info->cmdline;
	for (uint32_t i = 0; i < sizeof cmdline - 1 && text[i]; i++)
		cmdline[i] = text[i];
}

const char *rs_boot_cmdline(void)
{
	return cmdline;
}

/* ---- options ---- */

bool rs_option(const char *key, char *value, size_t size)
{
	size_t length = strlen(key);
	for (const char *at = cmdline; *at;) {
		const char *end = at;
		while (*end && *end != ' ')
			end++;
		if (strncmp(at, key, length) == 0 && (at + length == end || at[length] == '=')) {
			const char *from = at + length + (at + length != end);
			size_t n = (size_t)(end - from);
			if (size) {
				n = n < size ? n : size - 1;
				memcpy(value, from, n);
				value[n] = 0;
			}
			return true;
		}
		for (at = end; *at == ' '; at++)
			;
	}
	return false;
}

/* Returns what follows the number, or NULL if there is none. */
static const char *parse_u64(const char *text, uint64_t *out)
{
	const char *from = text;
	uint64_t value = 0, base = 10;
	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
		base = 16;
		from = text += 2;
	}
	for (;; text++) {
		uint64_t digit = (uint64_t)(*text - '0');
		if (digit > 9)
			digit = (uint64_t)((*text | 0x20) - 'a') + 10;
		if ((*text | 0x20) < 'a' && (*text < '0' || *text > '9'))
			break;
		if (digit >= base || value > (UINT64_MAX - digit) / base)
			break;
		value = value * base + digit;
	}
	*out = value;
	return text == from ? NULL : text;
}

uint64_t rs_option_u64(const char *key, uint64_t otherwise)
{
	char text[32];
	uint64_t value;
	if (!rs_option(key, text, sizeof text))
		return otherwise;
	const char *end = parse_u64(text, &value);
	return end && !*end ? value : otherwise;
}

/* ---- region ---- */

static bool region_from_cmdline(uint64_t *address, uint64_t *size)
{
	char text[64];
	if (!rs_option("ringside", text, sizeof text))
		return false;
	const char *end = parse_u64(text, address);
	if (!end || *end != ',')
		return false;
	end = parse_u64(end + 1, size);
	return end && !*end;
}

/* The kernel's, in the memory that holds all regions. */
static void take_region(void *memory, uint64_t size)
{
	struct rs_place place;
	/* No boot begins at the same moment as another. */
	uint32_t owner = (uint32_t)rs_tsc() | RS_CLAIM_KERNEL;
	int error = rs_directory_take(memory, size, RS_SOURCE_KERNEL, owner, &place);

	if (error) {
		rs_printf("ringside: %s\n", rs_agent_strerror(error));
		return;
	}
	region = (char *)memory + place.offset;
	region_size = place.size;
}

static void find_region(void)
{
	struct rs_pci_bar bar;
	uint64_t address, size;
	if (!region_from_cmdline(&address, &size)) {
		if (!rs_pci_find_ivshmem(&bar))
			return;
		address = bar.address;
		size = bar.size;
	}
	if (!size || !rs_map_identity(address, size)) {
		rs_printf("ringside: regions at 0x%lx, 0x%lx bytes, cannot be mapped\n", address,
			  size);
		return;
	}
	take_region((void *)(uintptr_t)address, size);
}

bool rs_region(void **at, uint64_t *size)
{
	*at = region;
	*size = region_size;
	return region != NULL;
}

/* A copy. The agent checks the region only later, so callers bound what they read. */
static const struct rs_region_header *header(void)
{
	static struct rs_region_header copy;

	if (!region || region_size < RS_REGION_HEADER_MIN_SIZE ||
	    rs_load_acquire((const uint64_t *)region) != RS_REGION_MAGIC)
		return NULL;
	if (!rs_region_take_header(&copy, region, region_size) || copy.abi_major != RS_ABI_MAJOR ||
	    !rs_region_take_table(&copy, region, region_size))
		return NULL;
	return &copy;
}

/* ---- time ---- */

static uint64_t hz_from_hypervisor(void)
{
	uint32_t r[4];
	rs_cpuid(0x40000000, r);
	if (r[0] < 0x40000010u || r[0] > 0x400000ffu)
		return 0;
	rs_cpuid(0x40000010, r);
	return r[0] * 1000ull;
}

/* Section `number` of the region, if it holds `size` bytes. */
static const void *section_of(const struct rs_region_header *h, uint32_t number, uint64_t size)
{
	const struct rs_section *s = &h->section[number];

	if (s->size < size || s->offset > region_size || s->size > region_size - s->offset)
		return NULL;
	return (const char *)region + s->offset;
}

static uint64_t hz_from_region(void)
{
	const struct rs_region_header *h = header();
	if (!h)
		return 0;
	const struct rs_control *control = section_of(h, RS_SEC_CONTROL, RS_CONTROL_MIN_SIZE);
	uint32_t count = h->section[RS_SEC_CLOCK].count, stride = h->section[RS_SEC_CLOCK].stride;
	const char *epochs = section_of(h, RS_SEC_CLOCK, (uint64_t)count * stride);
	if (!control || !epochs || !count || !control->epoch_count ||
	    !rs_stride_fits(stride, RS_CLOCK_EPOCH_MIN_SIZE))
		return 0;
	const struct rs_clock_epoch *epoch =
		(const void *)(epochs + (uint64_t)((control->epoch_count - 1) % count) * stride);
	uint32_t mult = epoch->mult, shift = epoch->shift;
	if (!mult || shift > 32)
		return 0;
	return (1000000000ull << shift) / mult;
}

static void measure_clock(void)
{
	tsc_hz = rs_option_u64("tsc_khz", 0) * 1000;
	if (!tsc_hz)
		tsc_hz = hz_from_region();
	if (!tsc_hz)
		tsc_hz = hz_from_hypervisor();
	if (!tsc_hz)
		tsc_hz = rs_apic_measure_tsc();
	if (tsc_hz < 10000000)
		tsc_hz = 2000000000; /* a guess keeps time-outs finite */
}

uint64_t rs_tsc_hz(void)
{
	return tsc_hz;
}

/* ---- agent ---- */

static volatile uint32_t *map_mmio(uint32_t channel, uint64_t address)
{
	if (channel != RS_CHANNEL_MMIO || !rs_map_identity(address, 4))
		return NULL;
	return (volatile uint32_t *)(uintptr_t)address;
}

static RS_PROVIDER(provider, rs_guest_name);

/* From baremetal.ld. A guest may be linked without a build id. */
extern const char rs_image_start[], rs_image_end[], rs_notes[], rs_notes_end[];

static void identify_provider(void)
{
	provider.image = rs_image_start;
	provider.image_end = rs_image_end;
	rs_provider_find_build_id(&provider, rs_notes, rs_notes_end);
}

static void start_agent(uint32_t cpus)
{
	const struct rs_region_header *h = header();
	if (!h) {
		rs_printf("ringside: the region has no header\n");
		return;
	}
	static const struct rs_trace_ops ops = {.wait_nudge = rs_wait_nudge};
	struct rs_agent_config config = {
		.region = region,
		.region_size = region_size,
		.ops = &ops,
		.flags = RS_GUEST_BREAKPOINTS |
			 (rs_apic_present() ? RS_GUEST_NUDGE_VECTOR | RS_GUEST_NUDGE_NMI : 0),
		.nudge_vector = RS_VEC_NUDGE,
		.agent = "ringside bare metal 0.1",
		.name = rs_guest_name,
		.cpu_count = cpus,
		.tsc_hz = tsc_hz,
		.page_table_root = rs_page_table_root(),
		.paging = rs_paging(),
		.hcall_mmio = map_mmio(h->hcall_channel, h->hcall_addr),
		.doorbell_mmio = map_mmio(h->doorbell_channel, h->doorbell_addr),
		.text_pool = rs_text_pool,
		.text_pool_size = RS_TEXT_POOL_SIZE,
	};
	identify_provider();
	int error = rs_agent_init(&config);
	if (!error)
		error = rs_agent_register(&provider);
	if (!error)
		error = rs_agent_hello();
	if (error)
		rs_printf("ringside: no tracing: %s\n", rs_agent_strerror(error));
}

/* ---- start ---- */

static uint32_t wanted_cpus(void)
{
	const struct rs_region_header *h = header();
	uint64_t n = rs_option_u64("cpus", 0);
	if (!n)
		n = rs_machine_cpus();
	if (!n && h)
		n = h->ring_count;
	return n < 1 ? 1 : n > RS_CPUS ? RS_CPUS : (uint32_t)n;
}

static void __attribute__((noreturn)) start_first(void)
{
	rs_console_init();
	copy_cmdline();
	rs_apic_init();
	find_region();
	measure_clock();
	rs_early();
	uint32_t wanted = wanted_cpus();
	if (rs_want_agent() && region)
		start_agent(wanted);
	rs_smp_start(wanted);
	rs_main(0);
	rs_exit(0);
}

void rs_start(uint32_t index)
{
	if (index == 0)
		start_first();
	rs_apic_init();
	__atomic_store_n(&rs_this_cpu()->online, 1, __ATOMIC_RELEASE);
	/* Wait until vCPU 0 counts us. If it has given up on us, this never ends. */
	while (rs_cpu_count() <= index)
		rs_pause();
	rs_main(index);
	for (;;)
		rs_idle();
}

void rs_exit(uint32_t code)
{
	if (rs_agent_active())
		rs_agent_exit(code & 0xff);
	rs_machine_exit(code & 0xff);
}

void rs_panic(const char *format, ...)
{
	char why[256];
	va_list args;
	rs_irq_save();
	va_start(args, format);
	rs_vsnprintf(why, sizeof why, format, args);
	va_end(args);
	rs_console_break_lock();
	rs_printf("panic on vCPU %u: %s\n", rs_cpu_id(), why);
	if (rs_agent_active())
		rs_agent_panic(why);
	rs_machine_exit(255);
}

uint32_t rs_cpu_id(void)
{
	return rs_this_cpu()->index;
}

void **rs_cpu_slot(uint32_t slot)
{
	return &rs_this_cpu()->guest[slot & 7];
}

void rs_set_task(uint32_t pid, uint32_t tgid, const char *comm)
{
	struct rs_cpu *cpu = rs_this_cpu();
	size_t i = 0;

	cpu->pid = pid;
	cpu->tgid = tgid;
	for (; i < sizeof cpu->comm && comm[i]; i++)
		cpu->comm[i] = comm[i];
	for (; i < sizeof cpu->comm; i++)
		cpu->comm[i] = 0;
}

uint32_t rs_pid(void)
{
	return rs_this_cpu()->pid;
}
