/* SPDX-License-Identifier: MIT */
/* What the host of a session has recorded, for tests. */
#ifndef RS_TEST_SESSION_TOLD_H
#define RS_TEST_SESSION_TOLD_H

#include "session/session.h"

/* A line for each record: its ring, the event and its text. To be freed. */
char *told_by(const struct rs_source *host);

#endif
