/* SPDX-License-Identifier: MIT */
/* The pool of text that a port tells its agent of (rs_agent_config.text_pool): one in an image. */
#ifndef RS_PORTS_TEXT_POOL_H
#define RS_PORTS_TEXT_POOL_H

#include <ringside/native.h>

#define RS_TEXT_POOL_SIZE 32768

extern const uint8_t rs_text_pool[RS_TEXT_POOL_SIZE] __attribute__((visibility("hidden")));

#endif
