/* SPDX-License-Identifier: MIT */
/*
 * Threads that are traced while others decide what is traced: built with ThreadSanitizer, and again
 * with ASan/UBSan. No host is there, so the records go nowhere; masks and guards are what counts.
 */
#include <pthread.h>
#include <ringside/ktrace.h>
#include <stdio.h>
#include <stdlib.h>

#define TRACED 3u
#define ROUNDS 20000u
#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond);                 \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* The first is root's from the start; the second is set, cleared, forked and ends. */
static struct rs_ktrace_proc procs[3] = {{.pid = 1}, {.pid = 2}, {.pid = 3}};
static uint32_t over;

static struct rs_ktrace_proc *next(const struct rs_ktrace_caller *caller,
				   struct rs_ktrace_proc *last)
{
	if (!last)
		return procs;
	return last == &procs[2] ? NULL : last + 1;
}

static void *traced(void *data)
{
	struct rs_ktrace_thread mine[2] = {{.proc = &procs[0]}, {.proc = &procs[1]}};
	static const struct rs_ktr_iovec iov = {"some bytes", 10};

	while (!rs_load_acquire(&over)) {
		for (uint32_t i = 0; i < 2; i++) {
			CHECK(!RS_KTRPOINT(&mine[i], RS_KTRFAC_POINTS)); /* no host */
			rs_ktrnamei(&mine[i], "/path");
			rs_ktrgenio(&mine[i], 1, RS_KTR_WRITE, &iov, 10, 0);
		}
		CHECK(rs_ktrace_wanted(&mine[0], RS_KTRFAC_NAMEI));
	}
	CHECK(!mine[0].left_out && !mine[1].left_out);
	return data;
}

static void *controls(void *data)
{
	const struct rs_ktrace_caller user = {.next = next};

	for (uint32_t i = 0; i < ROUNDS; i++) {
		CHECK(rs_ktrace_set(&user, 1, RS_KTRFAC_GENIO) == -RS_EPERM);
		CHECK(rs_ktrace_clearall(&user) == -RS_EPERM);
		CHECK(rs_ktrace_set(&user, 2, RS_KTRFAC_NAMEI | RS_KTRFAC_INHERIT) == 1);
		rs_ktrace_fork(&procs[1], &procs[2]);
		rs_ktrace_exec(&procs[1], i & 1);
		CHECK(rs_ktrace_clear(&user, 2, RS_KTRFAC_NAMEI) == 1);
		rs_ktrace_exit(&procs[2]);
	}
	return data;
}

int main(void)
{
	const struct rs_ktrace_caller root = {.next = next, .root = true};
	pthread_t threads[TRACED], controller;

	printf("1..1\n");
	CHECK(rs_ktrace_set(&root, 1, RS_KTRFAC_NAMEI) == 1);
	for (uint32_t i = 0; i < TRACED; i++)
		CHECK(!pthread_create(&threads[i], NULL, traced, NULL));
	CHECK(!pthread_create(&controller, NULL, controls, NULL));
	controls(NULL);
	pthread_join(controller, NULL);
	rs_store_release(&over, 1);
	for (uint32_t i = 0; i < TRACED; i++)
		pthread_join(threads[i], NULL);
	CHECK(procs[0].facilities == (RS_KTRFAC_NAMEI | RS_KTRFAC_ROOT));
	printf("ok 1 - masks and guards under threads\n");
	return 0;
}
