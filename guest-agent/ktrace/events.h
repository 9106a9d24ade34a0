/* SPDX-License-Identifier: MIT */
/* The events of ktrace, one for each facility. No include guard: see event.h. */
#include <ringside/event.h>

/* Text that is bounded already, and that need not end with a NUL. */
#define KTR_TEXT(field, text, size) (__dyn[rs_dyn_##field] = (struct rs_dyn){(text), (size)})

RS_TRACE_EVENT_LEVEL(ktrace, syscall, 0, RS_KTRFAC_SYSCALL,
		     TP_PROTO(int64_t code, uint64_t argsize, const uint64_t *args, uint32_t count),
		     TP_ARGS(code, argsize, args, count),
		     TP_STRUCT__entry(__field(s64, code), __field(u64, argsize),
				      __dynamic_array_hex(u64, args)),
		     TP_fast_assign(__entry->code = code; __entry->argsize = argsize;
				    __assign_array(args, args, count);),
		     TP_printk("code=%d argsize=%u args=%s", code, argsize, args))

RS_TRACE_EVENT_LEVEL(
	ktrace, sysret, 0, RS_KTRFAC_SYSRET, TP_PROTO(int64_t code, int32_t error, int64_t retval),
	TP_ARGS(code, error, retval),
	TP_STRUCT__entry(__field(s64, code), __field(s64, retval), __field(s32, error)),
	TP_fast_assign(__entry->code = code; __entry->retval = retval; __entry->error = error;),
	TP_printk("code=%d error=%d retval=%d", code, error, retval))

RS_TRACE_EVENT_LEVEL(ktrace, namei, 0, RS_KTRFAC_NAMEI,
		     TP_PROTO(const char *path, uint32_t size, uint64_t length),
		     TP_ARGS(path, size, length),
		     TP_STRUCT__entry(__field(u64, length), __string(path)),
		     TP_fast_assign(__entry->length = length; KTR_TEXT(path, path, size);),
		     TP_printk("path=%s length=%u", path, length))

RS_TRACE_EVENT_LEVEL(ktrace, genio, 0, RS_KTRFAC_GENIO,
		     TP_PROTO(int32_t fd, uint8_t rw, uint32_t length, uint32_t offset,
			      int32_t error, const void *data, uint32_t size),
		     TP_ARGS(fd, rw, length, offset, error, data, size),
		     TP_STRUCT__entry(__field(s32, fd), __field(s32, error), __field(u32, length),
				      __field(u32, offset),
				      __enum(u8, rw, {0, "read"}, {1, "write"}),
				      __dynamic_array_hex(u8, data)),
		     TP_fast_assign(__entry->fd = fd; __entry->error = error;
				    __entry->length = length; __entry->offset = offset;
				    __entry->rw = rw; __assign_array(data, data, size);),
		     TP_printk("fd=%d %s length=%u offset=%u error=%d data=%s", fd, rw, length,
			       offset, error, data))

RS_TRACE_EVENT_LEVEL(
	ktrace, psig, 0, RS_KTRFAC_PSIG,
	TP_PROTO(int32_t signo, uint64_t action, uint64_t mask, int32_t code,
		 const struct rs_ktr_siginfo *info),
	TP_ARGS(signo, action, mask, code, info),
	TP_STRUCT__entry(__field_hex(u64, action), __field_hex(u64, mask), __field_hex(u64, addr),
			 __field_hex(u64, value), __field(s32, signo), __field(s32, code),
			 __field(s32, si_code), __field(s32, si_errno), __field(u32, si_pid),
			 __field(u32, si_uid), __field(s32, si_status), __field(u8, has_info)),
	TP_fast_assign(__entry->action = action; __entry->mask = mask; __entry->signo = signo;
		       __entry->code = code; __entry->has_info = info != NULL; if (info) {
			       __entry->si_code = info->code;
			       __entry->si_errno = info->error;
			       __entry->si_pid = info->pid;
			       __entry->si_uid = info->uid;
			       __entry->si_status = info->status;
			       __entry->addr = info->addr;
			       __entry->value = info->value;
		       }),
	TP_printk("signo=%d action=%#llx mask=%#llx code=%d si_code=%d si_pid=%u", signo, action,
		  mask, code, si_code, si_pid))

RS_TRACE_EVENT_LEVEL(ktrace, csw, 0, RS_KTRFAC_CSW, TP_PROTO(bool out, bool user),
		     TP_ARGS(out, user),
		     TP_STRUCT__entry(__enum(u8, out, {0, "resume"}, {1, "stop"}),
				      __enum(u8, user, {0, "voluntary"}, {1, "involuntary"})),
		     TP_fast_assign(__entry->out = out; __entry->user = user;),
		     TP_printk("%s %s", out, user))

RS_TRACE_EVENT_LEVEL(ktrace, emul, 0, RS_KTRFAC_EMUL,
		     TP_PROTO(const char *name, uint32_t size, uint64_t length),
		     TP_ARGS(name, size, length),
		     TP_STRUCT__entry(__field(u64, length), __string(name)),
		     TP_fast_assign(__entry->length = length; KTR_TEXT(name, name, size);),
		     TP_printk("name=%s", name))

RS_TRACE_EVENT_LEVEL(ktrace, struct, 0, RS_KTRFAC_STRUCT,
		     TP_PROTO(const char *name, uint32_t name_size, const void *data, uint32_t size,
			      uint64_t length),
		     TP_ARGS(name, name_size, data, size, length),
		     TP_STRUCT__entry(__field(u64, length), __string(name),
				      __dynamic_array_hex(u8, data)),
		     TP_fast_assign(__entry->length = length; KTR_TEXT(name, name, name_size);
				    __assign_array(data, data, size);),
		     TP_printk("name=%s length=%u data=%s", name, length, data))

RS_TRACE_EVENT_LEVEL(ktrace, user, 0, RS_KTRFAC_USER,
		     TP_PROTO(const char *label, const void *data, uint32_t size, uint64_t length),
		     TP_ARGS(label, data, size, length),
		     TP_STRUCT__entry(__field(u64, length), __chars(label, RS_KTR_USER_LABEL),
				      __dynamic_array_hex(u8, data)),
		     TP_fast_assign(__entry->length = length; __assign_chars(label, label);
				    __assign_array(data, data, size);),
		     TP_printk("label=%s length=%u data=%s", label, length, data))

RS_TRACE_EVENT_LEVEL(ktrace, execargs, 0, RS_KTRFAC_EXECARGS,
		     TP_PROTO(const void *data, uint32_t size, uint64_t length),
		     TP_ARGS(data, size, length),
		     TP_STRUCT__entry(__field(u64, length), __dynamic_array_hex(u8, data)),
		     TP_fast_assign(__entry->length = length; __assign_array(data, data, size);),
		     TP_printk("length=%u data=%s", length, data))

RS_TRACE_EVENT_LEVEL(ktrace, execenv, 0, RS_KTRFAC_EXECENV,
		     TP_PROTO(const void *data, uint32_t size, uint64_t length),
		     TP_ARGS(data, size, length),
		     TP_STRUCT__entry(__field(u64, length), __dynamic_array_hex(u8, data)),
		     TP_fast_assign(__entry->length = length; __assign_array(data, data, size);),
		     TP_printk("length=%u data=%s", length, data))
