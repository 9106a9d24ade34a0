/* SPDX-License-Identifier: MIT */
/*
 * A tracepoint site on x86-64: a 5-byte NOP that a host, or the agent itself, turns into a JMP to
 * `label` and back. `.p2align 3,,4` pads only where the five bytes would cross an 8-byte boundary.
 * So one aligned 8-byte store switches the site.
 *
 * "?" puts the site's entry into the section group of the code, if that has one: where the linker
 * drops one of several copies of an inline C++ function, it drops the entries too.
 */
#ifndef RINGSIDE_SITE_X86_64_H
#define RINGSIDE_SITE_X86_64_H

/* What else a port's tools must be told of the site at 1b, as assembly. */
#ifndef RS_SITE_EXTRA
#define RS_SITE_EXTRA(label) ""
#endif

/* clang-format off */
#define RS_SITE_CODE(section, event, label) \
	".p2align 3,,4\n" \
	"1:\t.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n\t" \
	RS_SITE_EXTRA(label) \
	".pushsection " section ", \"a?\", @progbits\n\t" \
	".balign 4\n\t" \
	".long 1b - .\n\t" \
	".long " label " - .\n\t" \
	".long " event "\n\t" \
	".long 5\n\t" \
	".popsection"
/* clang-format on */

/* `event_symbol`: the name of the event, as a string. */
#define RS_SITE_GOTO(event_symbol, label)                                                          \
	__asm__ goto(RS_SITE_CODE("rs_sites", event_symbol " - .", "%l[" #label "]") : : : : label)

/* `event`: one that is static in the function. `section`: a string. */
#define RS_SITE_GOTO_IN(section, event, label)                                                     \
	__asm__ goto(RS_SITE_CODE(section, "%c[rs_of] - .", "%l[" #label "]")                      \
		     :                                                                             \
		     : [rs_of] "i"(&(event))                                                       \
		     :                                                                             \
		     : label)

/* A gate: a site of no event, which is on while any event of its section's provider is. */
#define RS_SITE_GATE_IN(section, label)                                                            \
	__asm__ goto(RS_SITE_CODE(section, "0", "%l[" #label "]") : : : : label)

#endif
