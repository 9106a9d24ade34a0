/* SPDX-License-Identifier: MIT */
#define pr_fmt(fmt) "ringside: " fmt
#include "kernel_events.h"

#include "arch.h"
#include "btf.h"
#include "core.h"
#include "kernel_emit.h"
#include "kernel_print.h"
#include "kernel_raw.h"
#include "ktrace_records.h"
#include "private.h"
#include "syscall_events.h"

#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <ringside/name.h>

extern struct rs_kernel_event *const __start_rs_kernel_events[];
extern struct rs_kernel_event *const __stop_rs_kernel_events[];

#define each_kernel_event(e)                                                                       \
	for (struct rs_kernel_event *const *at = __start_rs_kernel_events, *e;                     \
	     at < __stop_rs_kernel_events && (e = *at, true); at++)

static struct rs_agent_provider provider = {.name = "linux"};

/* ---- the kernel's tracepoints ---- */

static void take_tracepoint(struct tracepoint *tracepoint, void *data)
{
	each_kernel_event (e)
		if (!strcmp(e->name, tracepoint->name))
			e->tracepoint = tracepoint;
}

static u32 count_fields(const struct rs_kernel_event *e)
{
	u32 n = 0;

	while (e->fields()[n].name)
		n++;
	return n;
}

/* A kernel may have a type that has more than letters in it. */
static const char *type_of(const struct rs_kernel_field *from)
{
	static const char *const plain[] = {"u8", "u16", "u32", "u64"};
	u32 size = from->elem_size ? from->elem_size : from->size;

	if (rs_is_type(from->type, RS_SYMBOL_LEN - 16))
		return from->type;
	return plain[size >= 8 ? 3 : size >= 4 ? 2 : size - 1];
}

static void take_field(const struct rs_kernel_field *from, struct rs_field_info *out)
{
	*out = (struct rs_field_info){
		.name = from->name,
		.type = type_of(from),
		.offset = from->offset,
		.size = from->size,
		.elem_size = from->elem_size,
		.elem_count = from->elem_count,
		.kind = from->kind,
		.flags = from->flags,
	};
}

static int describe(struct rs_kernel_event *e)
{
	u32 count = count_fields(e);
	struct rs_event_info *info = kzalloc(sizeof(*info), GFP_KERNEL);
	struct rs_field_info *fields = kcalloc(count + 1, sizeof(*fields), GFP_KERNEL);
	int err = -ENOMEM;

	if (info && fields) {
		for (u32 i = 0; i < count; i++)
			take_field(&e->fields()[i], &fields[i]);
		info->system = e->system;
		info->name = e->name;
		info->fields = fields;
		info->field_count = count;
		info->entry_size = e->entry_size;
		err = rs_kernel_print_describe(e, info, fields);
	}
	if (err) {
		kfree(fields);
		kfree(info);
		return err;
	}
	e->info = info;
	e->event->info = info;
	return 0;
}

static bool is_known(const char *name)
{
	each_kernel_event (e)
		if (e->tracepoint && !strcmp(e->name, name))
			return true;
	return false;
}

static void find_others(void)
{
	struct rs_btf *btf = NULL;
	int err = rs_syscall_events_find();

	if (err)
		pr_info("no events of single system calls: %pe\n", ERR_PTR(err));
	err = rs_btf_open(&btf);
	if (!err) {
		rs_private_find(btf);
		err = rs_kernel_raw_find(btf, is_known);
		rs_btf_close(btf);
	}
	if (err)
		pr_info("no raw tracepoints: %pe\n", ERR_PTR(err));
}

int rs_kernel_events_find(void)
{
	struct rs_event **link = &provider.first;
	int err = rs_kernel_scratch_init();

	for_each_kernel_tracepoint(take_tracepoint, NULL);
	each_kernel_event (e) {
		if (err || !e->tracepoint)
			continue;
		err = describe(e);
		if (err)
			continue;
		rs_store(link, e->event);
		link = &e->event->next;
	}
	if (err) {
		rs_kernel_events_free();
		return err;
	}
	rs_ktrace_events_link(link);
	/* The others are no reason to have none. */
	find_others();
	return 0;
}

void rs_kernel_events_free(void)
{
	rs_kernel_raw_free();
	rs_syscall_events_free();
	each_kernel_event (e) {
		e->event->info = NULL;
		rs_kernel_print_free(e->info);
		e->info = NULL;
	}
	provider.first = NULL;
	rs_kernel_scratch_exit();
}

int rs_kernel_events_register(void)
{
	int err, more;

	provider.sites = __start_rs_sites;
	provider.sites_end = __stop_rs_sites;
	err = rs_core_register(&provider);
	if (err)
		return err;
	more = rs_syscall_events_register();
	if (more)
		pr_info("no events of single system calls: %s\n", rs_agent_strerror(more));
	more = rs_kernel_raw_register();
	if (more)
		pr_info("no raw tracepoints: %s\n", rs_agent_strerror(more));
	return 0;
}

void rs_kernel_events_unregister(void)
{
	rs_kernel_raw_unregister();
	rs_syscall_events_unregister();
	rs_agent_unregister(&provider);
}

/* ---- their probes ---- */

/* Of single system calls and raw tracepoints, which have no sites. */
static u32 others_on;

/* True: a probe was taken down, and may still run. */
static bool set(struct rs_kernel_event *e, bool on)
{
	int err;

	if (!e->info || e->on == on)
		return false;
	if (on)
		err = tracepoint_probe_register(e->tracepoint, e->probe, NULL);
	else
		err = tracepoint_probe_unregister(e->tracepoint, e->probe, NULL);
	if (err)
		pr_warn_ratelimited("%s: its probe cannot be %s: %d\n", e->name,
				    on ? "registered" : "taken down", err);
	else
		e->on = on;
	return !on;
}

void rs_kernel_events_follow(void)
{
	/* Of the last look. The control words change only together with these. */
	static u32 generation, changes;
	static bool looked;
	u32 now = rs_load_acquire(rs_load(&rs_event_generation));
	u32 here = rs_load_acquire(&rs_event_changes);

	if (looked && now == generation && here == changes)
		return;
	looked = true;
	generation = now;
	changes = here;
	each_kernel_event (e)
		set(e, rs_event_control(e->event) & RS_EVENT_ENABLED);
	WRITE_ONCE(others_on, rs_syscall_events_follow() + rs_kernel_raw_follow());
}

void rs_kernel_events_stop(void)
{
	bool any = false;

	each_kernel_event (e)
		any |= set(e, false);
	any |= rs_syscall_events_stop();
	any |= rs_kernel_raw_stop();
	WRITE_ONCE(others_on, 0);
	if (any)
		tracepoint_synchronize_unregister();
}

static bool is_patched(const struct rs_site *site)
{
	u8 nop[RS_SITE_BYTES];

	rs_arch_site_nop(nop);
	return memcmp((const u8 *)&site->code + site->code, nop, sizeof(nop)) != 0;
}

static bool has_probe(const struct rs_event *event)
{
	each_kernel_event (e)
		if (e->event == event)
			return READ_ONCE(e->on);
	return false;
}

u32 rs_kernel_events_on(void)
{
	u32 count = READ_ONCE(others_on);

	for (const struct rs_site *site = __start_rs_sites; site < __stop_rs_sites; site++)
		if (is_patched(site))
			count += has_probe((const void *)((const u8 *)&site->event + site->event));
	return count;
}
