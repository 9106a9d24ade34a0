/* SPDX-License-Identifier: MIT */
/* Events of the agent's tests: each kind of field at least once. No include guard: see event.h. */
#include <ringside/event.h>

RS_TRACE_EVENT(test, pair, TP_PROTO(uint32_t a, uint32_t b), TP_ARGS(a, b),
	       TP_STRUCT__entry(__field(u32, a), __field(u32, b)),
	       TP_fast_assign(__entry->a = a; __entry->b = b), TP_printk("a=%u b=%u", a, b))

RS_TRACE_EVENT_LEVEL(
	test, all, 2, 0x30,
	TP_PROTO(const void *addr, const char *comm, const uint16_t *list, uint32_t count,
		 const char *why),
	TP_ARGS(addr, comm, list, count, why),
	TP_STRUCT__entry(__field(u8, u_1), __field(u16, u_2), __field(u32, u_4), __field(u64, u_8),
			 __field(s8, s_1), __field(s16, s_2), __field(int32_t, s_4),
			 __field(s64, s_8), __field_hex(u64, rip), __field_ptr(addr),
			 __array(u8, mac, 6), __array_hex(s16, regs, 3), __chars(comm, 16),
			 __enum(u32, state, {0, "R"}, {1, "S"}),
			 __flags(u16, bits, {1, "A"}, {2, "B"}, {4, "C"}),
			 __dynamic_array(u16, list), __string(why), __dynamic_array_hex(s64, none)),
	TP_fast_assign(__entry->u_1 = 1; __entry->u_2 = 2; __entry->u_4 = 4; __entry->u_8 = 8;
		       __entry->s_1 = -1; __entry->s_2 = -2; __entry->s_4 = -4; __entry->s_8 = -8;
		       __entry->rip = 0xffffffff81000000ull; __entry->addr = rs_address(addr);
		       __assign_fixed(mac, "\1\2\3\4\5\6"); __assign_chars(comm, comm);
		       __entry->state = 1; __entry->bits = 5; __assign_str(why, why);
		       __assign_array(list, list, count)),
	TP_printk("%u %d comm=%s state=%s why=%s list=%s", u_1, __entry->s_8, comm, state, why,
		  list))

RS_TRACE_EVENT(test, bare, TP_PROTO(void), TP_ARGS(), TP_STRUCT__entry(), TP_fast_assign(),
	       TP_printk("nothing to say"))
