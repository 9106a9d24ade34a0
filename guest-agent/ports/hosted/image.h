/* SPDX-License-Identifier: MIT */
/* For rs_hosted.c only. */
#ifndef RS_HOSTED_IMAGE_H
#define RS_HOSTED_IMAGE_H

#include <ringside/agent.h>

#pragma GCC visibility push(hidden) /* not for who links the agent */

/* Sets the image range and the build id of the image that `provider` itself lies in. */
void rs_hosted_image(struct rs_agent_provider *provider);

#pragma GCC visibility pop

#endif
