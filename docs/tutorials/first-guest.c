/* SPDX-License-Identifier: MIT */
#define RS_CREATE_TRACE_POINTS
#include <ringside/event.h>
#include <rs_baremetal.h>

RS_TRACE_EVENT(kitchen, cooked, TP_PROTO(const char *dish, uint32_t minutes),
	       TP_ARGS(dish, minutes), TP_STRUCT__entry(__string(dish), __field(u32, minutes)),
	       TP_fast_assign(__assign_str(dish, dish); __entry->minutes = minutes;),
	       TP_printk("dish=%s minutes=%u", dish, minutes))

const char rs_guest_name[] = "kitchen";

void rs_main(uint32_t cpu)
{
	static const char *const dishes[] = {"soup", "bread", "tea"};
	uint64_t wanted = rs_option_u64("dishes", 300);

	if (cpu != 0)
		return;
	for (uint32_t i = 0; i < wanted; i++) {
		uint64_t start = rs_tsc();
		while (rs_tsc() - start < rs_tsc_hz() / 100)
			rs_pause();
		trace_kitchen_cooked(dishes[i % 3], i % 60);
	}
	rs_printf("%lu dishes cooked\n", wanted);
}
