/* SPDX-License-Identifier: MIT */
/* ringside.ko: the agent of a Linux guest. docs/linux-module.md says how it is used. */
#define pr_fmt(fmt) "ringside: " fmt
#include "module.h"

#include "commands.h"
#include "kernel_events.h"
#include "syscalls.h"

#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/panic_notifier.h>
#include <linux/reboot.h>

/* Nothing here waits for the host: it finds what was noted. */
static int on_panic(struct notifier_block *block, unsigned long code, void *why)
{
	rs_agent_note_panic(why);
	return NOTIFY_DONE;
}

static int on_reboot(struct notifier_block *block, unsigned long code, void *command)
{
	/* After a restart the module comes again, as the next boot of the same guest. */
	if (code != SYS_RESTART)
		rs_agent_note_exit(0);
	return NOTIFY_DONE;
}

static struct notifier_block panic_block = {.notifier_call = on_panic, .priority = INT_MAX};
static struct notifier_block reboot_block = {.notifier_call = on_reboot};

static int __init begin(void)
{
	int err = rs_page_table_make();

	if (err)
		return err;
	rs_calls_count();
	err = rs_kernel_events_find();
	if (err) {
		rs_page_table_free();
		return err;
	}
	rs_commands_find();
	atomic_notifier_chain_register(&panic_notifier_list, &panic_block);
	register_reboot_notifier(&reboot_block);
	err = rs_pci_begin();
	if (!err) {
		/* Last, since a module whose file is open must not fail any more. */
		err = rs_chardev_begin();
		if (!err)
			return 0;
		rs_pci_end();
	}
	unregister_reboot_notifier(&reboot_block);
	atomic_notifier_chain_unregister(&panic_notifier_list, &panic_block);
	rs_kernel_events_free();
	rs_page_table_free();
	return err;
}

static void __exit end(void)
{
	rs_chardev_end();
	rs_pci_end();
	unregister_reboot_notifier(&reboot_block);
	atomic_notifier_chain_unregister(&panic_notifier_list, &panic_block);
	rs_commands_free();
	rs_kernel_events_free();
	rs_page_table_free();
}

module_init(begin);
module_exit(end);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Ringside: traced from the host");
MODULE_VERSION(RS_MODULE_VERSION);
