/* SPDX-License-Identifier: MIT */
/*
 * CTF 1.8: a directory for each source, which is a trace, with its metadata in TSDL and a stream of
 * packets for each vCPU. All integers are little-endian and begin at a byte.
 *
 * A name gets an underscore in front, which readers take away: so no name is a word of TSDL.
 */
#ifndef RS_TRACE_CTF_PRIVATE_H
#define RS_TRACE_CTF_PRIVATE_H

#include "rs-trace-exporter.h"

#define RS_CTF_MAGIC 0xc1fc1fc1u
/* Times of a trace and its offset stay below this, so that readers can add them. */
#define RS_CTF_TIME_MAX (G_GUINT64_CONSTANT(1) << 62)

/* Classes of events that are there from the beginning. Those of the guest follow. */
#define RS_CTF_BOOT 0u    /* ringside:boot */
#define RS_CTF_UNKNOWN 1u /* ringside:unknown, whose call stack is left out */
#define RS_CTF_FIRST 2u
#define RS_CTF_CLASSES_MAX 65535u

/* What the metadata says of a trace. */
typedef struct {
	const struct rs_file_header *header;
	const struct rs_file_source *source;
	guint8 uuid[16];
} RsCtfTrace;

/* Appends all but the guest's events. */
void rs_ctf_metadata(GString *out, const RsCtfTrace *trace);
/*
 * Appends the class of an event behind its id: what makes two classes differ. Events that came with
 * a call stack are of another class for each depth: babeltrace2 2.0.4 fails at a sequence there.
 */
void rs_ctf_event_class(GString *out, const RsTraceEvent *event, guint n_stack);

/* A stream: the packets of one vCPU. */
typedef struct {
	GByteArray *bytes; /* packets that are not yet in the file, and the one that is open */
	gsize start;       /* of the open packet in `bytes` */
	gboolean open;
	guint64 begin, last; /* ns: of the open packet, of the last event */
	guint64 discarded;   /* so far */
	guint64 packets;     /* so far */
	guint ring;
} RsCtfStream;

/* Appends an event of class `id` to the stream. */
void rs_ctf_stream_event(RsCtfStream *stream, const RsCtfTrace *trace, guint id,
			 const RsTraceExportItem *item);
/* `lost` events are missing here. */
void rs_ctf_stream_loss(RsCtfStream *stream, const RsCtfTrace *trace, guint64 ns, guint64 lost);
/* Ends the open packet, if there is one. */
void rs_ctf_stream_end_packet(RsCtfStream *stream, const RsCtfTrace *trace);

#endif
