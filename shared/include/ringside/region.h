/* SPDX-License-Identifier: MIT */
/*
 * The region: one contiguous piece of memory that the host and one agent share. It lies in a memory
 * slot of our VMM, an ivshmem BAR in QEMU, or a memfd of a hosted process. Its layout is the same
 * in each. One such piece of memory can hold several regions: see directory.h.
 *
 *     offset 0     struct rs_region_header          H
 *     ...          the other host-written sections  H   [0, guest_offset) can be mapped
 *     guest_offset the guest-written sections       G   read-only into the guest
 *
 * The host lays the region out before the guest starts and writes the header's magic last, so a
 * reader that sees the magic (acquire) sees the rest. A reader takes a private copy of the header
 * and checks it before it uses any of it: under QEMU the guest can write these pages, and a trace
 * file can hold anything. A reader checks the sections that it knows and ignores the rest.
 *
 * The header has two parts. Its fields lie at offset 0. The section table lies at section_offset,
 * which is right behind the fields in 1.0. Either part can get longer without the other: see
 * grow.h.
 */
#ifndef RINGSIDE_REGION_H
#define RINGSIDE_REGION_H

#include <ringside/grow.h>

#define RS_REGION_MAGIC 0x45444953474e4952ull /* "RINGSIDE" */
#define RS_GUEST_MAGIC 0x5453455547534952ull  /* "RISGUEST" */

/*
 * Bits of `features`. A side that finds an unknown bit among these in the other's `features`
 * refuses the other side. It ignores unknown bits elsewhere.
 */
#define RS_FEATURES_REQUIRED 0xffffffffull

/*
 * Sections by number. The host writes those below RS_SEC_FIRST_GUEST, the guest writes the others.
 * Each starts at a multiple of RS_SECTION_ALIGN. An absent section has size 0. A reader ignores a
 * section whose number it does not know. RS_SEC_PROVIDER_CTL and RS_SEC_HOST_* are numbers only:
 * 1.0 has no such sections, and their shapes will come with what needs them.
 */
enum {
	RS_SEC_HEADER = 0,         /* H struct rs_region_header */
	RS_SEC_CONTROL = 1,        /* H struct rs_control */
	RS_SEC_EVENT_CTL = 2,      /* H uint32_t[event_capacity]: see control.h */
	RS_SEC_FILTERS = 3,        /* H filter programs: see filter.h */
	RS_SEC_RING_CTL = 4,       /* H struct rs_ring_ctl[ring_count] */
	RS_SEC_RESPONSE = 5,       /* H struct rs_hcall_response[]: see hypercall.h */
	RS_SEC_CLOCK = 6,          /* H struct rs_clock_epoch[]: see control.h */
	RS_SEC_PROVIDER_CTL = 7,   /* H reserved: what the host wants of each provider */
	RS_SEC_HOST_EVENTS = 8,    /* H reserved: descriptors of events that the host makes */
	RS_SEC_HOST_EVENT_CTL = 9, /* H reserved: control words of those */
	RS_SEC_HOST_STATE = 10,    /* H reserved: state of a ring that the host writes */
	RS_SEC_HOST_RING = 11,     /* H reserved: its pages */
	RS_SEC_NATIVE = 12,        /* H uint32_t[event_capacity]: see native.h. Since 1.4 */

	RS_SEC_FIRST_GUEST = 32,
	RS_SEC_GUEST_INFO = 32, /* G struct rs_guest_info */
	RS_SEC_PROVIDERS = 33,  /* G struct rs_provider[] */
	RS_SEC_EVENTS = 34,     /* G event descriptors: see descriptor.h */
	RS_SEC_CMDLINE = 35,    /* G struct rs_cmdline_bucket[]: see cmdline.h */
	RS_SEC_REQUEST = 36,    /* G struct rs_hcall_request[], as many as responses */
	RS_SEC_RING_STATE = 37, /* G struct rs_ring_state[ring_count] */
	RS_SEC_RINGS = 38,      /* G ring pages: see rs_region_rings_size() */
	RS_SEC_COUNT = 64
};

/* How a guest reaches the host, and how it wakes a sleeping reader. */
#define RS_CHANNEL_NONE 0u    /* not at all */
#define RS_CHANNEL_MAILBOX 1u /* the host polls the request page; no doorbell */
#define RS_CHANNEL_PORT 2u    /* x86: 32-bit OUT to port `addr` */
#define RS_CHANNEL_MMIO 3u    /* 32-bit store to guest-physical `addr` */
#define RS_CHANNEL_EVENTFD 4u /* doorbell only, hosted: the port was handed an eventfd */

/*
 * Ring modes. The host may change the mode at any time. An agent with RS_GUEST_RING_MODE loads it
 * (acquire) whenever it switches the page. Before the host chooses RS_MODE_DROP, it writes a
 * position that was read into rs_ring_ctl.consumed of each ring. See docs/adr/0028-ring-mode.md.
 */
#define RS_MODE_OVERWRITE 0u /* flight recorder: the newest page overwrites the oldest */
#define RS_MODE_DROP 1u      /* a full ring refuses and counts new records */

#define RS_RING_PAGES_MIN 4u
#define RS_RING_PAGES_MAX 65536u
#define RS_RING_PAGE_MIN 4096u
#define RS_RING_PAGE_MAX 65536u

struct rs_section {
	uint64_t offset; /* from the region's start; multiple of RS_SECTION_ALIGN */
	uint64_t size;   /* bytes, at least count * stride; 0: the section is absent */
	uint32_t stride; /* bytes from one element to the next; 1 if there are no elements */
	uint32_t count;  /* elements */
};
RS_ASSERT_SIZE(struct rs_section, 24);
#define RS_SECTION_MIN_SIZE 24u
RS_ASSERT_GROWS(struct rs_section, RS_SECTION_MIN_SIZE);

struct rs_region_header { /* H */
	uint64_t magic;   /* RS_REGION_MAGIC, written last */
	uint16_t abi_major;
	uint16_t abi_minor;
	uint32_t header_size;    /* bytes of the fields, without the table: 128 in 1.0 */
	uint64_t features;       /* none defined in 1.0; see RS_FEATURES_REQUIRED */
	uint64_t region_size;    /* bytes; multiple of RS_REGION_ALIGN */
	uint64_t guest_offset;   /* where the guest-written part starts; a multiple likewise */
	uint64_t session_id;     /* random; a new one each time that a region is laid out */
	uint32_t ring_count;     /* 1..; ring i belongs to vCPU i */
	uint32_t ring_pages;     /* per ring at first, power of two, RS_RING_PAGES_MIN..MAX */
	uint32_t ring_page_size; /* power of two, RS_RING_PAGE_MIN..MAX */
	uint32_t ring_mode;      /* RS_MODE_*; may change (release) */
	uint32_t event_capacity; /* ids 0..event_capacity-1 have a control word */
	uint32_t section_count;  /* entries of the table, 64 in 1.0; other sections are absent */
	uint32_t section_stride; /* bytes from one entry to the next, 24 in 1.0 */
	uint32_t hcall_channel;  /* RS_CHANNEL_* */
	uint64_t hcall_addr;
	uint32_t doorbell_channel; /* RS_CHANNEL_* */
	uint32_t section_offset;   /* of the table, multiple of 8; 128 in 1.0 */
	uint64_t doorbell_addr;
	uint64_t origin_ns; /* host's CLOCK_MONOTONIC where trace times are 0 */
	/*
	 * Since 1.3: pages of each of the two places that a ring may go to, a power of two,
	 * ring_pages..MAX. 0: there are none, and each ring keeps ring_pages.
	 */
	uint32_t ring_room;
	uint32_t reserved0;
	uint64_t reserved1;
	/* The table in 1.0. In a private copy it is always here: see rs_region_take_table(). */
	struct rs_section section[RS_SEC_COUNT];
};
RS_ASSERT_SIZE(struct rs_region_header, 1664);
RS_ASSERT_OFFSET(struct rs_region_header, ring_count, 48);
RS_ASSERT_OFFSET(struct rs_region_header, hcall_addr, 80);
RS_ASSERT_OFFSET(struct rs_region_header, section, 128);
#define RS_REGION_HEADER_MIN_SIZE 128u /* of the fields */
RS_STATIC_ASSERT(offsetof(struct rs_region_header, section) >= RS_REGION_HEADER_MIN_SIZE,
		 "least size of the header's fields");

/*
 * Where in RS_SEC_RINGS the pages of a ring lie that it has after `change` changes: at first one
 * behind the other, as an agent older than 1.3 has them; behind those of all rings, two places for
 * each ring, of which the n-th change leads to place n % 2.
 */
static inline uint64_t rs_region_place_offset(const struct rs_region_header *header, uint32_t ring,
					      uint64_t change)
{
	uint64_t pages = (uint64_t)ring * header->ring_pages;

	if (change)
		pages = (uint64_t)header->ring_count * header->ring_pages +
			(2ull * ring + (change & 1)) * header->ring_room;
	return pages * header->ring_page_size;
}

/* Whether ring_room is possible, for a ring_pages that is. */
static inline bool rs_region_room_fits(const struct rs_region_header *header)
{
	return !header->ring_room ||
	       (!(header->ring_room & (header->ring_room - 1)) &&
		header->ring_room >= header->ring_pages && header->ring_room <= RS_RING_PAGES_MAX);
}

/* Bytes of RS_SEC_RINGS at least. */
static inline uint64_t rs_region_rings_size(const struct rs_region_header *header)
{
	return header->ring_count * ((uint64_t)header->ring_pages + 2ull * header->ring_room) *
	       header->ring_page_size;
}

/*
 * Takes a private copy of the header's fields out of the `mapped` bytes of a region, with an empty
 * table. False: the fields do not fit, or are fewer than in 1.0. `out` holds the magic and the
 * version even then if `mapped` is large enough for them. The caller checks these first, since
 * nothing else is known about another major version.
 */
static inline bool rs_region_take_header(struct rs_region_header *out, const void *region,
					 uint64_t mapped)
{
	__builtin_memset(out->section, 0, sizeof(out->section));
	return rs_take_sized_record(out, offsetof(struct rs_region_header, section), region, mapped,
				    RS_REGION_HEADER_MIN_SIZE,
				    offsetof(struct rs_region_header, header_size));
}

/*
 * Then takes the section table. Sections that the table lacks stay absent, and sections with
 * unknown numbers are not taken. False: the table contradicts itself, or is not in the host-written
 * part.
 */
static inline bool rs_region_take_table(struct rs_region_header *header, const void *region,
					uint64_t mapped)
{
	uint64_t end = header->guest_offset < mapped ? header->guest_offset : mapped;
	uint64_t bytes = (uint64_t)header->section_count * header->section_stride;
	const uint8_t *from = (const uint8_t *)region + header->section_offset;

	if (!rs_stride_fits(header->section_stride, RS_SECTION_MIN_SIZE) ||
	    header->section_offset % RS_STRIDE_ALIGN ||
	    header->section_offset < header->header_size || header->section_offset > end ||
	    bytes > end - header->section_offset)
		return false;
	for (uint32_t i = 0; i < header->section_count && i < RS_SEC_COUNT; i++)
		rs_take_record(&header->section[i], sizeof(header->section[i]),
			       from + (uint64_t)i * header->section_stride, header->section_stride);
	return true;
}

/* rs_guest_info.state */
#define RS_GUEST_ABSENT 0u
#define RS_GUEST_RUNNING 1u
#define RS_GUEST_PANICKED 2u
#define RS_GUEST_EXITED 3u

/* rs_guest_info.flags */
#define RS_GUEST_SELF_PATCH (1u << 0)   /* follows rs_control.generation and patches itself */
#define RS_GUEST_PREEMPTIBLE (1u << 1)  /* rings have many producers: locked instructions */
#define RS_GUEST_NUDGE_VECTOR (1u << 2) /* the host may raise interrupt nudge_vector */
#define RS_GUEST_NUDGE_NMI (1u << 3)    /* the host may raise an NMI */
#define RS_GUEST_STACKS (1u << 4)       /* heeds RS_EVENT_STACK_MASK; else no record has a stack */
#define RS_GUEST_BRIDGE (1u << 5)       /* its pages are another tracer's: see bridge.h */
#define RS_GUEST_FOLLOWS (1u << 6)      /* applied_generation tells what is in force */
#define RS_GUEST_RING_MODE (1u << 7)    /* looks at ring_mode whenever it switches the page */
#define RS_GUEST_RING_SHAPE (1u << 8)   /* looks at rs_ring_ctl.shape likewise */
#define RS_GUEST_BREAKPOINTS (1u << 9)  /* goes on behind a breakpoint that begins a site */

/*
 * rs_guest_info.paging. A host that cannot walk tables of this kind leaves the guest's text alone.
 */
#define RS_PAGING_NONE 0u     /* page_table_root is not used */
#define RS_PAGING_X86_64_4 1u /* CR3, tables of 4 levels */
#define RS_PAGING_X86_64_5 2u /* CR3, tables of 5 levels (CR4.LA57 is set) */

/* When a boot began. An observer shows it in the trace. */
struct rs_boot {        /* G */
	uint32_t boot;  /* its number; 0: none */
	uint32_t chain; /* clock chain of `ts` */
	uint64_t ts;    /* event clock at the moment when the agent attached */
};
RS_ASSERT_SIZE(struct rs_boot, 16);
#define RS_BOOTS 8u /* boot b is entry b % RS_BOOTS */

struct rs_guest_info {  /* G */
	uint64_t magic; /* RS_GUEST_MAGIC, written last */
	uint16_t abi_major;
	uint16_t abi_minor;
	uint32_t arch;       /* RS_ARCH_* */
	uint64_t features;   /* likewise */
	uint64_t session_id; /* copied from the header: this agent accepted this layout */
	uint32_t boot;       /* number of this boot on this region: 1, 2 … */
	uint32_t flags;      /* RS_GUEST_SELF_PATCH … */
	uint32_t state;      /* RS_GUEST_* state */
	uint32_t cpu_count;
	uint32_t exit_code;    /* when EXITED */
	uint32_t nudge_vector; /* interrupt that makes the agent look, if the flag says so */
	uint64_t tsc_hz;       /* rate of the event clock, as far as the guest knows; 0: unknown */
	uint64_t page_table_root;  /* translates the guest's GVAs: see `paging`; 0: none (hosted) */
	uint32_t provider_slots;   /* entries of RS_SEC_PROVIDERS used so far (release) */
	uint32_t provider_changes; /* grows just before a change of one of them ends (release) */
	uint32_t applied_generation; /* self-patching or RS_GUEST_FOLLOWS: the last one applied */
	uint32_t patch_errors;       /* self-patching: sites that held unexpected bytes */
	uint64_t lost_no_ring;       /* records refused because their vCPU has no ring */
	uint64_t lost_nested;        /* records refused because of runaway nesting */
	uint32_t sites_on;           /* self-patching: sites that are patched now */
	uint32_t owner_pid;          /* process that the agent runs in; 0: a kernel */
	uint32_t paging;             /* RS_PAGING_*, for every page_table_root of this guest */
	uint32_t reserved0;
	uint64_t callbacks_skipped; /* calls of callbacks left out: too many lay in one another */
	uint32_t clock_pong;        /* the rs_control.clock_ping that clock_ts answers (release) */
	uint32_t cmdline_changes;   /* grows after each write to RS_SEC_CMDLINE (release) */
	uint64_t clock_ts;          /* event clock right after clock_ping was seen */
	uint64_t reserved1[8];
	struct rs_boot boots[RS_BOOTS];
	char agent[RS_LABEL_LEN]; /* NUL-terminated name and version of the agent's port */
	char name[RS_LABEL_LEN];  /* NUL-terminated name of the guest, for people */
};
RS_ASSERT_SIZE(struct rs_guest_info, 464);
#define RS_GUEST_INFO_MIN_SIZE 464u
RS_ASSERT_GROWS(struct rs_guest_info, RS_GUEST_INFO_MIN_SIZE);
RS_ASSERT_OFFSET(struct rs_guest_info, flags, 36);
RS_ASSERT_OFFSET(struct rs_guest_info, provider_slots, 72);
RS_ASSERT_OFFSET(struct rs_guest_info, boots, 208);
RS_ASSERT_OFFSET(struct rs_guest_info, agent, 336);

#endif
