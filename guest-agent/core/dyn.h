/* SPDX-License-Identifier: MIT */
/* struct rs_dyn for the files of core/. It is public because the event macros build it. */
#ifndef RS_AGENT_DYN_H
#define RS_AGENT_DYN_H

#include <ringside/dyn.h>

#endif
