/* SPDX-License-Identifier: MIT */
/*
 * What the guest says about itself: providers, events, fields, sites.
 *
 * A provider has a slot in RS_SEC_PROVIDERS, a range of event ids, and a range of bytes in
 * RS_SEC_EVENTS, where its descriptors lie one after the other. A provider can go and come back
 * (docs/adr/0006-lives.md):
 *   - One that comes back unchanged, in this boot or a later one, gets its old slot, ids and bytes.
 *   - A dead one keeps all three as long as a page in a ring can hold a record of it.
 *   - After that they are free for others.
 * So an event id has a meaning only together with the boot of its page and the time of its record:
 * it means the descriptor of the provider that was live then. A name means the newest provider of
 * that name.
 *
 * Strings are NUL-terminated and lie inside their descriptor. A string's offset counts from the
 * descriptor's start; 0 means none. Sites are not copied here: they lie in guest memory, and the
 * host reads them through the page tables.
 */
#ifndef RINGSIDE_DESCRIPTOR_H
#define RINGSIDE_DESCRIPTOR_H

#include <ringside/grow.h>

#define RS_PROVIDER_FREE 0u /* the slot is not used */
#define RS_PROVIDER_LIVE 1u
#define RS_PROVIDER_DEAD 2u /* its text is gone; its records may still be there */

/* The host copies an entry between two looks at `sequence`, which must be even and the same. */
struct rs_provider {         /* G */
	uint32_t sequence;   /* grows; odd while the entry is being written */
	uint32_t state;      /* RS_PROVIDER_* */
	uint32_t first_boot; /* the first and the last boot in which it was live */
	uint32_t last_boot;
	uint64_t sites; /* GVA of its struct rs_site array */
	uint32_t site_count;
	uint32_t site_stride;     /* bytes from one to the next */
	uint64_t page_table_root; /* under which `sites` is valid; 0: rs_guest_info's */
	uint32_t event_count;
	uint32_t first_id;    /* its events have the ids from here on, without gaps */
	uint64_t desc_offset; /* its descriptors in RS_SEC_EVENTS */
	uint64_t desc_size;
	uint64_t since;       /* event clock of first_boot when its ids began to mean its events */
	uint64_t until;       /* event clock of last_boot when it died; 0 while it is live */
	uint64_t image_start; /* GVA range of the image that it is part of; 0: not known */
	uint64_t image_end;
	uint32_t generation;    /* lives so far: 1, 2 … */
	uint32_t owner_pid;     /* process that it is part of; 0: a kernel's */
	uint32_t build_id_size; /* 0: not known */
	uint32_t since_chain;   /* clock chains of `since` and `until` */
	uint8_t build_id[32];
	/*
	 * GVA of text that the host may fill (native.h), in rel32 reach of the image that has the
	 * agent. All its providers name the same; 0: none.
	 */
	uint64_t text_pool;
	uint64_t text_pool_size; /* bytes, multiple of 16 */
	uint32_t until_chain;
	uint32_t reserved0;
	uint64_t reserved1[3];
	char name[RS_NAME_MAX]; /* see name.h */
};
RS_ASSERT_SIZE(struct rs_provider, 448);
#define RS_PROVIDER_MIN_SIZE 448u
RS_ASSERT_GROWS(struct rs_provider, RS_PROVIDER_MIN_SIZE);

/*
 * One tracepoint site: a NOP of `size` bytes at `code` that becomes a jump to `target`. On x86-64
 * it has 5 bytes, which never cross an 8-byte boundary. `event` points to the agent's own object
 * for the event. The first 32-bit word of that object is the event id, 0 before registration. The
 * word at RS_EVENT_CALLED_AT says whether the guest needs the event's sites for callbacks of its
 * own: its low half is how many there are, and its high half grows when the low half was or becomes
 * 0, as in RS_HCALL_CALLBACKS. Each of the three is relative: the address is that of the field
 * itself + its value.
 *
 * A site whose `event` is 0 belongs to no event: it is a gate, and is on while any other site of
 * its provider is.
 */
#define RS_EVENT_CALLED_AT 32u
struct rs_site { /* guest memory, read-only there */
	int32_t code;
	int32_t target;
	int32_t event;
	uint32_t size; /* bytes at `code` */
};
RS_ASSERT_SIZE(struct rs_site, 16);
#define RS_SITE_MIN_SIZE 16u
RS_ASSERT_GROWS(struct rs_site, RS_SITE_MIN_SIZE);
#define RS_SITE_BYTES 5u        /* on x86-64 */
#define RS_MAX_SITES (1u << 20) /* a host refuses more from one guest */

/*
 * rs_field_desc.kind. A reader shows a field of unknown kind as bytes: `size` bytes, or those that
 * its locator names.
 */
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
#define RS_FIELD_SIGNED (1u << 0)  /* elements of an array are signed */
#define RS_FIELD_HEX (1u << 1)     /* elements of an array are shown in hex */
#define RS_FIELD_DYNAMIC (1u << 2) /* the field is a locator, whatever its kind */

#define RS_MAX_FIELDS 64u
#define RS_MAX_SYMBOLS 4096u     /* per field */
#define RS_MAX_DESC_SIZE 262144u /* bytes of one descriptor */
#define RS_MAX_ENTRY_SIZE 4096u  /* bytes of an event's fixed part */

struct rs_symbol { /* G */
	uint64_t value;
	uint32_t name; /* string offset */
	uint32_t reserved;
};
RS_ASSERT_SIZE(struct rs_symbol, 16);
#define RS_SYMBOL_MIN_SIZE 16u
RS_ASSERT_GROWS(struct rs_symbol, RS_SYMBOL_MIN_SIZE);

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
	/* Offset of struct rs_symbol[symbol_count], 8-byte aligned; no two fields share them. */
	uint32_t symbols;
	uint64_t reserved;
};
RS_ASSERT_SIZE(struct rs_field_desc, 32);
#define RS_FIELD_DESC_MIN_SIZE 32u
RS_ASSERT_GROWS(struct rs_field_desc, RS_FIELD_DESC_MIN_SIZE);

struct rs_event_desc { /* G; then fields, symbols, strings */
	uint32_t size; /* bytes of the whole descriptor, multiple of 8 */
	uint16_t id;   /* RS_FIRST_EVENT_ID.. */
	uint16_t field_count;
	uint32_t provider; /* slot, from 0 */
	uint32_t system;   /* string offset */
	uint32_t name;     /* string offset */
	uint32_t print;    /* string offset: printf format, one conversion for each of print_args */
	uint32_t print_args; /* string offset: field names, comma-separated */
	uint16_t entry_size; /* bytes of the payload's fixed part */
	uint8_t level;       /* 0 none, else 1 critical .. 5 verbose */
	uint8_t reserved0;
	uint64_t keyword;       /* bit mask of categories */
	uint16_t header_size;   /* offset of the first field */
	uint16_t field_stride;  /* bytes from one field to the next */
	uint16_t symbol_stride; /* likewise of symbols */
	uint16_t reserved1;
};
RS_ASSERT_SIZE(struct rs_event_desc, 48);
#define RS_EVENT_DESC_MIN_SIZE 48u
RS_ASSERT_GROWS(struct rs_event_desc, RS_EVENT_DESC_MIN_SIZE);

#endif
