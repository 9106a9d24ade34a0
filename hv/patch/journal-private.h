/* SPDX-License-Identifier: MIT */
/* The journal as its two files share it: journal.c (the file), recover.c (playing it back). */
#ifndef RS_HV_PATCH_JOURNAL_PRIVATE_H
#define RS_HV_PATCH_JOURNAL_PRIVATE_H

#include "patch/journal.h"

struct rs_journal {
	int fd;
	char *path;
	struct rs_journal_header header;
	bool header_stale; /* write the header before the next records */
	bool keep;         /* do not remove the file at close */
	GArray *records;   /* struct rs_journal_record: what may be patched */
	guint in_file;     /* records in the file, where forgotten ones may stay among the others */
};

/* Forgets the records of which keep[i] is false. */
int rs_journal_keep(struct rs_journal *journal, const bool *keep, struct rs_error *err);

#endif
