/* SPDX-License-Identifier: MIT */
/*
 * RS_EACH(macro, ctx, items...) is macro(ctx, item) for each item, up to 340 of them. event_impl.h
 * uses it to expand one list of fields in several ways.
 *
 * __field is not a macro of ours: RS_KIND_OF_ is pasted in front of an item such as __field(u32,
 * prev), and that macro gives a kind and arguments. So only __assign_* are defined under short
 * names, and code that defines its own __field (Linux) keeps it.
 */
#ifndef RINGSIDE_EACH_H
#define RINGSIDE_EACH_H

/*
 * Every compiler that these headers are for has __VA_OPT__, also for C17 and C++17, but with
 * -Wpedantic it warns of each use. There is nothing else here that it could warn of.
 */
#pragma GCC system_header

#define RS_PARENS ()
#define RS_EXPAND(...) RS_EXPAND4(RS_EXPAND4(RS_EXPAND4(RS_EXPAND4(__VA_ARGS__))))
#define RS_EXPAND4(...) RS_EXPAND3(RS_EXPAND3(RS_EXPAND3(RS_EXPAND3(__VA_ARGS__))))
#define RS_EXPAND3(...) RS_EXPAND2(RS_EXPAND2(RS_EXPAND2(RS_EXPAND2(__VA_ARGS__))))
#define RS_EXPAND2(...) RS_EXPAND1(RS_EXPAND1(RS_EXPAND1(RS_EXPAND1(__VA_ARGS__))))
#define RS_EXPAND1(...) __VA_ARGS__

/* Lists get an empty item at their end, since ISO C wants something for each "...". */
#define RS_EACH(macro, ctx, ...) __VA_OPT__(RS_EXPAND(RS_EACH_STEP(macro, ctx, __VA_ARGS__, )))
/* Of a list that ends so already. */
#define RS_EACH_ENDED(macro, ctx, ...) __VA_OPT__(RS_EXPAND(RS_EACH_STEP(macro, ctx, __VA_ARGS__)))
#define RS_EACH_STEP(macro, ctx, item, ...)                                                        \
	macro(ctx, item) __VA_OPT__(RS_EACH_NEXT RS_PARENS(macro, ctx, __VA_ARGS__))
#define RS_EACH_NEXT() RS_EACH_STEP

/* prefix##item of each item of such a list, with `between` them. */
#define RS_JOIN(prefix, between, ...)                                                              \
	"" __VA_OPT__(RS_EXPAND(RS_JOIN_STEP(prefix, between, __VA_ARGS__)))
#define RS_JOIN_STEP(prefix, between, item, ...)                                                   \
	prefix##item __VA_OPT__(between RS_JOIN_NEXT RS_PARENS(prefix, between, __VA_ARGS__))
#define RS_JOIN_NEXT() RS_JOIN_STEP

/* Makes prefix##KIND(ctx, arguments...) of an item. */
#define RS_DISPATCH(prefix, ctx, ...) RS_DISPATCH_(prefix, ctx, __VA_ARGS__)
#define RS_DISPATCH_(prefix, ctx, kind, ...) prefix##kind(ctx, __VA_ARGS__)

#endif
