/* SPDX-License-Identifier: MIT */
/*
 * Chunks of rings in, lines of text or JSON out: the joint between hv/ring and viewer/decode. Used by live.c, on
 * its thread only. Chunks are hostile bytes; decode judges them.
 */
#ifndef RS_HV_CLI_PRINTER_H
#define RS_HV_CLI_PRINTER_H

#include "cli/live.h"

struct rs_printer;

int rs_printer_create(const struct rs_live_config *config, struct rs_printer **out,
		      struct rs_error *err);
void rs_printer_destroy(struct rs_printer *printer);

/* A round: begin, chunks of every ring, end. */
void rs_printer_begin_round(struct rs_printer *printer);
void rs_printer_chunk(struct rs_printer *printer, const RsTraceChunk *chunk);
/* What was seen a round ago goes out, in order. Bit r of `in_flight`: ring r was not read to its end. */
void rs_printer_end_round(struct rs_printer *printer, uint64_t in_flight);
/* Records known to be lost after the last chunk. */
void rs_printer_pending_loss(struct rs_printer *printer, uint32_t ring, uint64_t lost);
/* Lets everything out and writes it. */
void rs_printer_finish(struct rs_printer *printer);
/* Writes what has gathered. Not 0: no more is wanted (count reached, output closed or failed). */
int rs_printer_flush(struct rs_printer *printer);
void rs_printer_stats(const struct rs_printer *printer, struct rs_live_stats *out);

#endif
