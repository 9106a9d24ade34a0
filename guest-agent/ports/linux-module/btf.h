/* SPDX-License-Identifier: MIT */
/*
 * The prototypes of the kernel's tracepoints, and where members lie in its structures, from the
 * kernel's description of its own types. It is read from /sys/kernel/btf/vmlinux while the module
 * is loaded.
 *
 * Any task; may sleep. The kernel's file is not doubted, but nothing is read outside of it.
 */
#ifndef RS_BTF_H
#define RS_BTF_H

#include <linux/types.h>

struct rs_btf;

#define RS_BTF_ARGS 11u
#define RS_BTF_NAME 48u

struct rs_btf_arg {
	char type[RS_BTF_NAME]; /* as C writes it, as far as there is room */
	u8 size;                /* bytes: 1, 2, 4 or 8 */
	bool is_signed;
	bool is_pointer;
};

/* -ENOENT: this kernel has no such file, or sysfs is not mounted. Others: of reading, -EBADMSG. */
int rs_btf_open(struct rs_btf **out);
void rs_btf_close(struct rs_btf *btf); /* NULL is accepted */

/*
 * The arguments of a tracepoint, at most RS_BTF_ARGS, up to the first one that is no number and no
 * pointer. Returns how many; -ENOENT: the kernel does not say.
 */
int rs_btf_tracepoint(const struct rs_btf *btf, const char *name, struct rs_btf_arg *out);

/* Where a member lies in a structure, in bytes. -ENOENT: the kernel does not say. */
int rs_btf_member(const struct rs_btf *btf, const char *type, const char *member);

#endif
