/* SPDX-License-Identifier: MIT */
/*
 * Tables of clock epochs, one after the other, as a file or a guest in QEMU may hold them. For any
 * tables, a time belongs to one epoch, whatever was asked before, and later ticks
 * of it are not at an earlier time.
 */
#include "seed.h"
#include "rs-trace-clock.h"

#include <string.h>

#define ENTRIES 4u

typedef struct {
	guint32 epoch_count;
	guint32 named;
	guint64 ticks;
	guint8 copied; /* entries */
	struct __attribute__((packed)) {
		guint8 ago;                /* the index is epoch_count - ago */
		guint8 chain, mult, shift; /* the chain is index - chain / 8 */
		guint32 tsc_base;
		guint32 ns_base;
		guint8 tsc_shift, ns_shift; /* shifts of the two above */
	} entry[ENTRIES];
} __attribute__((packed)) Step;

static void rs_fuzz_seeds(void)
{
	Step steps[2] = {{.epoch_count = 2, .ticks = 150, .copied = 2},
			 {.epoch_count = 5, .named = 4, .ticks = 120, .copied = ENTRIES}};

	for (guint i = 0; i < 5; i++)
		for (guint s = 0; s < 2; s++) {
			guint count = steps[s].epoch_count;

			if (i >= count || i + ENTRIES < count)
				continue;
			steps[s].entry[i % ENTRIES].ago = (guint8)(count - i);
			steps[s].entry[i % ENTRIES].chain = (i < 3 ? i : i - 3) * 8;
			steps[s].entry[i % ENTRIES].mult = 1;
			steps[s].entry[i % ENTRIES].tsc_base = i == 3 ? 50 : i * 100;
			steps[s].entry[i % ENTRIES].ns_base = i * 1000;
		}
	rs_fuzz_seed("steps", steps, sizeof(steps));
	/* No epoch, but the clock's rate. */
	steps[0] = (Step){.ticks = 1000, .copied = 130};
	rs_fuzz_seed("rate", steps, sizeof(steps[0]));
}

static void take(RsTraceClock *clock, const Step *step)
{
	struct rs_clock_epoch table[ENTRIES];

	for (guint i = 0; i < ENTRIES; i++)
		table[i] = (struct rs_clock_epoch){
			.index = step->epoch_count - step->entry[i].ago,
			.chain = step->epoch_count - step->entry[i].ago - step->entry[i].chain / 8,
			.tsc_base = (guint64)step->entry[i].tsc_base
				    << step->entry[i].tsc_shift % 33,
			.ns_base = (guint64)step->entry[i].ns_base << step->entry[i].ns_shift % 33,
			.mult = step->entry[i].mult * 0x01010101u >> step->entry[i].chain % 8,
			.shift = step->entry[i].shift,
		};
	rs_trace_clock_take(clock, table, step->copied % (ENTRIES + 1), step->epoch_count);
}

static void look(RsTraceClock *clock, guint32 chain, guint64 ticks)
{
	guint32 epoch, again;
	guint64 ns = rs_trace_clock_ns(clock, chain, ticks, &epoch);

	/* Another time in between: what the clock remembers of the last one does not matter. */
	rs_trace_clock_ns(clock, chain + 1, ~ticks, NULL);
	if (rs_trace_clock_ns(clock, chain, ticks, &again) != ns || again != epoch)
		abort();
	if (ticks == G_MAXUINT64)
		return;
	if (rs_trace_clock_ns(clock, chain, ticks + 1, &again) < ns && again == epoch)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	RsTraceClock *clock = rs_trace_clock_new(size);
	Step step;

	for (; size >= sizeof(step); data += sizeof(step), size -= sizeof(step)) {
		const struct rs_boot boots[RS_BOOTS] = {
			{.boot = 8, .chain = step.named, .ts = step.ticks}};
		struct rs_clock_epoch rate = {0};
		RsTraceMoment when;
		guint64 ns;

		memcpy(&step, data, sizeof(step));
		take(clock, &step);
		if (step.copied & 128)
			rs_trace_clock_set_hz(clock, step.ticks);
		rs_trace_clock_set_boots(clock, boots);
		rs_trace_clock_rate(step.ticks | 1, &rate);
		if (rate.shift > 32)
			abort();
		if (!rs_trace_clock_boot(clock, 8, &ns, &when) ||
		    rs_trace_clock_boot(clock, 1, &ns, &when))
			abort();
		look(clock, step.named, step.ticks);
		look(clock, step.epoch_count - 1, step.ticks);
		look(clock, step.epoch_count - 1, step.entry[0].tsc_base);
	}
	rs_trace_clock_free(clock);
	return 0;
}
