/* SPDX-License-Identifier: MIT */
#include "syscall_events.h"

#include "core.h"
#include "hook.h"
#include "kernel_emit.h"
#include "syscalls.h"

#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <asm/compat.h>
#include <asm/syscall.h>

/* The record: the call's number in its first word, and a word for each argument. */
#define WORDS (1 + RS_CALL_ARGS)
#define TEXT_SIZE 192 /* of print, and of print_args */

struct call_event {
	struct rs_event event;
	struct rs_event_info info;
	struct rs_field_info fields[WORDS];
	char *name, *print, *print_args;
	char *words; /* names and types of the fields */
	bool enters;
};

/* By the call's number; NULL: there is no such call. */
struct call {
	struct call_event *enter, *exit;
};
static struct call *calls;
static u32 call_count;
static struct call_event *events;
static u32 event_count;
static struct rs_agent_provider provider = {.name = "linux-syscalls"};

#define each_event(e) for (struct call_event *e = events; e < events + event_count; e++)

/* ---- probes ---- */

static notrace void emit(struct call_event *e, const u64 *words)
{
	u32 control;

	/* Newer kernels call these probes with preemption enabled. */
	preempt_disable_notrace();
	control = rs_event_control(&e->event);
	if (control & RS_EVENT_ENABLED)
		rs_emit_entry(&e->event, control, words, e->info.entry_size, NULL, 0);
	preempt_enable_notrace();
}

/* Programs of 32 bits have other numbers. */
static notrace const struct call *call_of(long number)
{
	return number < 0 || number >= call_count || in_ia32_syscall() ? NULL : &calls[number];
}

static notrace void on_enter(void *data, struct pt_regs *regs, long number)
{
	const struct call *call = call_of(number);
	unsigned long args[RS_CALL_ARGS];
	u64 words[WORDS] = {number};

	if (!call || !call->enter || !(rs_event_control(&call->enter->event) & RS_EVENT_ENABLED))
		return; /* its arguments need not be fetched */
	syscall_get_arguments(current, regs, args);
	for (u32 i = 0; i < RS_CALL_ARGS; i++)
		words[1 + i] = args[i];
	emit(call->enter, words);
}

static notrace void on_exit(void *data, struct pt_regs *regs, long result)
{
	long number = syscall_get_nr(current, regs);
	const struct call *call = call_of(number);
	const u64 words[WORDS] = {number, result};

	if (call && call->exit)
		emit(call->exit, words);
}

static struct rs_hook enter_hook = {"sys_enter", on_enter}, exit_hook = {"sys_exit", on_exit};

u32 rs_syscall_events_follow(void)
{
	u32 entered = 0, left = 0;

	each_event(e)
	{
		bool on = rs_event_control(&e->event) & RS_EVENT_ENABLED;

		entered += on && e->enters;
		left += on && !e->enters;
	}
	rs_hook_set(&enter_hook, entered);
	rs_hook_set(&exit_hook, left);
	return (enter_hook.on ? entered : 0) + (exit_hook.on ? left : 0);
}

bool rs_syscall_events_stop(void)
{
	bool any = rs_hook_set(&enter_hook, false);

	return rs_hook_set(&exit_hook, false) || any;
}

/* ---- what describes them ---- */

static const struct {
	const char *type;
	u8 kind, size;
	const char *shown;
} kinds[] = {
	{"int", RS_KIND_SINT, 4, "%d"},      {"uint", RS_KIND_UINT, 4, "%u"},
	{"size_t", RS_KIND_UINT, 8, "%u"},   {"long", RS_KIND_SINT, 8, "%d"},
	{"pid_t", RS_KIND_SINT, 4, "%d"},    {"u32", RS_KIND_UINT, 4, "%u"},
	{"umode_t", RS_KIND_UINT, 2, "%#o"}, {"uid_t", RS_KIND_UINT, 4, "%u"},
	{"gid_t", RS_KIND_UINT, 4, "%u"},    {"off_t", RS_KIND_SINT, 8, "%d"},
	{"loff_t", RS_KIND_SINT, 8, "%d"},   {"clockid_t", RS_KIND_SINT, 4, "%d"},
	{"key_t", RS_KIND_SINT, 4, "%d"},    {"key_serial_t", RS_KIND_SINT, 4, "%d"},
	{"timer_t", RS_KIND_SINT, 4, "%d"},  {"mqd_t", RS_KIND_SINT, 4, "%d"},
	{"qid_t", RS_KIND_UINT, 4, "%u"},    {"s32", RS_KIND_SINT, 4, "%d"},
	{"rwf_t", RS_KIND_HEX, 4, "%#x"},    {"u64", RS_KIND_HEX, 8, "%#x"},
	{"ulong", RS_KIND_HEX, 8, "%#x"},    {"enum landlock_rule_type", RS_KIND_UINT, 4, "%u"},
};

static bool ends_with(const char *text, const char *end)
{
	size_t size = strlen(text), tail = strlen(end);

	return size >= tail && !strcmp(text + size - tail, end);
}

/* Adds a field, and returns how it is shown. */
static const char *add_field(struct call_event *e, const char *type, const char *name)
{
	struct rs_field_info *field = &e->fields[e->info.field_count];
	const char *shown = strchr(type, '*') ? "%p" : "%#x";

	*field = (struct rs_field_info){
		.name = name,
		.type = type,
		.offset = e->info.field_count * 8,
		.size = 8,
		.kind = strchr(type, '*') ? RS_KIND_POINTER : RS_KIND_HEX,
	};
	for (u32 i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (!strcmp(kinds[i].type, type)) {
			field->kind = kinds[i].kind;
			field->size = kinds[i].size;
			shown = kinds[i].shown;
		}
	}
	if (ends_with(name, "flags") && field->size <= 4)
		shown = "%#x";
	e->info.field_count++;
	e->info.entry_size = e->info.field_count * 8;
	return shown;
}

static void add_shown(struct call_event *e, const char *type, const char *name)
{
	const char *shown = add_field(e, type, name);
	bool first = !*e->print;
	size_t print = strlen(e->print), args = strlen(e->print_args);

	scnprintf(e->print + print, TEXT_SIZE - print, "%s%s=%s", first ? "" : " ", name, shown);
	scnprintf(e->print_args + args, TEXT_SIZE - args, "%s%s", first ? "" : ",", name);
}

/* Each argument's type and name get a NUL behind them, for which there is room. */
static void add_arguments(struct call_event *e, const char *prototype)
{
	char *out = e->words;

	while (*prototype && e->info.field_count < WORDS) {
		size_t size = strcspn(prototype, ","), type = size;
		char *name;

		while (type && prototype[type - 1] != ' ' && prototype[type - 1] != '*')
			type--;
		name = out + type + 1;
		memcpy(out, prototype, type);
		out[type] = '\0';
		memcpy(name, prototype + type, size - type);
		name[size - type] = '\0';
		add_shown(e, strim(out), name);
		out = name + (size - type) + 1;
		prototype += size;
		prototype += strspn(prototype, ", ");
	}
}

/* A call whose arguments are not known has them all. */
#define UNKNOWN "ulong arg1, ulong arg2, ulong arg3, ulong arg4, ulong arg5, ulong arg6"

static int describe(struct call_event *e, const char *name, long number)
{
	const char *prototype = rs_call_prototype(number) ?: UNKNOWN;

	e->name = kasprintf(GFP_KERNEL, "sys_%s_%s", e->enters ? "enter" : "exit", name);
	e->print = kzalloc(TEXT_SIZE, GFP_KERNEL);
	e->print_args = kzalloc(TEXT_SIZE, GFP_KERNEL);
	e->words = kzalloc(strlen(prototype) + 2 * WORDS, GFP_KERNEL);
	if (!e->name || !e->print || !e->print_args || !e->words)
		return -ENOMEM;
	add_field(e, "int", "__syscall_nr");
	if (e->enters)
		add_arguments(e, prototype);
	else
		add_shown(e, "long", "ret");
	e->info.system = "syscalls";
	e->info.name = e->name;
	e->info.print = e->print;
	e->info.print_args = e->print_args;
	e->info.fields = e->fields;
	e->event.info = &e->info;
	return 0;
}

static int add_call(const struct rs_symbol_info *of, struct rs_event ***link)
{
	struct call *call = &calls[of->value];
	int err = 0;

	/* A number without a call of its own. */
	if (!strcmp(of->name, "sys_ni_syscall"))
		return 0;
	for (u32 side = 0; side < 2 && !err; side++) {
		struct call_event *e = &events[event_count++];

		e->enters = side == 0;
		err = describe(e, of->name + strlen("sys_"), of->value);
		if (err)
			break;
		*(e->enters ? &call->enter : &call->exit) = e;
		rs_store(*link, &e->event);
		*link = &e->event.next;
	}
	return err;
}

int rs_syscall_events_find(void)
{
	struct rs_event **link = &provider.first;
	int err = 0;

	rs_hooks_find(&enter_hook, 1);
	rs_hooks_find(&exit_hook, 1);
	if (!enter_hook.tracepoint || !exit_hook.tracepoint)
		return -ENOENT;
	for (u32 i = 0; i < rs_call_name_count; i++)
		call_count = max_t(u32, call_count, rs_call_names[i].value + 1);
	calls = kvcalloc(call_count, sizeof(*calls), GFP_KERNEL);
	events = kvcalloc(2 * rs_call_name_count, sizeof(*events), GFP_KERNEL);
	if (!calls || !events)
		err = -ENOMEM;
	for (u32 i = 0; i < rs_call_name_count && !err; i++)
		err = add_call(&rs_call_names[i], &link);
	if (err)
		rs_syscall_events_free();
	return err;
}

void rs_syscall_events_free(void)
{
	each_event(e)
	{
		kfree(e->name);
		kfree(e->print);
		kfree(e->print_args);
		kfree(e->words);
	}
	kvfree(events);
	kvfree(calls);
	events = NULL;
	calls = NULL;
	event_count = call_count = 0;
	provider.first = NULL;
}

int rs_syscall_events_register(void)
{
	return event_count ? rs_core_register(&provider) : 0;
}

void rs_syscall_events_unregister(void)
{
	if (provider.id)
		rs_agent_unregister(&provider);
}
