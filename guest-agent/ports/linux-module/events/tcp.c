/* SPDX-License-Identifier: MIT */
/*
 * The kernel gives a socket its cookie when somebody asks for it. This function is not exported, so
 * the event shows 0 for a socket that has none yet.
 */
#define __sock_gen_cookie rs_no_cookie
#include <linux/sock_diag.h>

u64 rs_no_cookie(struct sock *sk)
{
	return 0;
}

#include <linux/ip.h>
#include <trace/events/sock.h> /* names of families and states */
#define RS_KERNEL_HEADER <trace/events/tcp.h>
#include "../kernel_stages.h"
