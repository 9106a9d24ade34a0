/* SPDX-License-Identifier: MIT */
#define RS_CREATE_TRACE_POINTS
#include <ringside/event.h>
#include <rs_hosted.h>
#include <time.h>

RS_TRACE_EVENT(kitchen, cooked, TP_PROTO(const char *dish, uint32_t minutes),
	       TP_ARGS(dish, minutes), TP_STRUCT__entry(__string(dish), __field(u32, minutes)),
	       TP_fast_assign(__assign_str(dish, dish); __entry->minutes = minutes;),
	       TP_printk("dish=%s minutes=%u", dish, minutes))

int main(void)
{
	static const char *const dishes[] = {"soup", "bread", "tea"};
	const struct timespec moment = {.tv_nsec = 10000000};

	rs_hosted_init("kitchen");
	for (uint32_t i = 0; i < 30; i++) {
		nanosleep(&moment, NULL);
		trace_kitchen_cooked(dishes[i % 3], i);
	}
	return 0;
}
