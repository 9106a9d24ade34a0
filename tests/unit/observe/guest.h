/* SPDX-License-Identifier: MIT */
/* A region with an agent that emits what a test says: a real ring writer, without a guest. */
#ifndef TEST_OBSERVE_GUEST_H
#define TEST_OBSERVE_GUEST_H

#include "ring.h"

#include "build.h"
#include "region/regions.h"

#define PAGE 4096u
#define PAGES 4u
#define RINGS 2u
#define PAYLOAD 56u                             /* a record of 64 bytes */
#define FIT ((PAGE - RS_RING_PAGE_HEADER) / 64) /* records of a page, which they fill */
#define PID 7u
#define EPOCH_NS 10u /* the second epoch's times are so much later */

typedef struct {
	const char *name;
	RsTraceRegion *region;
	struct rs_rings rings;
	guint64 lost_nested, emitted, dropped;
	guint64 before;      /* emitted before the observers joined, so not seen by them */
	guint first, second; /* numbers of the source at both pumps */
} Guest;

extern uint64_t ticks; /* of all guests' clock */
uint64_t tick(void);

gpointer element(Guest *g, guint section, guint index);
struct rs_guest_info *info_of(Guest *g);
void begin_epoch(Guest *g, guint index, guint64 shift);
/* In each boot, the same id means another event. */
void begin_boot(Guest *g, guint boot, const char *event);
void set_name(Guest *g, guint boot, const char *comm);
void open_guest(Guest *g, const char *name);
/* Emits n records, which hold their numbers. */
void emit(Guest *g, guint index, guint n);
/* Where the ring's next record will lie. */
uint8_t *next_place(Guest *g, guint index);

#endif
