/* SPDX-License-Identifier: MIT */
/*
 * A decoder for who holds only a slice of a page at a time, since whole pages of many rings would
 * take too much memory. One thread at a time.
 */
#ifndef RS_TRACE_DECODER_PRIVATE_H
#define RS_TRACE_DECODER_PRIVATE_H

#include "rs-trace-decoder.h"

G_BEGIN_DECLS
#pragma GCC visibility push(hidden)

/* Its memory, for so many rings. */
gsize rs_trace_decoder_size(guint n_rings);
/* From now on. `schema` NULL: no event is known. `clock` NULL: ns is ts. */
void rs_trace_decoder_set_tables(RsTraceDecoder *decoder, const RsTraceSchema *schema,
				 RsTraceClock *clock);

/*
 * What lies between the ring's page before and the one that begins next may be damaged. So what
 * their headers say is missing counts as lost, if that is more than the next page is said to miss.
 */
void rs_trace_decoder_after_gap(RsTraceDecoder *decoder, guint ring);
/* The same of a page that is damaged, which counts as a bad one. */
void rs_trace_decoder_miss(RsTraceDecoder *decoder, guint ring);

/* From where on the bytes of the page that is being read are still needed. */
guint rs_trace_decoder_at(const RsTraceDecoder *decoder, guint ring);
/*
 * Of that page only [at, at + size) is there from now on, at `bytes`. `at` is no more than what
 * rs_trace_decoder_at() says. A slice that is not the page's last one has a multiple of 8 bytes.
 */
void rs_trace_decoder_slice(RsTraceDecoder *decoder, guint ring, const guint8 *bytes, guint at,
			    guint size);
/*
 * Whether the last rs_trace_decoder_next() found no more because the slice ends before the record
 * does. From rs_trace_decoder_at() on there must be more bytes than there were.
 */
gboolean rs_trace_decoder_is_short(const RsTraceDecoder *decoder, guint ring);

#pragma GCC visibility pop
G_END_DECLS

#endif
