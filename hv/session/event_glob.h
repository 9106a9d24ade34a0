/* SPDX-License-Identifier: MIT */
/* Globs of events (filter/rs-trace-event-glob.h), as a session is asked for them. Any thread. */
#ifndef RS_HV_SESSION_EVENT_GLOB_H
#define RS_HV_SESSION_EVENT_GLOB_H

#include "base/error.h"
#include "filter/rs-trace-event-glob.h"

#include <rs-trace-glob.h>

/* Whether it is one: 0, or -EINVAL. */
int rs_event_glob_check(const char *text, struct rs_error *err);
/* Whether each part may match names that there can be (<ringside/name.h>): 0, or -EINVAL. */
int rs_event_glob_check_names(const char *text, struct rs_error *err);

#endif
