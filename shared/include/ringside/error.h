/* SPDX-License-Identifier: MIT */
/*
 * The numbers of errors, one set for all: those of Linux, so that an operating system or a process
 * can hand them on as they are. A function of the agent returns 0 or more if it has done its work,
 * else one of these, negative. So does a hypercall. rs_agent_strerror() has text for people.
 */
#ifndef RINGSIDE_ERROR_H
#define RINGSIDE_ERROR_H

#define RS_EPERM 1          /* only root may do that */
#define RS_ENOENT 2         /* there is nothing of that name or number */
#define RS_ESRCH 3          /* the thread or process has gone */
#define RS_E2BIG 7          /* too large */
#define RS_EBADF 9          /* written while nobody listens */
#define RS_EAGAIN 11        /* not now; perhaps later */
#define RS_EACCES 13        /* refused */
#define RS_EBUSY 16         /* already done, or in use */
#define RS_EEXIST 17        /* there is one already */
#define RS_EXDEV 18         /* it belongs to another image */
#define RS_ENODEV 19        /* no region */
#define RS_EINVAL 22        /* an argument is wrong */
#define RS_ENOSPC 28        /* no room is left */
#define RS_ENAMETOOLONG 36  /* a name is too long */
#define RS_ENOSYS 38        /* there is no such function */
#define RS_EPROTO 71        /* another version of the ABI */
#define RS_EBADMSG 74       /* it contradicts itself */
#define RS_EOVERFLOW 75     /* a limit is exceeded */
#define RS_EILSEQ 84        /* a name breaks the rules for names */
#define RS_EADDRINUSE 98    /* all of them have an owner */
#define RS_ENOTCONN 107     /* not attached, or not registered */
#define RS_EHOSTUNREACH 113 /* no host answers */
#define RS_EALREADY 114     /* too late: it has begun */
#define RS_EINPROGRESS 115  /* it is under way */
#define RS_ERESTARTSYS 512  /* a signal came while this waited */

#endif
