/* SPDX-License-Identifier: MIT */
/*
 * How an event of the kernel is printed. The kernel evaluates an expression for each argument of
 * TP_printk; a host only knows fields. So the source text of the arguments is kept (kernel_stages.h
 * makes the notes), and what is a field, with a cast or names for its values, is taken over. An
 * event with other arguments is printed as a list of its fields.
 *
 * Only while the module is loaded. May sleep.
 */
#ifndef RS_KERNEL_PRINT_H
#define RS_KERNEL_PRINT_H

#include <linux/compiler.h>
#include <linux/trace_events.h>
#include <linux/types.h>

struct rs_event_info;
struct rs_field_info;
struct rs_kernel_event;

/* Lies in section rs_kernel_notes, as a pointer. */
struct rs_kernel_note {
	const char *of;   /* the function that stands for an event class: rs_kernel_event.printed */
	const char *text; /* the format; of pairs the expression whose value has names */
	const char *args; /* of the format: the expressions; NULL: these are pairs */
	const struct trace_print_flags *pairs; /* up to the one whose name is NULL */
	u32 kind;                              /* of pairs: RS_KIND_ENUM or RS_KIND_FLAGS */
};

/*
 * Fills in info->print and info->print_args, and kinds and symbols of `fields`, of which there are
 * info->field_count. What it allocates is freed, with info and fields, by rs_kernel_print_free().
 * 0 or -ENOMEM; then only info and fields are the caller's to free.
 */
int rs_kernel_print_describe(const struct rs_kernel_event *event, struct rs_event_info *info,
			     struct rs_field_info *fields);
void rs_kernel_print_free(struct rs_event_info *info);

/* For the compiler's eyes only. */
static inline void rs_kernel_ignore(const char *format, ...)
{
}

#endif
