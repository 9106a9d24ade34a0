/* SPDX-License-Identifier: MIT */
/*
 * The cost of an event in the hosted port. The process is its own host here, with its own region,
 * so that the figures contain only the emit path. It does the same work as lttng/bench-lttng.c.
 */
#define _GNU_SOURCE
#define RS_CREATE_TRACE_POINTS
#include "events.h"

#include "bench.h"
#include "filter/filter.h"
#include "native/native.h"
#include "../../guest-agent/ports/text_pool.h"
#include "region/regions.h"
#include <pthread.h>
#include <ringside/atomic.h>
#include <ringside/control.h>
#include <rs-trace-ring-info.h>
#include <rs-trace-ring.h>
#include <rs-trace-schema.h>
#include <rs_hosted.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static RsTraceRegion *region;
static volatile uint64_t floor_at; /* the least that a record of a time costs */
static uint32_t text_word;
static uint32_t filter_at = RS_FILTER_GRAIN;

static void die(const char *what)
{
	fprintf(stderr, "bench-emit: %s\n", what);
	exit(1);
}

static void set_up_region(void)
{
	struct rs_region_config config = {.vcpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF),
					  .ring_bytes = 4 << 20};
	const struct rs_regions_run run = {&config, RS_SOURCE_USER, 1};
	struct rs_regions *regions;
	struct rs_control *control;
	struct rs_error err = {0};
	char number[16];

	if (rs_regions_create(&run, 1, false, -1, &regions, &err) ||
	    rs_regions_map(regions, 0, &region, &err))
		die(err.message);
	rs_regions_free(regions);
	control = rs_trace_region_section(region, RS_SEC_CONTROL, NULL);
	control->flags = RS_CONTROL_SELF_PATCH;
	snprintf(number, sizeof(number), "%d", region->fd);
	setenv("RINGSIDE_REGION_FD", number, 1);
	if (rs_hosted_init("bench-emit") || !rs_hosted_active())
		die("the agent did not attach");
}

/* Publishes a control word and waits until the port has patched the site. */
static void control(uint32_t word)
{
	uint32_t *ctl = rs_trace_region_section(region, RS_SEC_EVENT_CTL, NULL);
	struct rs_control *control = rs_trace_region_section(region, RS_SEC_CONTROL, NULL);
	const struct rs_guest_info *info = rs_trace_region_section(region, RS_SEC_GUEST_INFO, NULL);
	uint32_t generation = rs_load(&control->generation) + 1;

	rs_store(&ctl[rs_event_bench_pair.id], word);
	rs_store(&ctl[rs_event_bench_text.id], text_word);
	rs_store_release(&control->generation, generation);
	for (int i = 0; rs_load_acquire(&info->applied_generation) != generation; i++) {
		if (i > 5000)
			die("the port did not follow the control page");
		usleep(1000);
	}
}

static uint32_t publish(const RsTraceEvent *event, const char *expression)
{
	struct rs_filter_error err = {0};
	GByteArray *program = NULL;
	struct rs_filter_program *to;
	uint32_t at = filter_at;

	if (rs_filter_compile(&event, 1, expression, &program, &err))
		die(err.message);
	to = (void *)((uint8_t *)rs_trace_region_section(region, RS_SEC_FILTERS, NULL) + at);
	memcpy(to, program->data, program->len);
	filter_at += program->len;
	g_byte_array_unref(program);
	return RS_EVENT_ENABLED | at / RS_FILTER_GRAIN << RS_EVENT_FILTER_SHIFT;
}

/* The same filter as machine code, in the pool of this very process. */
static void publish_native(const RsTraceEvent *event, const char *expression)
{
	uint8_t *pool = (uint8_t *)(uintptr_t)rs_text_pool;
	static struct rs_native native;
	static uint32_t used = 1024, entries;
	uint32_t *words = rs_trace_region_section(region, RS_SEC_NATIVE, NULL);
	struct rs_native_entry *entry = (void *)pool;
	struct rs_filter_error why = {0};
	struct rs_error err = {0};
	GByteArray *program = NULL;

	if (rs_filter_compile(&event, 1, expression, &program, &why))
		die(why.message);
	if (rs_native_compile(RS_ARCH_X86_64, program->data, event->entry_size, 0, &native, &err))
		die(err.message);
	if (mprotect(pool, RS_TEXT_POOL_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC))
		die("the pool cannot be written");
	memcpy(pool + used, native.bytes, native.size);
	entry[entries++] = (struct rs_native_entry){
		.code = used,
		.event = (uint16_t)event->id,
		.entry_size = (uint16_t)(event->entry_size | native.kind << RS_NATIVE_KIND_SHIFT)};
	used += RS_ALIGN_UP(native.size, RS_NATIVE_ALIGN);
	words[event->id] = entries;
	g_byte_array_unref(program);
}

static void emit_loop(void)
{
	for (uint32_t i = 0; i < BENCH_LOOPS; i++) {
		trace_bench_pair(i, 7);
		__asm__ volatile("" : : : "memory");
	}
}

static double measure_filter(const RsTraceEvent *event, const char *expression)
{
	double ns;

	control(publish(event, expression));
	BENCH(ns, trace_bench_pair(i, 7));
	return ns;
}

static double measure_native(const RsTraceEvent *event, const char *expression)
{
	uint32_t *words = rs_trace_region_section(region, RS_SEC_NATIVE, NULL);
	double ns;

	publish_native(event, expression);
	ns = measure_filter(event, expression);
	words[event->id] = 0;
	return ns;
}

static void measure_text(const RsTraceEvent *event, const char *name, const char *expression)
{
	uint32_t *words = rs_trace_region_section(region, RS_SEC_NATIVE, NULL);
	g_autofree char *native = g_strconcat(name, "-native", NULL);
	double ns;

	words[event->id] = 0;
	text_word = publish(event, expression);
	control(0);
	BENCH(ns, trace_bench_text("sixteen-letters!", 7));
	bench_print(name, ns, "ns");
	publish_native(event, expression);
	BENCH(ns, trace_bench_text("sixteen-letters!", 7));
	bench_print(native, ns, "ns");
}

#ifdef BENCH_STACK
/* As deep in calls as the stacks that are taken. */
static __attribute__((noinline)) void deep(uint32_t left, double *ns)
{
	if (left)
		deep(left - 1, ns);
	else
		BENCH(*ns, trace_bench_pair(i, 7));
	__asm__ volatile("");
}

static void measure_stacks(void)
{
	double ns;

	for (uint32_t depth = 0; depth <= 64; depth = depth ? depth * 2 : 8) {
		g_autofree char *name = g_strdup_printf("stack%u", depth);

		control(RS_EVENT_ENABLED | depth << RS_EVENT_STACK_SHIFT);
		deep(64, &ns);
		bench_print(name, ns, "ns");
	}
}
#endif

int main(void)
{
	g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
	const RsTraceEvent *event;
	struct rs_guest_info info;
	struct rs_provider entry;
	const uint8_t *events;
	RsTraceRingInfo ring, before;
	double empty, off, ns;
	uint32_t cpu;

	set_up_region();
	if (!rs_trace_region_guest_info(region, &info, NULL))
		die("the agent has not reported");
	rs_trace_region_provider(region, 0, &entry);
	events = rs_trace_region_section(region, RS_SEC_EVENTS, NULL);
	rs_trace_schema_take(schema, 0, &entry, events + entry.desc_offset, entry.desc_size, NULL,
			     NULL);
	event = rs_trace_schema_by_name(schema, "bench", "pair");
	if (!event)
		die("the agent did not describe bench:pair");

#ifdef BENCH_STACK
	measure_stacks();
	return 0;
#endif
	BENCH(empty, (void)0);
	BENCH(off, trace_bench_off(i, 7));
	BENCH(ns, floor_at = __builtin_ia32_rdtsc());
	bench_print("empty", empty, "ns");
	bench_print("floor", ns, "ns");
	bench_print("disabled", off, "ns");

	control(RS_EVENT_ENABLED);
	cpu = (uint32_t)sched_getcpu();
	rs_trace_ring_info(region, cpu, &before);
	bench_print("enabled", bench_team(1, emit_loop), "ns");
	bench_print("enabled2", bench_team(2, emit_loop), "ns");
	for (uint32_t i = 0, total = 0; i < region->header.ring_count; i++) {
		rs_trace_ring_info(region, i, &ring);
		total += ring.records != 0;
		if (i + 1 == region->header.ring_count && !total)
			die("nothing was recorded");
	}
	bench_print("reject1", measure_filter(event, "a == 4294967295"), "ns");
	bench_print("reject3",
		    measure_filter(event, "b == 7 && a != 4294967294 && a == 4294967295"), "ns");
	ns = measure_filter(event, "b == 7 && a != 4294967294 && a != 4294967295");
	bench_print("accept3", ns, "ns");
	ns = measure_native(event, "a == 4294967295");
	bench_print("reject1-native", ns, "ns");
	ns = measure_native(event, "b == 7 && a != 4294967294 && a == 4294967295");
	bench_print("reject3-native", ns, "ns");
	ns = measure_native(event, "b == 7 && a != 4294967294 && a != 4294967295");
	bench_print("accept3-native", ns, "ns");
	event = rs_trace_schema_by_name(schema, "bench", "text");
	measure_text(event, "equal", "text == sixteen-letterz!");
	measure_text(event, "suffix", "text ~ *lettera!");
	measure_text(event, "glob", "text ~ *x?n*z");
	measure_text(event, "glob-inside", "text ~ *zer*");
	measure_text(event, "glob-classes", "text ~ *[et]*-l*t?r*z");
	rs_hosted_fini();
	rs_trace_region_free(region);
	return 0;
}
