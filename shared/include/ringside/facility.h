/* SPDX-License-Identifier: MIT */
/*
 * Facilities of ktrace: the numbers of kinds of records, and masks of them, as guests
 * (ringside/ktrace.h) and the host use them.
 */
#ifndef RINGSIDE_FACILITY_H
#define RINGSIDE_FACILITY_H

/* Kinds of records, with OpenBSD's numbers. */
#define RS_KTR_SYSCALL 1u
#define RS_KTR_SYSRET 2u
#define RS_KTR_NAMEI 3u
#define RS_KTR_GENIO 4u
#define RS_KTR_PSIG 5u
#define RS_KTR_CSW 6u
#define RS_KTR_EMUL 7u
#define RS_KTR_STRUCT 8u
#define RS_KTR_USER 9u
#define RS_KTR_EXECARGS 10u
#define RS_KTR_EXECENV 11u

/* Facilities, the masks of them. One bit for each kind of record. */
#define RS_KTRFAC_SYSCALL (1u << RS_KTR_SYSCALL)
#define RS_KTRFAC_SYSRET (1u << RS_KTR_SYSRET)
#define RS_KTRFAC_NAMEI (1u << RS_KTR_NAMEI)
#define RS_KTRFAC_GENIO (1u << RS_KTR_GENIO)
#define RS_KTRFAC_PSIG (1u << RS_KTR_PSIG)
#define RS_KTRFAC_CSW (1u << RS_KTR_CSW)
#define RS_KTRFAC_EMUL (1u << RS_KTR_EMUL)
#define RS_KTRFAC_STRUCT (1u << RS_KTR_STRUCT)
#define RS_KTRFAC_USER (1u << RS_KTR_USER)
#define RS_KTRFAC_EXECARGS (1u << RS_KTR_EXECARGS)
#define RS_KTRFAC_EXECENV (1u << RS_KTR_EXECENV)
#define RS_KTRFAC_POINTS 0xffeu       /* all of the above */
#define RS_KTRFAC_INHERIT 0x40000000u /* future children are traced in the same way */
#define RS_KTRFAC_ROOT 0x80000000u    /* root traces the process; nobody else may change that */

/* Errors of a system call that are none: it begins again; its registers are as they should be. */
#define RS_KTR_RESTART (-1)
#define RS_KTR_JUSTRETURN (-2)

#endif
