/* SPDX-License-Identifier: MIT */
#define pr_fmt(fmt) "ringside: " fmt
#include "kernel_raw.h"

#include "btf.h"
#include "core.h"
#include "kernel_emit.h"

#include <linux/slab.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <ringside/name.h>

#define PRINT_MAX (RS_BTF_ARGS * 16)

struct raw {
	struct rs_event event;
	struct rs_event_info info;
	struct rs_field_info *fields;
	struct rs_btf_arg *args;
	struct tracepoint *tracepoint;
	char *text; /* print, then print_args */
	u32 count;
	bool on;
};

static struct raw *raws;
static u32 raw_count;
static struct rs_agent_provider provider = {.name = "linux-tracepoints"};

#define each_raw(raw) for (struct raw *raw = raws; raw < raws + raw_count; raw++)

static const char *const arg_names[RS_BTF_ARGS] = {
	"arg1", "arg2", "arg3", "arg4", "arg5", "arg6", "arg7", "arg8", "arg9", "arg10", "arg11",
};

/* ---- probes ---- */

static __always_inline void emit(struct raw *raw, const u64 *args)
{
	u32 control;

	/* Newer kernels call probes of system calls with preemption enabled. */
	preempt_disable_notrace();
	control = rs_event_control(&raw->event);
	if (control & RS_EVENT_ENABLED)
		rs_emit_entry(&raw->event, control, args, raw->count * 8, NULL, 0);
	preempt_enable_notrace();
}

/* The arguments come in registers, whatever their number is: what is beyond is not recorded. */
static notrace void probe(void *data, u64 a, u64 b, u64 c, u64 d, u64 e)
{
	const u64 args[] = {a, b, c, d, e};

	emit(data, args);
}
#define IN_REGISTERS 5

/* For those that have more. The rest of what it reads there is the stack of its callers. */
static notrace void probe_more(void *data, u64 a, u64 b, u64 c, u64 d, u64 e, u64 f, u64 g, u64 h,
			       u64 i, u64 j, u64 k)
{
	const u64 args[] = {a, b, c, d, e, f, g, h, i, j, k};

	BUILD_BUG_ON(ARRAY_SIZE(args) != RS_BTF_ARGS);
	emit(data, args);
}

static void *probe_of(const struct raw *raw)
{
	return raw->count > IN_REGISTERS ? (void *)probe_more : (void *)probe;
}

static bool set(struct raw *raw, bool on)
{
	int err;

	if (raw->on == on)
		return false;
	if (on)
		err = tracepoint_probe_register(raw->tracepoint, probe_of(raw), raw);
	else
		err = tracepoint_probe_unregister(raw->tracepoint, probe_of(raw), raw);
	if (err)
		pr_warn_ratelimited("%s: its probe cannot be %s: %d\n", raw->info.name,
				    on ? "registered" : "taken down", err);
	else
		raw->on = on;
	return !on;
}

u32 rs_kernel_raw_follow(void)
{
	u32 count = 0;

	each_raw (raw) {
		set(raw, rs_event_control(&raw->event) & RS_EVENT_ENABLED);
		count += raw->on;
	}
	return count;
}

bool rs_kernel_raw_stop(void)
{
	bool any = false;

	each_raw (raw)
		any |= set(raw, false);
	return any;
}

/* ---- what describes them ---- */

static void describe_arg(struct raw *raw, u32 i, u32 *print, u32 *args)
{
	static const char *const plain[] = {"u8", "u16", "u32", "u64"};
	struct rs_btf_arg *arg = &raw->args[i];
	struct rs_field_info *field = &raw->fields[i];

	*field = (struct rs_field_info){
		.name = arg_names[i],
		.type = arg->type,
		.offset = i * 8,
		.size = arg->size,
		.kind = arg->is_pointer  ? RS_KIND_POINTER
			: arg->is_signed ? RS_KIND_SINT
					 : RS_KIND_UINT,
	};
	if (!rs_is_type(arg->type, RS_BTF_NAME))
		field->type = plain[ilog2(arg->size)];
	*print += scnprintf(raw->text + *print, PRINT_MAX - *print, "%s%s=%%%c", i ? " " : "",
			    field->name,
			    arg->is_pointer  ? 'p'
			    : arg->is_signed ? 'd'
					     : 'u');
	*args += scnprintf(raw->text + PRINT_MAX + *args, PRINT_MAX - *args, "%s%s", i ? "," : "",
			   field->name);
}

static int describe(struct raw *raw, const struct rs_btf_arg *args)
{
	u32 print = 0, print_args = 0;

	raw->args = kmemdup(args, raw->count * sizeof(*args), GFP_KERNEL);
	raw->fields = kcalloc(raw->count + 1, sizeof(*raw->fields), GFP_KERNEL);
	raw->text = kzalloc(2 * PRINT_MAX, GFP_KERNEL);
	if ((!raw->args && raw->count) || !raw->fields || !raw->text)
		return -ENOMEM;
	for (u32 i = 0; i < raw->count; i++)
		describe_arg(raw, i, &print, &print_args);
	raw->info = (struct rs_event_info){
		.system = "tracepoint",
		.name = raw->tracepoint->name,
		.print = raw->text,
		.print_args = raw->text + PRINT_MAX,
		.fields = raw->fields,
		.field_count = raw->count,
		.entry_size = raw->count * 8,
	};
	raw->event.info = &raw->info;
	return 0;
}

struct finding {
	bool (*is_known)(const char *name);
	const struct rs_btf *btf;
	struct rs_event **link;
	u32 room;
	int err;
};

static void count_one(struct tracepoint *tracepoint, void *data)
{
	++*(u32 *)data;
}

static void take_one(struct tracepoint *tracepoint, void *data)
{
	struct finding *finding = data;
	struct rs_btf_arg args[RS_BTF_ARGS];
	struct raw *raw = &raws[raw_count];
	int count;

	if (finding->err || raw_count == finding->room || finding->is_known(tracepoint->name))
		return;
	count = rs_btf_tracepoint(finding->btf, tracepoint->name, args);
	if (count < 0)
		return;
	raw->tracepoint = tracepoint;
	raw->count = count;
	raw_count++;
	finding->err = describe(raw, args);
	if (finding->err)
		return;
	rs_store(finding->link, &raw->event);
	finding->link = &raw->event.next;
}

int rs_kernel_raw_find(const struct rs_btf *btf, bool (*is_known)(const char *name))
{
	struct finding finding = {.is_known = is_known, .btf = btf, .link = &provider.first};
	int err;

	for_each_kernel_tracepoint(count_one, &finding.room);
	raws = kvcalloc(finding.room + 1, sizeof(*raws), GFP_KERNEL);
	if (raws)
		for_each_kernel_tracepoint(take_one, &finding);
	err = raws ? finding.err : -ENOMEM;
	if (err)
		rs_kernel_raw_free();
	return err;
}

void rs_kernel_raw_free(void)
{
	each_raw (raw) {
		kfree(raw->args);
		kfree(raw->fields);
		kfree(raw->text);
	}
	kvfree(raws);
	raws = NULL;
	raw_count = 0;
	provider.first = NULL;
}

int rs_kernel_raw_register(void)
{
	return raw_count ? rs_core_register(&provider) : 0;
}

void rs_kernel_raw_unregister(void)
{
	if (provider.id)
		rs_agent_unregister(&provider);
}
