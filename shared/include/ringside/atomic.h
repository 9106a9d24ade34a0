/* SPDX-License-Identifier: MIT */
/*
 * The few atomic accesses that the protocols of the shared region need.
 *
 * rs_load_* / rs_store_*   one untorn access; acquire or release if the name says so
 * rs_local_*               read-modify-write that is atomic against interrupts on the *same*
 *                          vCPU only (one instruction, no lock prefix on x86)
 * rs_shared_*              read-modify-write against every CPU
 * rs_wmb / rs_rmb          orders stores / loads; each use names its partner
 *
 * RS_ATOMIC_GENERIC replaces the local forms by the shared ones, in plain C. It is for sanitizers,
 * which do not see into assembly (RS_ATOMIC_SANITIZED), and for architectures without a
 * one-instruction local RMW.
 */
#ifndef RINGSIDE_ATOMIC_H
#define RINGSIDE_ATOMIC_H

#include <ringside/types.h>

#if defined(__SANITIZE_THREAD__)
#define RS_ATOMIC_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RS_ATOMIC_SANITIZED 1
#endif
#endif
#if !defined(__x86_64__) || defined(RS_ATOMIC_SANITIZED)
#define RS_ATOMIC_GENERIC 1
#endif

#define rs_load(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define rs_load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define rs_store(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define rs_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

/*
 * rs_peek: a load that the compiler may make a part of the instruction which needs it. For an
 * aligned word that is used once: it does not matter if it is loaded twice. A memory clobber keeps
 * it from being made too early.
 */
#ifdef RS_ATOMIC_SANITIZED
#define rs_peek(p) rs_load(p)
#else
#define rs_peek(p) (*(p))
#endif

#define rs_likely(x) __builtin_expect(!!(x), 1)
#define rs_unlikely(x) __builtin_expect(!!(x), 0)

static inline __attribute__((always_inline)) void rs_wmb(void)
{
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static inline __attribute__((always_inline)) void rs_rmb(void)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
}

/* If *p is *expected, sets it to `next` and returns true. Otherwise sets *expected to *p. */
static inline __attribute__((always_inline)) bool rs_shared_cas64(uint64_t *p, uint64_t *expected,
								  uint64_t next)
{
	return __atomic_compare_exchange_n(p, expected, next, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

static inline __attribute__((always_inline)) void rs_shared_add64(uint64_t *p, uint64_t n)
{
	__atomic_fetch_add(p, n, __ATOMIC_RELEASE);
}

static inline __attribute__((always_inline)) void rs_shared_add32(uint32_t *p, uint32_t n)
{
	__atomic_fetch_add(p, n, __ATOMIC_RELEASE);
}

#ifdef RS_ATOMIC_GENERIC
static inline __attribute__((always_inline)) bool rs_local_cas64(uint64_t *p, uint64_t *expected,
								 uint64_t next)
{
	return rs_shared_cas64(p, expected, next);
}

static inline __attribute__((always_inline)) void rs_local_add64(uint64_t *p, uint64_t n)
{
	rs_shared_add64(p, n);
}

static inline __attribute__((always_inline)) void rs_local_add32(uint32_t *p, uint32_t n)
{
	rs_shared_add32(p, n);
}
#else
/* x86 keeps stores in order, so each of these is a release for readers on other CPUs. */
static inline __attribute__((always_inline)) bool rs_local_cas64(uint64_t *p, uint64_t *expected,
								 uint64_t next)
{
	bool done;
	__asm__ volatile("cmpxchgq %[next], %[p]"
			 : "=@ccz"(done), [p] "+m"(*p), "+a"(*expected)
			 : [next] "r"(next)
			 : "memory");
	return done;
}

static inline __attribute__((always_inline)) void rs_local_add64(uint64_t *p, uint64_t n)
{
	__asm__ volatile("addq %1, %0" : "+m"(*p) : "er"(n) : "memory", "cc");
}

static inline __attribute__((always_inline)) void rs_local_add32(uint32_t *p, uint32_t n)
{
	__asm__ volatile("addl %1, %0" : "+m"(*p) : "er"(n) : "memory", "cc");
}
#endif

#endif
