/* SPDX-License-Identifier: MIT */
#include "native/native.h"

#include <errno.h>

static int no_such(uint32_t arch, struct rs_error *err)
{
	return rs_error_set(err, ENOTSUP, "filters are not compiled for architecture %u", arch);
}

int rs_native_compile(uint32_t arch, const void *program, unsigned int entry_size,
		      unsigned int dyn_count, struct rs_native *out, struct rs_error *err)
{
	int ret;

	if (arch != RS_ARCH_X86_64)
		return no_such(arch, err);
	ret = rs_native_compile_x86_64(program, out, err);
	if (ret)
		return ret;
	out->entry_size = (uint16_t)entry_size;
	out->dyn_count = (uint8_t)dyn_count;
	return 0;
}

int rs_native_check(uint32_t arch, const struct rs_native *native, struct rs_error *err)
{
	return arch == RS_ARCH_X86_64 ? rs_native_check_x86_64(native, err) : no_such(arch, err);
}
