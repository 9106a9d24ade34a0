/* SPDX-License-Identifier: MIT */
/* For rs_hosted.c only. */
#ifndef RS_HOSTED_IMAGE_H
#define RS_HOSTED_IMAGE_H

#include <ringside/agent.h>

#pragma GCC visibility push(hidden) /* not for who links the agent */

/* Sets the image range and the build id of the image that `provider` itself lies in. */
void rs_hosted_image(struct rs_agent_provider *provider);

/* The file of the image that `inside` lies in, its folders left out; or of the program. */
void rs_hosted_image_name(const void *inside, char *out, size_t size);

/*
 * Keeps the image that `inside` lies in for the life of the process, whatever dlclose() is told:
 * this library's thread runs in it, and the session knows its sites.
 */
void rs_hosted_keep_image(const void *inside);

#pragma GCC visibility pop

#endif
