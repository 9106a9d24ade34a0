/* SPDX-License-Identifier: MIT */
/* Statements in functions of a header, which two files of a program use. C and C++. */
#ifndef PROVIDER_SHARED_H
#define PROVIDER_SHARED_H

#include <ringside/provider.h>

RS_PROVIDER_DECLARE(shared)

static inline int in_static_inline(uint32_t n)
{
	return RS_PROVIDER_WRITE(shared, "static-inline", RS_LEVEL_INFO, 1, __field(u32, n, n),
				 __string(text, "s"));
}

static inline bool anybody(void)
{
	return RS_PROVIDER_ENABLED(shared);
}

#ifdef __cplusplus
inline int in_inline(uint32_t n)
{
	return RS_PROVIDER_WRITE(shared, "inline", RS_LEVEL_INFO, 1, __field(u32, n, n),
				 __enum(u8, state, 1, {0, "idle"}, {1, "run"}));
}

template <typename T> int in_template(T n)
{
	return RS_PROVIDER_WRITE(shared, "template", RS_LEVEL_INFO, 1,
				 __field(u32, n, (uint32_t)n));
}

struct in_class {
	int method(uint32_t n)
	{
		return RS_PROVIDER_WRITE(shared, "method", RS_LEVEL_INFO, 1, __field(u32, n, n));
	}
};
#endif

/* Calls all of them: how many have somebody who listens. The second file's. */
int others(void);

static inline int each(uint32_t n)
{
	int heard = in_static_inline(n) == 0;

#ifdef __cplusplus
	struct in_class object;

	heard += in_inline(n) == 0;
	heard += in_template(n) == 0;
	heard += in_template((double)n) == 0;
	heard += object.method(n) == 0;
#endif
	return heard;
}

#endif
