/* SPDX-License-Identifier: MIT */
/*
 * The sink that passes all on to two sinks: one keeps what the other decodes, from one reading of
 * the rings. So both have the same records and the same losses.
 *
 * What decodes needs each page as far as it is written, or records would come late, and out of
 * order. What keeps needs whole pages, or it would keep each page many times. So sources hand out
 * parts, and the tee gathers those of a page for the sink that keeps. That one gets a page once it
 * is full, and parts of it whenever it asks for them, as of a source of whole pages: a recorder
 * does so at the end of each of its windows.
 *
 * Both see feeds of the tee's own, with the number and the data of the real one. Names of tasks
 * that either asks for, both get.
 *
 * As soon as one of the two wants no more, the tee wants no more either, and the other one is told
 * the end: so that nothing is shown that was not recorded.
 *
 * Threads and trust: as rs-trace-sink.h says.
 */
#ifndef RS_TRACE_TEE_H
#define RS_TRACE_TEE_H

#include "rs-trace-sink.h"

G_BEGIN_DECLS

/*
 * Takes both over. In each call `keeps` comes first. For the caller or a pump to free, by its ops.
 */
RsTraceSink *rs_trace_tee_new(RsTraceSink *keeps, RsTraceSink *decodes);

G_END_DECLS

#endif
