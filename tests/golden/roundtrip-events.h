/* SPDX-License-Identifier: MIT */
/* Each kind of field, in each size that it has. No include guard: see event.h. */
#include <ringside/event.h>

/* clang-format off */

RS_TRACE_EVENT(golden, ints, TP_PROTO(uint64_t u, int64_t s), TP_ARGS(u, s),
	TP_STRUCT__entry(
		__field(u8, u_1), __field(s8, s_1), __field(u16, u_2), __field(s16, s_2),
		__field(u32, u_4), __field(s32, s_4), __field(u64, u_8), __field(s64, s_8)),
	TP_fast_assign(
		__entry->u_1 = (uint8_t)u; __entry->u_2 = (uint16_t)u;
		__entry->u_4 = (uint32_t)u; __entry->u_8 = u;
		__entry->s_1 = (int8_t)s; __entry->s_2 = (int16_t)s;
		__entry->s_4 = (int32_t)s; __entry->s_8 = s),
	TP_printk("%u %u %u %llu | %d %d %d %lld | %5u|%-5d|%05d|%+d|%#x|%o %%", u_1, u_2, u_4, u_8,
	          s_1, s_2, s_4, s_8, u_1, s_1, s_2, s_2, u_2, u_1))

RS_TRACE_EVENT_LEVEL(golden, hex, 5, 0x8000000000000001,
	TP_PROTO(uint64_t value, const void *addr), TP_ARGS(value, addr),
	TP_STRUCT__entry(
		__field_hex(u8, h_1), __field_hex(u16, h_2), __field_hex(u32, h_4),
		__field_hex(u64, h_8), __field_ptr(addr)),
	TP_fast_assign(
		__entry->h_1 = (uint8_t)value; __entry->h_2 = (uint16_t)value;
		__entry->h_4 = (uint32_t)value; __entry->h_8 = value;
		__entry->addr = rs_address(addr)),
	TP_printk("%x %04x %X %llx addr=%p", __entry->h_1, __entry->h_2, h_4, h_8, addr))

RS_TRACE_EVENT(golden, arrays, TP_PROTO(const int64_t *v, const char *comm), TP_ARGS(v, comm),
	TP_STRUCT__entry(
		__array(u8, mac, 6), __array_hex(s16, regs, 3), __array(s32, deltas, 2),
		__array_hex(u64, wide, 2), __array(s8, one, 1), __chars(comm, 16), __chars(letter, 1)),
	TP_fast_assign(
		for (int i = 0; i < 6; i++) __entry->mac[i] = (uint8_t)v[i];
		for (int i = 0; i < 3; i++) __entry->regs[i] = (int16_t)v[i];
		for (int i = 0; i < 2; i++) __entry->deltas[i] = (int32_t)v[i];
		for (int i = 0; i < 2; i++) __entry->wide[i] = (uint64_t)v[i];
		__entry->one[0] = (int8_t)v[1];
		__assign_chars(comm, comm); __assign_chars(letter, comm)),
	TP_printk("mac=%s regs=%s deltas=%s wide=%s one=%s comm=%s letter=%s", mac, regs, deltas,
	          wide, one, comm, letter))

RS_TRACE_EVENT(golden, symbols, TP_PROTO(uint64_t v), TP_ARGS(v),
	TP_STRUCT__entry(
		__enum(u8, e_1, {0, "zero"}, {255, "all ones"}), __enum(u16, e_2, {258, "two"}),
		__enum(u32, e_4, {0x80000000, "top"}), __enum(u64, e_8, {0xffffffffffffffff, "max"}),
		__flags(u8, f_1, {1, "A"}, {2, "B"}, {128, "H"}), __flags(u16, f_2, {0x8000, "HIGH"}),
		__flags(u32, f_4, {1, "ONE"}), __flags(u64, f_8, {0x8000000000000000, "SIGN"}, {3, "BOTH"})),
	TP_fast_assign(
		__entry->e_1 = (uint8_t)v; __entry->e_2 = (uint16_t)v; __entry->e_4 = (uint32_t)v;
		__entry->e_8 = v; __entry->f_1 = (uint8_t)v; __entry->f_2 = (uint16_t)v;
		__entry->f_4 = (uint32_t)v; __entry->f_8 = v),
	TP_printk("%s %s %s %s | %s %s %s %s", e_1, e_2, e_4, e_8, f_1, f_2, f_4, f_8))

RS_TRACE_EVENT(golden, dynamic,
	TP_PROTO(const uint16_t *list, uint32_t n, const int64_t *wide, uint32_t m, const char *why,
	         const char *what),
	TP_ARGS(list, n, wide, m, why, what),
	TP_STRUCT__entry(
		__field(u8, before), __dynamic_array(u16, list), __string(why),
		__dynamic_array_hex(s64, wide), __string(what), __dynamic_array(s64, same),
		__field(u8, after)),
	TP_fast_assign(
		__entry->before = 1; __entry->after = 2;
		__assign_array(list, list, n); __assign_array(wide, wide, m);
		__assign_array(same, wide, m);
		__assign_str(why, why); __assign_str(what, what)),
	TP_printk("%u list=%s wide=%s same=%s why=%s what=%s %u", before, list, wide, same, why, what,
	          after))

RS_TRACE_EVENT(golden, bare, TP_PROTO(void), TP_ARGS(), TP_STRUCT__entry(), TP_fast_assign(),
	TP_printk("nothing to say"))
