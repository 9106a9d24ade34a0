/* SPDX-License-Identifier: MIT */
/*
 * Writes trace files for tests, and reads them as one line of text: source, time and task of each
 * record ("a:10x "), or how many are lost ("a:-3 ").
 */
#ifndef RS_TEST_BUILD_FILE_H
#define RS_TEST_BUILD_FILE_H

#include "build.h"
#include "rs-trace-reader.h"
#include "rs-trace-writer.h"

#define RINGS 2u

typedef struct {
	GOutputStream *stream;
	RsTraceWriter *writer;
	guint64 seq[RINGS], records[RINGS];
} File;

/* `config`: RsTraceWriterConfig, or NULL. */
void set_up(File *f, gconstpointer config);
void tear_down(File *f, gconstpointer unused);

void put_source(File *f, guint number, const char *name);
void put_schema(File *f, guint source);
void put_name(File *f, guint source, const char *comm);
/* A page with a record at each of these times, 0 behind the last. */
void put_page(File *f, guint source, guint ring, const guint32 *times, guint64 lost);
#define PAGE(f, source, ring, lost, ...)                                                           \
	put_page(f, source, ring, (const guint32[]){__VA_ARGS__, 0}, lost)
void end_window(File *f, guint64 until);
GBytes *finish(File *f);

typedef struct {
	GString *text;
	gboolean cut;
	RsTraceFileDamage damage;
	guint64 bad_pages;
	GError *error;
} Result;

/* What is left of it. */
void read_rest(RsTraceReader *reader, Result *result);
void read_stream(GInputStream *stream, Result *result);
void read_bytes(GBytes *bytes, gsize size, Result *result);
void free_result(Result *result);
/* All of it can be read, and is so. */
void check(GBytes *bytes, const char *expected);

GInputStream *stream_of(GBytes *bytes);
/* One that cannot seek. */
GInputStream *pipe_of(GBytes *bytes);
RsTraceFile *file_of(GBytes *bytes);

#endif
