/* SPDX-License-Identifier: MIT */
/*
 * How a program of this host that runs already gets a region. Its agent has an open file (a memfd)
 * of this name, one page of zeros, and sleeps on the first word of it (FUTEX_WAIT, 0, not private).
 * A host that may open the process's files makes the file as large as it needs, seals its size,
 * locks its first byte (RS_CONTROL_HELD), lays out a directory with a region that is given to the
 * process (RS_SOURCE_GIVEN, its id as the process sees it), and wakes the agent. The agent takes
 * the region. When the host has gone, the agent makes another file. A host that finds a directory
 * there wakes the agent as well: whoever made it may have died before that. Model: door.
 */
#ifndef RINGSIDE_DOOR_H
#define RINGSIDE_DOOR_H

#define RS_DOOR_NAME "ringside-door"
/* The file of a session that starts programs; they inherit it. */
#define RS_REGIONS_NAME "ringside-regions"

#endif
