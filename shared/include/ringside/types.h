/* SPDX-License-Identifier: MIT */
/*
 * Words shared by every ABI header. Freestanding: only <stdint.h>, <stdbool.h> and <stddef.h>.
 *
 * Every number in the ABI is little-endian and fixed-width. Reserved fields are zero. Each
 * field of the region has exactly one writer, which the headers mark:
 *     H  the host writes, the guest only reads (it may change at any time)
 *     G  the guest writes, the host only reads (and never trusts it)
 *
 * The ABI can grow without a new major version. A structure may get longer: a size or stride stored
 * beside it says how long it is, and either side may be the newer one (grow.h). A new section,
 * mark, field kind or hypercall gets a new number, which an older reader skips.
 */
#ifndef RINGSIDE_TYPES_H
#define RINGSIDE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the Ringside ABI is little-endian"
#endif

#define RS_ABI_MAJOR 1 /* a different major cannot be attached */
#define RS_ABI_MINOR 4 /* a larger minor only adds */

#define RS_PAGE_SIZE 4096u     /* of x86-64; requests and responses have one each */
#define RS_SECTION_ALIGN 4096u /* of sections */
#define RS_REGION_ALIGN 65536u /* of regions, and of both sides' parts: any guest's largest page */
#define RS_MAX_CPUS 1024u      /* rings of a region at most, by a host of this version */
#define RS_NAME_MAX 256u       /* a provider, system, event or field name, with its NUL: name.h */
#define RS_SYMBOL_LEN 64u      /* a symbol or type of a field, with its NUL: name.h */
#define RS_LABEL_LEN 64u       /* what people call a guest, source or port, with its NUL */
#define RS_COMM_LEN 32u        /* a task name, NUL-padded; 32 bytes need no NUL */
#define RS_MAX_EVENTS 65536u   /* all event ids are below this */

/* Programs in C++ include these headers too. */
#ifdef __cplusplus
#define RS_STATIC_ASSERT(cond, why) static_assert(cond, why)
#else
#define RS_STATIC_ASSERT(cond, why) _Static_assert(cond, why)
#endif
#define RS_ASSERT_SIZE(type, bytes) RS_STATIC_ASSERT(sizeof(type) == (bytes), "size of " #type)
#define RS_ASSERT_OFFSET(type, field, bytes)                                                       \
	RS_STATIC_ASSERT(offsetof(type, field) == (bytes), "offset of " #type "." #field)

#define RS_ALIGN_UP(n, a) (((n) + (a)-1) & ~((a)-1))

/* Guest architectures (rs_guest_info.arch). Code for one sits in files named after it. */
#define RS_ARCH_X86_64 1u
#define RS_ARCH_AARCH64 2u
#define RS_ARCH_RISCV64 3u

/*
 * A guest address as the host holds it. It is a struct, so that nobody can dereference it or mix up
 * the two kinds. GPA: guest-physical. GVA: guest-virtual, under some page-table root.
 */
typedef struct {
	uint64_t v;
} rs_gpa_t;
typedef struct {
	uint64_t v;
} rs_gva_t;

#endif
