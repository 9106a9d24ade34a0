/* SPDX-License-Identifier: MIT */
#include "kernel_print.h"

#include "kernel_events.h"
#include "syscalls.h"

#include <linux/ctype.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <ringside/name.h>

#define TEXT_MAX 2048

extern const struct rs_kernel_note *const __start_rs_kernel_notes[];
extern const struct rs_kernel_note *const __stop_rs_kernel_notes[];

#define each_note(note, event)                                                                     \
	for (const struct rs_kernel_note *const *at = __start_rs_kernel_notes, *note;              \
	     at < __stop_rs_kernel_notes && (note = *at, true); at++)                              \
		if (!strcmp(note->of, (event)->printed))

/* ---- what the kernel prints in a way that takes more than fields ---- */

struct own_text {
	const char *name, *print, *print_args;
	const char *field; /* it gets these symbols */
	const struct rs_symbol_info *symbols;
	u32 symbol_count; /* not used for those of system calls */
};

/* As `ps` shows them; the last is a task that was preempted. */
static const struct rs_symbol_info task_states[] = {
	{0x00, "R"}, {0x01, "S"}, {0x02, "D"}, {0x04, "T"}, {0x08, "t"},
	{0x10, "X"}, {0x20, "Z"}, {0x40, "P"}, {0x80, "I"}, {0x100, "R+"},
};

static const struct own_text own_texts[] = {
	{"sched_switch",
	 "prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s ==> next_comm=%s next_pid=%d "
	 "next_prio=%d",
	 "prev_comm,prev_pid,prev_prio,prev_state,next_comm,next_pid,next_prio", "prev_state",
	 task_states, ARRAY_SIZE(task_states)},
	{"sys_enter", "%s(%s)", "id,args", "id", rs_call_names},
	{"sys_exit", "%s = %d", "id,ret", "id", rs_call_names},
};

static const struct own_text *find_own(const struct rs_kernel_event *event)
{
	for (u32 i = 0; i < ARRAY_SIZE(own_texts); i++)
		if (!strcmp(own_texts[i].name, event->name))
			return &own_texts[i];
	return NULL;
}

/* ---- the source text of an argument ---- */

static bool is_word(char c)
{
	return isalnum(c) || c == '_';
}

/* Where the next argument at the same depth of brackets begins: behind the comma, or at the end. */
static const char *skip_argument(const char *text)
{
	bool quoted = false;
	int depth = 0;

	for (; *text; text++) {
		if (quoted && *text == '\\' && text[1])
			text++;
		else if (*text == '"')
			quoted = !quoted;
		else if (!quoted && strchr("({[", *text))
			depth++;
		else if (!quoted && strchr(")}]", *text) && depth-- == 0)
			return text;
		else if (!quoted && *text == ',' && depth == 0)
			return text + 1;
	}
	return text;
}

static struct rs_field_info *field_named(struct rs_field_info *fields, u32 count, const char *name,
					 size_t size)
{
	for (u32 i = 0; i < count; i++)
		if (strlen(fields[i].name) == size && !memcmp(fields[i].name, name, size))
			return &fields[i];
	return NULL;
}

/*
 * The one place in [text, end) where a field is named. NULL: there is none, or are several. Where
 * an argument passed through a macro, `field` stands for `__entry`, as that one is defined.
 */
static const char *find_mention(const char *text, const char *end, size_t *skip)
{
	static const char *const ways[] = {"__entry->", "field->", "__get_str(", "__get_rel_str("};
	const char *found = NULL;

	for (u32 i = 0; i < ARRAY_SIZE(ways); i++) {
		const char *at = text;

		while ((at = strnstr(at, ways[i], end - at))) {
			if (found)
				return NULL;
			found = at;
			*skip = strlen(ways[i]);
			at++;
		}
	}
	return found;
}

/*
 * Whether nothing but casts and brackets stands around it. `called`: or calls of functions of one
 * argument, or __print_flags() and its kin, whose first argument it is.
 */
static bool is_bare(const char *text, const char *mention, const char *behind, const char *end,
		    bool called)
{
	bool print = called && !strncmp(text, "__print_", 8);
	int open = 0;

	for (const char *c = text; c < mention; c++) {
		if (*c == '(') {
			if (c > text && is_word(c[-1]) && !called)
				return false;
			open++;
		} else if (*c == ')') {
			open--; /* of a cast */
		} else if (!isspace(*c) && !(called && is_word(*c)) &&
			   (!open || (!is_word(*c) && *c != '*'))) {
			return false;
		}
	}
	for (; behind < end && !(print && *behind == ','); behind++)
		if (*behind != ')' && !isspace(*behind))
			return false;
	return true;
}

/*
 * The field that the expression is about. `named`: it may be the name of the field's value, if that
 * has names; else it must be the field itself. NULL: it is anything else.
 */
static struct rs_field_info *field_of(struct rs_field_info *fields, u32 count, const char *text,
				      const char *end, bool named)
{
	struct rs_field_info *field;
	const char *mention, *name, *behind;
	size_t skip = 0;

	mention = find_mention(text, end, &skip);
	if (!mention)
		return NULL;
	text = skip_spaces(text);
	name = behind = mention + skip;
	while (behind < end && is_word(*behind))
		behind++;
	field = field_named(fields, count, name, behind - name);
	if (!field || !is_bare(text, mention, behind, end, named && field->symbol_count))
		return NULL;
	return field;
}

/* ---- names of values ---- */

static int set_symbols(struct rs_field_info *field, u8 kind, const struct rs_symbol_info *from,
		       u32 count, u32 skip)
{
	struct rs_symbol_info *symbols;

	if (field->symbol_count || field->size > 8 || field->elem_size)
		return 0;
	symbols = kcalloc(count, sizeof(*symbols), GFP_KERNEL);
	if (!symbols)
		return -ENOMEM;
	for (u32 i = 0; i < count; i++) {
		const char *name = from[i].name + skip;

		if (rs_is_symbol(name) && field->symbol_count < RS_MAX_SYMBOLS)
			symbols[field->symbol_count++] =
				(struct rs_symbol_info){from[i].value, name};
	}
	field->symbols = symbols;
	if (field->symbol_count)
		field->kind = kind;
	return 0;
}

static int take_pairs(const struct rs_kernel_note *note, struct rs_field_info *fields, u32 count)
{
	const struct trace_print_flags *pairs = note->pairs;
	struct rs_field_info *field =
		field_of(fields, count, note->text, note->text + strlen(note->text), false);
	struct rs_symbol_info *list;
	u32 n = 0;
	int err;

	if (!field)
		return 0;
	while (pairs[n].name)
		n++;
	list = kcalloc(n + 1, sizeof(*list), GFP_KERNEL);
	if (!list)
		return -ENOMEM;
	for (u32 i = 0; i < n; i++)
		list[i] = (struct rs_symbol_info){pairs[i].mask, pairs[i].name};
	err = set_symbols(field, note->kind, list, n, 0);
	kfree(list);
	return err;
}

/* ---- the text of an event ---- */

struct text {
	char print[TEXT_MAX], args[TEXT_MAX];
	u32 print_size, args_size;
};

static void put(struct text *t, const char *bytes, size_t size)
{
	size = min_t(size_t, size, TEXT_MAX - 1 - t->print_size);
	memcpy(t->print + t->print_size, bytes, size);
	t->print_size += size;
}

static void put_argument(struct text *t, const struct rs_field_info *field)
{
	t->args_size += scnprintf(t->args + t->args_size, TEXT_MAX - t->args_size, "%s%s",
				  t->args_size ? "," : "", field->name);
}

static bool is_text(const struct rs_field_info *field)
{
	return field->kind >= RS_KIND_ENUM;
}

/*
 * One conversion of the kernel's, from the percent sign on. Returns what is behind it; NULL: it
 * asks for what a host cannot do.
 */
static const char *put_conversion(struct text *t, const char *from, struct rs_field_info *field)
{
	const char *c = from + 1;

	while (*c && strchr("-+ #0123456789.", *c))
		c++;
	put(t, from, c - from);
	while (*c && strchr("hlLzjt", *c))
		c++;
	switch (*c) {
	case 'd':
	case 'i':
	case 'u':
	case 'x':
	case 'X':
		if (field->elem_size)
			return NULL;
		break;
	case 's':
		if (!is_text(field))
			return NULL;
		break;
	case 'p':
		if (field->size != 8 || is_text(field))
			return NULL;
		field->kind = RS_KIND_POINTER;
		if (c[1] && strchr("SsxfFB", c[1])) {
			put(t, c, 1);
			return c + 2;
		}
		if (isalnum(c[1]))
			return NULL;
		break;
	default:
		return NULL;
	}
	put(t, c, 1);
	return c + 1;
}

/* False: an argument is more than a field. */
static bool translate(struct text *t, const struct rs_kernel_note *note,
		      struct rs_field_info *fields, u32 count)
{
	const char *c = note->text, *arg = note->args, *end;
	struct rs_field_info *field;

	while (*c) {
		if (*c != '%' || c[1] == '%') {
			size_t size = *c == '%' ? 2 : 1;

			put(t, c, size);
			c += size;
			continue;
		}
		end = skip_argument(arg);
		field = field_of(fields, count, arg, end > arg && end[-1] == ',' ? end - 1 : end,
				 true);
		if (!field)
			return false;
		c = put_conversion(t, c, field);
		if (!c)
			return false;
		put_argument(t, field);
		arg = end;
	}
	return true;
}

/* name=value of each field. */
static void list_fields(struct text *t, const struct rs_field_info *fields, u32 count)
{
	t->print_size = t->args_size = 0;
	for (u32 i = 0; i < count; i++) {
		const char *how = fields[i].kind == RS_KIND_SINT      ? "%d"
				  : fields[i].kind == RS_KIND_UINT    ? "%u"
				  : fields[i].kind == RS_KIND_HEX     ? "%x"
				  : fields[i].kind == RS_KIND_POINTER ? "%p"
								      : "%s";

		t->print_size += scnprintf(t->print + t->print_size, TEXT_MAX - t->print_size,
					   "%s%s=%s", i ? " " : "", fields[i].name, how);
		put_argument(t, &fields[i]);
	}
}

static int keep(struct rs_event_info *info, const char *print, const char *args)
{
	info->print = kstrdup(print, GFP_KERNEL);
	info->print_args = kstrdup(args, GFP_KERNEL);
	return info->print && info->print_args ? 0 : -ENOMEM;
}

static int make_text(const struct rs_kernel_event *event, struct rs_event_info *info,
		     struct rs_field_info *fields)
{
	struct text *t = kzalloc(sizeof(*t), GFP_KERNEL);
	bool done = false;
	int err = -ENOMEM;

	if (!t)
		return err;
	each_note (note, event)
		if (!done && note->args)
			done = translate(t, note, fields, info->field_count);
	if (!done)
		list_fields(t, fields, info->field_count);
	t->print[t->print_size] = '\0';
	err = keep(info, t->print, t->args);
	kfree(t);
	return err;
}

static int take_own(const struct own_text *own, struct rs_event_info *info,
		    struct rs_field_info *fields)
{
	struct rs_field_info *field =
		field_named(fields, info->field_count, own->field, strlen(own->field));
	const bool of_calls = own->symbols == rs_call_names;

	for (u32 i = 0; i < info->field_count; i++)
		if (fields[i].kind == RS_KIND_ARRAY)
			fields[i].flags |= RS_FIELD_HEX;
	if (field && set_symbols(field, RS_KIND_ENUM, own->symbols,
				 of_calls ? rs_call_name_count : own->symbol_count,
				 of_calls ? strlen("sys_") : 0))
		return -ENOMEM;
	return keep(info, own->print, own->print_args);
}

int rs_kernel_print_describe(const struct rs_kernel_event *event, struct rs_event_info *info,
			     struct rs_field_info *fields)
{
	const struct own_text *own = find_own(event);
	int err = 0;

	if (own) {
		err = take_own(own, info, fields);
	} else {
		each_note (note, event)
			if (!err && note->pairs)
				err = take_pairs(note, fields, info->field_count);
		if (!err)
			err = make_text(event, info, fields);
	}
	if (err) {
		for (u32 i = 0; i < info->field_count; i++)
			kfree(fields[i].symbols);
		kfree(info->print);
		kfree(info->print_args);
	}
	return err;
}

void rs_kernel_print_free(struct rs_event_info *info)
{
	if (!info)
		return;
	for (u32 i = 0; i < info->field_count; i++)
		kfree(info->fields[i].symbols);
	kfree(info->fields);
	kfree(info->print);
	kfree(info->print_args);
	kfree(info);
}
