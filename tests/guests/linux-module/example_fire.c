/* SPDX-License-Identifier: MIT */
/* The places where the example's events fire: one from a task, one from an interrupt, and 200. */
#include "example.h"

#include "events.h"

#define FOUR(n)                                                                                    \
	trace_example_many(n), trace_example_many(n + 1), trace_example_many(n + 2),               \
		trace_example_many(n + 3)
#define TWENTY(n) FOUR(n), FOUR(n + 4), FOUR(n + 8), FOUR(n + 12), FOUR(n + 16)

void example_tick(unsigned int number, const char *where)
{
	trace_example_tick(number, where);
}

void example_many(void)
{
	TWENTY(0), TWENTY(20), TWENTY(40), TWENTY(60), TWENTY(80);
	TWENTY(100), TWENTY(120), TWENTY(140), TWENTY(160), TWENTY(180);
}
