/* SPDX-License-Identifier: MIT */
/*
 * A module with events of its own. What is written to its parameter `fire` fires them: so many
 * ticks, and each of the 200 places once. Meanwhile a timer ticks in interrupts. Its parameter `on`
 * says how many of its sites are on.
 */
#define RS_CREATE_TRACE_POINTS
#include "events.h"

#include "example.h"

#include <linux/module.h>
#include <linux/timer.h>
#include <rs_module.h>

static RS_PROVIDER(provider, "example");

static int fire(const char *text, const struct kernel_param *param)
{
	unsigned int count, i;
	int err = kstrtouint(text, 0, &count);

	if (err)
		return err;
	for (i = 0; i < count; i++)
		example_tick(i, "task");
	example_many();
	return 0;
}

static int count_on(char *out, const struct kernel_param *param)
{
	unsigned int count = 0;

	for (const struct rs_site *site = provider.sites; site < provider.sites_end; site++)
		count += *((const u8 *)&site->code + site->code) == 0xe9;
	return sysfs_emit(out, "%u\n", count);
}

static const struct kernel_param_ops fire_ops = {.set = fire}, on_ops = {.get = count_on};
module_param_cb(fire, &fire_ops, NULL, 0200);
module_param_cb(on, &on_ops, NULL, 0444);

static void on_timer(struct timer_list *timer);
static DEFINE_TIMER(timer, on_timer);
static unsigned int interrupts;

static void on_timer(struct timer_list *unused)
{
	example_tick(interrupts++, "timer");
	mod_timer(&timer, jiffies + 1);
}

static int __init begin(void)
{
	int err = rs_module_register(THIS_MODULE, &provider);

	if (!err)
		mod_timer(&timer, jiffies + 1);
	return err;
}

static void __exit end(void)
{
	timer_shutdown_sync(&timer);
	rs_module_unregister(&provider);
}

module_init(begin);
module_exit(end);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Events of Ringside in a module");
