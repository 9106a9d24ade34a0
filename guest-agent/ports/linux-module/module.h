/* SPDX-License-Identifier: MIT */
/*
 * What the files of the module have of one another. One memory of one device is used at a time, and
 * one thread of the module does all that the agent does between events.
 */
#ifndef RS_LINUX_MODULE_H
#define RS_LINUX_MODULE_H

#include <linux/pci.h>
#include <linux/types.h>

#include <ringside/agent.h>

/* ---- pci.c: the device ---- */

/* Looks for devices from now on, and begins with the first that has a directory. 0 or -errno. */
int rs_pci_begin(void);
void rs_pci_end(void);

/* ---- agent.c: the agent's life ---- */

/*
 * set_memory begins a life on a memory that holds a directory, or will. 0 or -errno. take_memory
 * ends it: once it has returned, nothing touches the memory any more. `gone`: the device is not
 * there any more, so the host cannot be told.
 */
int rs_agent_set_memory(void *memory, u64 size, const char *device);
void rs_agent_take_memory(bool gone);

/* ---- unwind.c ---- */

/* rs_trace_ops.call_stack */
u32 rs_call_stack(u64 *frames, u32 max);

/* ---- modules.c: events of other modules ---- */

/* They are registered whenever there is a region, between these two. The module's thread. */
void rs_modules_begin(void);
void rs_modules_end(void);

/* ---- chardev.c: regions for programs ---- */

/* /dev/ringside. 0 or -errno. */
int rs_chardev_begin(void);
void rs_chardev_end(void);
/*
 * set_memory: programs may have regions of this memory, which has `size` bytes, lies at physical
 * `address`, and is mapped at `at`. take_memory: none has any more, and nothing touches the memory.
 * `gone`: nor can their claims be left there.
 */
void rs_chardev_set_memory(void *at, resource_size_t address, u64 size);
void rs_chardev_take_memory(bool gone);
/* Takes back what the host wants back or has laid out anew. To be called now and then. */
void rs_chardev_follow(void);

/* ---- pages.c: what the host translates the module's addresses with ---- */

int rs_page_table_make(void);
void rs_page_table_free(void);
u64 rs_page_table_root(void);
u32 rs_page_table_kind(void); /* RS_PAGING_* */

#endif
