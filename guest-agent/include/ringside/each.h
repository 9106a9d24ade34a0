/* SPDX-License-Identifier: MIT */
/*
 * RS_EACH(macro, ctx, items...): macro(ctx, item) for each item, up to 340 of them. Used by event.h
 * to expand one field list in several ways.
 *
 * An item such as __field(u32, prev) is no macro call of ours: its first word is pasted onto RS_KIND_OF_,
 * which turns it into a kind and arguments. So nothing but __assign_* is defined under short names,
 * and a program that has its own __field (Linux) is left alone.
 */
#ifndef RINGSIDE_EACH_H
#define RINGSIDE_EACH_H

#define RS_PARENS ()
#define RS_EXPAND(...) RS_EXPAND4(RS_EXPAND4(RS_EXPAND4(RS_EXPAND4(__VA_ARGS__))))
#define RS_EXPAND4(...) RS_EXPAND3(RS_EXPAND3(RS_EXPAND3(RS_EXPAND3(__VA_ARGS__))))
#define RS_EXPAND3(...) RS_EXPAND2(RS_EXPAND2(RS_EXPAND2(RS_EXPAND2(__VA_ARGS__))))
#define RS_EXPAND2(...) RS_EXPAND1(RS_EXPAND1(RS_EXPAND1(RS_EXPAND1(__VA_ARGS__))))
#define RS_EXPAND1(...) __VA_ARGS__

#define RS_EACH(macro, ctx, ...) __VA_OPT__(RS_EXPAND(RS_EACH_STEP(macro, ctx, __VA_ARGS__)))
#define RS_EACH_STEP(macro, ctx, item, ...)                                                        \
	macro(ctx, item) __VA_OPT__(RS_EACH_NEXT RS_PARENS(macro, ctx, __VA_ARGS__))
#define RS_EACH_NEXT() RS_EACH_STEP

/* prefix_KIND(ctx, arguments...) for an item. */
#define RS_DISPATCH(prefix, ctx, ...) RS_DISPATCH_(prefix, ctx, __VA_ARGS__)
#define RS_DISPATCH_(prefix, ctx, kind, ...) prefix##kind(ctx, __VA_ARGS__)

#endif
