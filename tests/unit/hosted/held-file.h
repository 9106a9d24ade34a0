/* SPDX-License-Identifier: MIT */
/*
 * A file whose bytes never come: we are its FUSE server, on a thread, and answer no read. It is
 * mounted in a namespace of the calling thread, so that only that thread and its children see it.
 */
#ifndef RS_TESTS_HOSTED_HELD_FILE_H
#define RS_TESTS_HOSTED_HELD_FILE_H

#include <stdbool.h>

struct held_file {
	int fd;      /* of the server */
	char *dir;   /* that it is mounted at */
	char *path;  /* the file, of two pages */
	void *state; /* the thread */
	int reads;   /* atomic: that were begun */
};

/* False: such a mount is not permitted. */
bool held_file_make(struct held_file *file);
/* All that waits for its bytes goes on with an error. */
void held_file_end(struct held_file *file);

#endif
