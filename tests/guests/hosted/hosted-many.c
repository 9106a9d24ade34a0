/* SPDX-License-Identifier: MIT */
/* For the test: a thousand sites of one event, and two threads that run through them for ever. */
#define RS_CREATE_TRACE_POINTS
#include <ringside/event.h>

#include <pthread.h>
#include <rs_hosted.h>

RS_TRACE_EVENT(many, site, TP_PROTO(uint32_t number), TP_ARGS(number),
	       TP_STRUCT__entry(__field(u32, number)), TP_fast_assign(__entry->number = number;),
	       TP_printk("number=%u", number))

#define TEN(n)                                                                                     \
	trace_many_site(n);                                                                        \
	trace_many_site(n + 1);                                                                    \
	trace_many_site(n + 2);                                                                    \
	trace_many_site(n + 3);                                                                    \
	trace_many_site(n + 4);                                                                    \
	trace_many_site(n + 5);                                                                    \
	trace_many_site(n + 6);                                                                    \
	trace_many_site(n + 7);                                                                    \
	trace_many_site(n + 8);                                                                    \
	trace_many_site(n + 9);
#define HUNDRED(n)                                                                                 \
	TEN(n)                                                                                     \
	TEN(n + 10)                                                                                \
	TEN(n + 20)                                                                                \
	TEN(n + 30)                                                                                \
	TEN(n + 40) TEN(n + 50) TEN(n + 60) TEN(n + 70) TEN(n + 80) TEN(n + 90)

static void *run(void *data)
{
	for (;;) {
		HUNDRED(0)
		HUNDRED(100)
		HUNDRED(200)
		HUNDRED(300)
		HUNDRED(400)
		HUNDRED(500)
		HUNDRED(600)
		HUNDRED(700)
		HUNDRED(800)
		HUNDRED(900)
		__asm__ volatile("" ::: "memory");
	}
	return NULL;
}

int main(void)
{
	pthread_t thread;

	if (rs_hosted_init("hosted-many") || pthread_create(&thread, NULL, run, NULL))
		return 1;
	run(NULL);
	return 0;
}
