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
	GArray *records;   /* struct rs_journal_record, as in the file */
};

#endif
