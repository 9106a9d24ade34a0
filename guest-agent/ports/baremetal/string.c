/* SPDX-License-Identifier: MIT */
/* Functions that a compiler may call by itself. Weak, so that a guest may bring its own. */
#include "rs_baremetal.h"

#define WEAK __attribute__((weak))

WEAK void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
	void *d = to;
	__asm__ volatile("rep movsb" : "+D"(d), "+S"(from), "+c"(n)::"memory");
	return to;
}

WEAK void *memmove(void *to, const void *from, size_t n)
{
	uint8_t *d = to;
	const uint8_t *s = from;
	if (d <= s || d >= s + n)
		return memcpy(to, from, n);
	while (n--) {
		d[n] = s[n];
		__asm__ volatile("" ::: "memory"); /* stays a loop, not a call of memmove */
	}
	return to;
}

WEAK void *memset(void *to, int c, size_t n)
{
	void *d = to;
	__asm__ volatile("rep stosb" : "+D"(d), "+c"(n) : "a"(c) : "memory");
	return to;
}

WEAK int memcmp(const void *a, const void *b, size_t n)
{
	const uint8_t *x = a, *y = b;
	for (size_t i = 0; i < n; i++)
		if (x[i] != y[i])
			return x[i] - y[i];
	return 0;
}

WEAK size_t strlen(const char *s)
{
	size_t n = 0;
	while (s[n]) {
		n++;
		__asm__ volatile("" ::: "memory");
	}
	return n;
}

WEAK int strcmp(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return (uint8_t)*a - (uint8_t)*b;
}

WEAK int strncmp(const char *a, const char *b, size_t n)
{
	for (; n; n--, a++, b++)
		if (!*a || *a != *b)
			return (uint8_t)*a - (uint8_t)*b;
	return 0;
}
