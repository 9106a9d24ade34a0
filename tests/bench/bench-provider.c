/* SPDX-License-Identifier: MIT */
/* Statements of a provider beside trace events with the same fields: "NAME VALUE UNIT" lines. */
#define _GNU_SOURCE
#define RS_CREATE_TRACE_POINTS
#include <ringside/event.h>

#include "../unit/agent/text.h"
#include "bench.h"
#include "region/regions.h"

#include <ringside/control.h>
#include <ringside/provider.h>

RS_TRACE_EVENT(bench, two, TP_PROTO(uint32_t a, uint32_t b), TP_ARGS(a, b),
	       TP_STRUCT__entry(__field(u32, a), __field(u32, b)),
	       TP_fast_assign(__entry->a = a; __entry->b = b), TP_printk("a=%u b=%u", a, b))

RS_PROVIDER_DEFINE(statements, "statements")
static RS_PROVIDER(image, "image");
static RsTraceRegion *region;

static void begin(void)
{
	static const struct rs_trace_ops ops = {.text_open = os_text_open,
						.text_close = os_text_close};
	const struct rs_region_config layout = {.vcpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF),
						.ring_bytes = 1 << 20};
	struct rs_agent_config config = {.ops = &ops,
					 .agent = "bench",
					 .name = "bench",
					 .cpu_count = layout.vcpus,
					 .flags = RS_GUEST_SELF_PATCH};
	struct rs_control *control;

	if (rs_region_create(&layout, &region, NULL))
		exit(1);
	config.region = region->map;
	config.region_size = region->size;
	if (rs_agent_init(&config) || rs_agent_register(&image) ||
	    rs_provider_register(&statements))
		exit(1);
	control = rs_trace_region_section(region, RS_SEC_CONTROL, NULL);
	control->flags = RS_CONTROL_SELF_PATCH;
}

static void switch_all(bool on)
{
	struct rs_control *control = rs_trace_region_section(region, RS_SEC_CONTROL, NULL);
	uint32_t *words = rs_trace_region_section(region, RS_SEC_EVENT_CTL, NULL);

	for (uint32_t id = RS_FIRST_EVENT_ID; id < RS_FIRST_EVENT_ID + 16; id++)
		words[id] = on ? RS_EVENT_ENABLED : 0;
	control->generation++;
	if (rs_agent_apply_control())
		exit(1);
}

static void measure(const char *suffix)
{
	double event, statement, activity, gate, ask;
	struct rs_activity_id id;
	char name[64];

	rs_activity_create(&id);
	BENCH(event, trace_bench_two(i, i + 1));
	BENCH(statement, RS_PROVIDER_WRITE(statements, "two", 4, 1, __field(u32, a, i),
					   __field(u32, b, i + 1)));
	BENCH(activity, RS_PROVIDER_WRITE(statements, "activity", 4, 1, __activity(&id)));
	BENCH(gate, RS_PROVIDER_ENABLED(statements));
	BENCH(ask, rs_provider_enabled(&statements));
	snprintf(name, sizeof(name), "event-%s", suffix);
	bench_print(name, event, "ns");
	snprintf(name, sizeof(name), "statement-%s", suffix);
	bench_print(name, statement, "ns");
	snprintf(name, sizeof(name), "statement-activity-%s", suffix);
	bench_print(name, activity, "ns");
	snprintf(name, sizeof(name), "provider-enabled-%s", suffix);
	bench_print(name, gate, "ns");
	snprintf(name, sizeof(name), "provider-enabled-by-address-%s", suffix);
	bench_print(name, ask, "ns");
	if (suffix[1] == 'n')
		bench_print("statement/event", statement / event, "times");
}

int main(void)
{
	double empty;

	begin();
	BENCH(empty, (void)0);
	bench_print("empty", empty, "ns");
	measure("off");
	switch_all(true);
	measure("on");
	return 0;
}
