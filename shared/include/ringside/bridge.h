/* SPDX-License-Identifier: MIT */
/*
 * A bridge is an agent that has no tracepoints. It moves the pages of another tracer, Linux'
 * ftrace, which a host reads by ringside/ftrace_page.h (docs/adr/0025-tracefs-bridge.md). It says
 * so by RS_GUEST_BRIDGE in rs_guest_info.flags.
 *
 * Its providers are the systems of that tracer. Their events can be listed, enabled and filtered as
 * any others, but no record has their ids. What their records are is in the pages: a page of
 * vCPU i is in ring i, in records of the event RS_BRIDGE_SYSTEM:RS_BRIDGE_PAGE. Of an event's
 * record in a page, the payload begins RS_FTRACE_COMMON bytes behind the record's start.
 *
 * The print format of a descriptor is what the tracer's own format file says of the event:
 *	"ID: 314\nprint fmt: \"…\", REC->…"
 * Each '%' in it stands twice, so that it shows no field.
 */
#ifndef RINGSIDE_BRIDGE_H
#define RINGSIDE_BRIDGE_H

#include <ringside/grow.h>

#define RS_BRIDGE_SYSTEM "bridge"
#define RS_BRIDGE_PAGE "page"   /* struct rs_bridge_page and bytes of a page */
#define RS_BRIDGE_SWEPT "swept" /* struct rs_bridge_swept */

/* Of a descriptor's print format. */
#define RS_BRIDGE_ID "ID: "
#define RS_BRIDGE_PRINT "\nprint fmt: "

/*
 * A page may come in several records, one after the other in its ring, with nothing else between
 * them. A page that is not whole is lost. The number of the next page says how many events it had.
 */
struct rs_bridge_page { /* G */
	/* Events of this vCPU before the page, so far: those in pages, and those that were lost. */
	uint64_t first;
	uint32_t count;  /* events in the page; 0: the record only says what was lost */
	uint32_t total;  /* bytes of the page, at most RS_FTRACE_PAGE_MAX */
	uint32_t offset; /* of this record's bytes in the page */
	uint32_t data;   /* locator of these bytes */
};
RS_ASSERT_SIZE(struct rs_bridge_page, 24);

/*
 * In ring 0, after pages of any ring: all events up to a time have come. So a host holds pages back
 * until then, and has the order of time.
 */
struct rs_bridge_swept { /* G */
	uint64_t until;  /* event clock */
};
RS_ASSERT_SIZE(struct rs_bridge_swept, 8);

#endif
