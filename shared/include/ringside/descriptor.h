/* SPDX-License-Identifier: MIT */
/*
 * What the guest says of itself: providers, events, fields, sites.
 *
 * The agent writes descriptors into RS_SEC_EVENTS one after the other and then raises
 * rs_guest_info.event_bytes and .event_count; what is published never changes, but for a
 * provider's state. Strings are NUL-terminated and lie inside their descriptor; a string's offset is from the
 * descriptor's start, 0 meaning none. An id is given once in a boot and never reused.
 *
 * Sites stay where they are, in guest memory: the host reads them through the page tables.
 */
#ifndef RINGSIDE_DESCRIPTOR_H
#define RINGSIDE_DESCRIPTOR_H

#include <ringside/types.h>

#define RS_PROVIDER_DEAD 0u
#define RS_PROVIDER_LIVE 1u

struct rs_provider {    /* G */
	uint32_t id;    /* index + 1 */
	uint32_t state; /* RS_PROVIDER_* (release) */
	uint64_t sites; /* GVA of its struct rs_site array */
	uint32_t site_count;
	uint32_t site_size;       /* sizeof(struct rs_site) */
	uint64_t page_table_root; /* under which `sites` is valid; 0: rs_guest_info's */
	uint32_t event_count;
	uint32_t reserved0;
	uint64_t reserved1[3];
	char name[RS_NAME_MAX];
};
RS_ASSERT_SIZE(struct rs_provider, 128);

/*
 * One tracepoint site: a 5-byte NOP at `code` (address of this field + its value) that becomes
 * a JMP to `target` (likewise). The five bytes never cross an 8-byte boundary. `event` (likewise) points at the
 * agent's own object for the event, whose first 32-bit word is the event id, 0 before registration.
 */
struct rs_site { /* guest memory, read-only there */
	int32_t code;
	int32_t target;
	int32_t event;
	uint32_t reserved;
};
RS_ASSERT_SIZE(struct rs_site, 16);
#define RS_SITE_BYTES 5u
#define RS_MAX_SITES (1u << 20) /* a host refuses more from one guest */

/* rs_field_desc.kind */
#define RS_KIND_UINT 1u /* size 1, 2, 4, 8 */
#define RS_KIND_SINT 2u
#define RS_KIND_HEX 3u         /* unsigned, shown in hex */
#define RS_KIND_POINTER 4u     /* size 8, an address in the guest */
#define RS_KIND_ENUM 5u        /* unsigned, with symbols: one matches */
#define RS_KIND_FLAGS 6u       /* unsigned, with symbols: a bit mask */
#define RS_KIND_ARRAY 7u       /* elem_count elements of elem_size bytes */
#define RS_KIND_STRING 8u      /* char[size], NUL-padded */
#define RS_KIND_DYN_ARRAY 9u   /* a locator; elements of elem_size bytes */
#define RS_KIND_DYN_STRING 10u /* a locator */

/* rs_field_desc.flags */
#define RS_FIELD_SIGNED (1u << 0) /* elements of an array are signed */
#define RS_FIELD_HEX (1u << 1)    /* elements of an array are shown in hex */

#define RS_MAX_FIELDS 64u
#define RS_MAX_SYMBOLS 256u     /* per field */
#define RS_MAX_DESC_SIZE 32768u /* bytes of one descriptor */
#define RS_MAX_ENTRY_SIZE 4096u /* bytes of an event's fixed part */

struct rs_symbol { /* G */
	uint64_t value;
	uint32_t name; /* string offset */
	uint32_t reserved;
};
RS_ASSERT_SIZE(struct rs_symbol, 16);

struct rs_field_desc {       /* G */
	uint32_t name;       /* string offset */
	uint32_t type;       /* string offset: the C type, as a format file shows it */
	uint16_t offset;     /* in the payload */
	uint16_t size;       /* bytes there; 4 for a locator */
	uint8_t kind;        /* RS_KIND_* */
	uint8_t flags;       /* RS_FIELD_* */
	uint16_t elem_size;  /* arrays */
	uint16_t elem_count; /* fixed arrays */
	uint16_t symbol_count;
	uint32_t symbols; /* offset of struct rs_symbol[symbol_count], 8-byte aligned */
	uint64_t reserved;
};
RS_ASSERT_SIZE(struct rs_field_desc, 32);

struct rs_event_desc { /* G; the fields follow it, then symbols, then strings */
	uint32_t size; /* bytes of the whole descriptor, multiple of 8 */
	uint16_t id;   /* RS_FIRST_EVENT_ID.. */
	uint16_t field_count;
	uint32_t provider; /* rs_provider.id */
	uint32_t system;   /* string offset */
	uint32_t name;     /* string offset */
	uint32_t print;    /* string offset: printf format, one conversion for each of print_args */
	uint32_t print_args; /* string offset: field names, comma-separated */
	uint16_t entry_size; /* bytes of the payload's fixed part */
	uint8_t level;       /* 0 none, else 1 critical .. 5 verbose */
	uint8_t reserved0;
	uint64_t keyword; /* bit mask of categories */
	uint64_t reserved1;
};
RS_ASSERT_SIZE(struct rs_event_desc, 48);

#endif
