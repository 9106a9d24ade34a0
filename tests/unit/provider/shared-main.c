/* SPDX-License-Identifier: MIT */
/*
 * The program of shared.py, without a host: switches each event on and off, and counts what it
 * records. The code in C also is code in C++.
 */
#include "shared.h"

#include <ringside/tracepoint.h>
#include <ringside/tracepoint_alone.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

RS_PROVIDER_DEFINE(shared, "shared")

#ifdef __cplusplus
#define EVENTS 5u
#else
#define EVENTS 2u
#endif

#define MUST(what)                                                                                 \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			printf("line %d: %s\n", __LINE__, #what);                                  \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static unsigned records;
static uint32_t last;

static void keep(const void *record, uint32_t size)
{
	struct rs_rec_header header;

	(void)size;
	memcpy(&header, record, sizeof(header));
	last = header.id;
	records++;
}

static void protect(void *from, void *to, int how)
{
	uintptr_t start = (uintptr_t)from & ~(uintptr_t)4095;

	MUST(!mprotect((void *)start, (uintptr_t)to - start, how));
}

static void text_open(void *from, void *to)
{
	protect(from, to, PROT_READ | PROT_WRITE | PROT_EXEC);
}

static void text_close(void *from, void *to)
{
	protect(from, to, PROT_READ | PROT_EXEC);
}

static void begin(void)
{
	static struct rs_trace_ops ops;
	struct rs_agent_config config;
	uint64_t size = rs_alone_size(64, 4);
	void *memory = aligned_alloc(4096, (size_t)(size + 4095) & ~(size_t)4095);

	ops.trace_pipe_push_raw_record = keep;
	ops.text_open = text_open;
	ops.text_close = text_close;
	memset(&config, 0, sizeof(config));
	config.region = memory;
	config.region_size = size;
	config.ops = &ops;
	config.cpu_count = 64;
	config.flags = RS_GUEST_SELF_PATCH;
	MUST(!rs_alone_lay_out(memory, size, 64));
	MUST(!rs_agent_init(&config));
	MUST(!rs_provider_register(&shared));
}

/* How many statements record while the event is on, in all files and functions. */
static void check(const char *name, int heard)
{
	uint32_t id = rs_tracepoint_find("shared", name);

	MUST(id);
	MUST(!rs_tracepoint_write(id, RS_TRACEPOINT_ENABLE, "1", 1, NULL));
	MUST(anybody());
	records = 0;
	MUST(each(1) + others() == heard);
	MUST(records == (unsigned)heard && last == id);
	MUST(!rs_tracepoint_write(id, RS_TRACEPOINT_ENABLE, "0", 1, NULL));
	MUST(each(1) + others() == 0);
	MUST(!anybody());
}

static bool count(struct rs_event *event, void *data)
{
	MUST(event->provider == &shared);
	++*(unsigned *)data;
	return true;
}

int main(void)
{
	unsigned events = 0;

	MUST(each(1) + others() == 0);
	begin();
	rs_tracepoint_each(count, &events);
	MUST(events == EVENTS);
	check("plain", 1);
	check("static-inline", 2);
#ifdef __cplusplus
	check("inline", 2);
	check("template", 4);
	check("method", 2);
#endif
	MUST(!rs_provider_unregister(&shared));
	MUST(each(1) + others() == 0);
	return 0;
}
