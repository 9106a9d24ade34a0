/* SPDX-License-Identifier: MIT */
#define pr_fmt(fmt) "ringside: " fmt
#include "hook.h"

#include <linux/printk.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

struct finding {
	struct rs_hook *hooks;
	u32 count;
};

static void take_tracepoint(struct tracepoint *tracepoint, void *data)
{
	const struct finding *finding = data;

	for (u32 i = 0; i < finding->count; i++)
		if (!strcmp(finding->hooks[i].name, tracepoint->name))
			finding->hooks[i].tracepoint = tracepoint;
}

void rs_hooks_find(struct rs_hook *hooks, u32 count)
{
	struct finding finding = {hooks, count};

	for_each_kernel_tracepoint(take_tracepoint, &finding);
}

bool rs_hook_set(struct rs_hook *hook, bool on)
{
	int err;

	if (!hook->tracepoint || hook->on == on)
		return false;
	if (on)
		err = tracepoint_probe_register(hook->tracepoint, hook->probe, NULL);
	else
		err = tracepoint_probe_unregister(hook->tracepoint, hook->probe, NULL);
	if (err)
		pr_warn_ratelimited("%s: its probe cannot be %s: %d\n", hook->name,
				    on ? "registered" : "taken down", err);
	else
		hook->on = on;
	return !on;
}

bool rs_hooks_stop(struct rs_hook *hooks, u32 count)
{
	bool any = false;

	for (u32 i = 0; i < count; i++)
		any |= rs_hook_set(&hooks[i], false);
	return any;
}
