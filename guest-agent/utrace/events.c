/* SPDX-License-Identifier: MIT */
#define RS_CREATE_TRACE_POINTS
#include "events.h"
