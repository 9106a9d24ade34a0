/* SPDX-License-Identifier: MIT */
#include "btf.h"

#include <linux/btf.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>

#define BTF_FILE "/sys/kernel/btf/vmlinux"
#define BTF_FILE_MAX (256u << 20)
#define PREFIX "btf_trace_"
#define STEPS 16 /* of typedefs and qualifiers, one behind the other */

struct named {
	const char *name; /* of the tracepoint */
	u32 type;         /* of the pointer to its function */
};

struct rs_btf {
	u8 *bytes;
	const char *strings;
	u32 strings_size;
	const struct btf_type **types; /* by id; 0 is void */
	u32 count;
	struct named *named; /* sorted */
	u32 named_count;
};

/* ---- the file ---- */

static int read_file(u8 **out, u32 *size)
{
	struct file *file = filp_open(BTF_FILE, O_RDONLY, 0);
	loff_t at = 0, end;
	ssize_t n = 1;

	if (IS_ERR(file))
		return PTR_ERR(file) == -ENOTDIR ? -ENOENT : PTR_ERR(file);
	end = i_size_read(file_inode(file));
	*out = end > 0 && end < BTF_FILE_MAX ? kvmalloc(end, GFP_KERNEL) : NULL;
	while (*out && at < end && n > 0)
		n = kernel_read(file, *out + at, end - at, &at);
	filp_close(file, NULL);
	if (!*out)
		return -ENOMEM;
	*size = end;
	return n < 0 ? n : at < end ? -EBADMSG : 0;
}

/* Bytes of what follows a type's head. */
static u64 extra(const struct btf_type *type)
{
	u32 n = btf_type_vlen(type);

	switch (BTF_INFO_KIND(type->info)) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return 4;
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return n * sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return n * sizeof(struct btf_enum);
	case BTF_KIND_ENUM64:
		return n * sizeof(struct btf_enum64);
	case BTF_KIND_FUNC_PROTO:
		return n * sizeof(struct btf_param);
	case BTF_KIND_DATASEC:
		return n * sizeof(struct btf_var_secinfo);
	default:
		return 0;
	}
}

static const char *string_at(const struct rs_btf *btf, u32 offset)
{
	return offset < btf->strings_size ? btf->strings + offset : "";
}

/* Goes through all types. Only counts them where there is no room for their places yet. */
static int list_types(struct rs_btf *btf, const u8 *from, u64 size)
{
	u64 at = 0;

	btf->count = 1;
	btf->named_count = 0;
	while (at + sizeof(struct btf_type) <= size) {
		const struct btf_type *type = (const void *)(from + at);
		const char *name = string_at(btf, type->name_off);

		at += sizeof(*type) + extra(type);
		if (at > size)
			return -EBADMSG;
		if (btf->types)
			btf->types[btf->count] = type;
		btf->count++;
		if (BTF_INFO_KIND(type->info) != BTF_KIND_TYPEDEF ||
		    strncmp(name, PREFIX, strlen(PREFIX)))
			continue;
		if (btf->named)
			btf->named[btf->named_count] =
				(struct named){name + strlen(PREFIX), type->type};
		btf->named_count++;
	}
	return 0;
}

static int compare_named(const void *a, const void *b)
{
	return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

static int take(struct rs_btf *btf, u32 size)
{
	const struct btf_header *head = (const void *)btf->bytes;
	u64 types, strings;
	int err;

	if (size < sizeof(*head) || head->magic != BTF_MAGIC)
		return -EBADMSG;
	types = (u64)head->hdr_len + head->type_off;
	strings = (u64)head->hdr_len + head->str_off;
	if (types % 4 || types + head->type_len > size || strings + head->str_len > size ||
	    !head->str_len || btf->bytes[strings + head->str_len - 1])
		return -EBADMSG;
	btf->strings = (const char *)btf->bytes + strings;
	btf->strings_size = head->str_len;
	err = list_types(btf, btf->bytes + types, head->type_len);
	if (err)
		return err;
	btf->types = kvcalloc(btf->count, sizeof(*btf->types), GFP_KERNEL);
	btf->named = kvcalloc(btf->named_count + 1, sizeof(*btf->named), GFP_KERNEL);
	if (!btf->types || !btf->named)
		return -ENOMEM;
	err = list_types(btf, btf->bytes + types, head->type_len);
	sort(btf->named, btf->named_count, sizeof(*btf->named), compare_named, NULL);
	return err;
}

int rs_btf_open(struct rs_btf **out)
{
	struct rs_btf *btf = kzalloc(sizeof(*btf), GFP_KERNEL);
	u32 size;
	int err;

	if (!btf)
		return -ENOMEM;
	err = read_file(&btf->bytes, &size);
	if (!err)
		err = take(btf, size);
	if (err)
		rs_btf_close(btf);
	else
		*out = btf;
	return err;
}

void rs_btf_close(struct rs_btf *btf)
{
	if (!btf)
		return;
	kvfree(btf->types);
	kvfree(btf->named);
	kvfree(btf->bytes);
	kfree(btf);
}

/* ---- types ---- */

/* NULL: void, or there is no such type. */
static const struct btf_type *type_at(const struct rs_btf *btf, u32 id)
{
	return id < btf->count ? btf->types[id] : NULL;
}

/* Without typedefs and qualifiers. `name`: of the first typedef, if there is one. */
static const struct btf_type *strip(const struct rs_btf *btf, u32 id, const char **name)
{
	const struct btf_type *type = type_at(btf, id);

	for (int i = 0; type && i < STEPS; i++) {
		switch (BTF_INFO_KIND(type->info)) {
		case BTF_KIND_TYPEDEF:
			if (!*name)
				*name = string_at(btf, type->name_off);
			break;
		case BTF_KIND_CONST:
		case BTF_KIND_VOLATILE:
		case BTF_KIND_RESTRICT:
		case BTF_KIND_TYPE_TAG:
			break;
		default:
			return type;
		}
		type = type_at(btf, type->type);
	}
	return NULL;
}

static const char *keyword(const struct btf_type *type)
{
	switch (BTF_INFO_KIND(type->info)) {
	case BTF_KIND_STRUCT:
		return "struct ";
	case BTF_KIND_UNION:
		return "union ";
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
		return "enum ";
	default:
		return "";
	}
}

static void write_type(const struct rs_btf *btf, const struct btf_type *type, const char *name,
		       const char *stars, char out[RS_BTF_NAME])
{
	const char *tag = type ? string_at(btf, type->name_off) : "void";

	if (name || !*tag)
		snprintf(out, RS_BTF_NAME, "%s%s", name ? name : "void", stars);
	else
		snprintf(out, RS_BTF_NAME, "%s%s%s", type ? keyword(type) : "", tag, stars);
}

/* False: it is neither a number nor a pointer. */
static bool take_arg(const struct rs_btf *btf, u32 id, struct rs_btf_arg *out)
{
	const char *name = NULL;
	const struct btf_type *type = strip(btf, id, &name), *to;
	u32 kind = type ? BTF_INFO_KIND(type->info) : BTF_KIND_UNKN;

	*out = (struct rs_btf_arg){.size = 8};
	if (kind == BTF_KIND_PTR) {
		out->is_pointer = true;
		to = strip(btf, type->type, &name);
		write_type(btf, to, name, " *", out->type);
		return true;
	}
	if (kind != BTF_KIND_INT && kind != BTF_KIND_ENUM && kind != BTF_KIND_ENUM64)
		return false;
	if (type->size != 1 && type->size != 2 && type->size != 4 && type->size != 8)
		return false;
	out->size = type->size;
	out->is_signed = kind == BTF_KIND_INT
				 ? BTF_INT_ENCODING(*(const u32 *)(type + 1)) & BTF_INT_SIGNED
				 : BTF_INFO_KFLAG(type->info);
	write_type(btf, type, name, "", out->type);
	return true;
}

static const struct btf_type *find_function(const struct rs_btf *btf, const char *name)
{
	u32 low = 0, high = btf->named_count;
	const struct btf_type *type;

	while (low < high) {
		u32 middle = low + (high - low) / 2;
		int order = strcmp(name, btf->named[middle].name);

		if (order > 0) {
			low = middle + 1;
			continue;
		}
		high = middle;
		if (order)
			continue;
		type = type_at(btf, btf->named[middle].type);
		if (type && BTF_INFO_KIND(type->info) == BTF_KIND_PTR)
			type = type_at(btf, type->type);
		return type && BTF_INFO_KIND(type->info) == BTF_KIND_FUNC_PROTO ? type : NULL;
	}
	return NULL;
}

int rs_btf_tracepoint(const struct rs_btf *btf, const char *name, struct rs_btf_arg *out)
{
	const struct btf_type *function = find_function(btf, name);
	const struct btf_param *params;
	u32 n = 0, count;

	if (!function)
		return -ENOENT;
	params = (const void *)(function + 1);
	count = btf_type_vlen(function);
	/* The first one is the probe's own data. */
	while (n + 1 < count && n < RS_BTF_ARGS && take_arg(btf, params[n + 1].type, &out[n]))
		n++;
	return n;
}

static int find_member(const struct rs_btf *btf, const struct btf_type *type, const char *name)
{
	const struct btf_member *members = (const void *)(type + 1);

	for (u32 i = 0; i < btf_type_vlen(type); i++) {
		u32 bits = BTF_INFO_KFLAG(type->info) ? BTF_MEMBER_BIT_OFFSET(members[i].offset)
						      : members[i].offset;

		if (!strcmp(string_at(btf, members[i].name_off), name))
			return bits % 8 ? -ENOENT : bits / 8;
	}
	return -ENOENT;
}

int rs_btf_member(const struct rs_btf *btf, const char *name, const char *member)
{
	for (u32 id = 1; id < btf->count; id++) {
		const struct btf_type *type = btf->types[id];

		if (BTF_INFO_KIND(type->info) == BTF_KIND_STRUCT &&
		    !strcmp(string_at(btf, type->name_off), name))
			return find_member(btf, type, member);
	}
	return -ENOENT;
}
