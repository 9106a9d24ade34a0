/* SPDX-License-Identifier: MIT */
/* A tracepoint in an inline function that two files use: C++ makes one function of them. */
#ifndef INLINE_H
#define INLINE_H

#include "roundtrip-events.h"
#include <ringside/provider.h>

#ifdef __cplusplus
#define SHARED_INLINE inline
#else
#define SHARED_INLINE static inline
#endif

SHARED_INLINE void tell_symbols(uint64_t value)
{
	trace_golden_symbols(value);
}

RS_EXTERN_C void tell_from_other_file(uint64_t value);

RS_PROVIDER_DECLARE(statements)

RS_EXTERN_C int write_from_other_file(uint32_t value);

#endif
