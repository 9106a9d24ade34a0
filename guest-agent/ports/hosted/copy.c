/* SPDX-License-Identifier: MIT */
/* See copy.h. */
#define _GNU_SOURCE
#include "copy.h"

#include "image.h"

#include <pthread.h>
#include <ringside/agent.h>
#include <stdio.h>

#define LINE 256
#define KEPT 4u

static struct {
	pthread_mutex_t lock;
	bool can;
	char kept[KEPT][LINE];
	unsigned int count; /* of lines, also those that were not kept */
} told = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void tell(const char *line)
{
	pthread_mutex_lock(&told.lock);
	if (told.can)
		rs_agent_log(line);
	else if (told.count++ < KEPT)
		snprintf(told.kept[told.count - 1], LINE, "%s", line);
	pthread_mutex_unlock(&told.lock);
}

__attribute__((visibility("default"))) void (*const rs_hosted_tell)(const char *line) = tell;

/* Our own, whichever of that name others find. */
extern __typeof__(rs_hosted_tell) rs_hosted_tell_here
	__attribute__((alias("rs_hosted_tell"), visibility("hidden")));

void rs_hosted_may_tell(bool can)
{
	char more[LINE];

	if (!can) { /* a forked child: another thread of its parent may have had the lock */
		pthread_mutex_init(&told.lock, NULL);
		told.can = false;
		return;
	}
	pthread_mutex_lock(&told.lock);
	told.can = true;
	for (unsigned int i = 0; i < told.count && i < KEPT; i++)
		rs_agent_log(told.kept[i]);
	if (told.count > KEPT) {
		snprintf(more, LINE, "%u more images are not traced", told.count - KEPT);
		rs_agent_log(more);
	}
	told.count = 0;
	pthread_mutex_unlock(&told.lock);
}

/* Compilers know that both are one thing, but not that a linker may find another. */
static void (*const *found(void))(const char *line)
{
	void (*const *it)(const char *line) = &rs_hosted_tell;

	__asm__ volatile("" : "+r"(it));
	return it;
}

bool rs_hosted_is_whole(void)
{
	return found() == &rs_hosted_tell_here;
}

void rs_hosted_refuse(const void *inside)
{
	char image[LINE / 2], line[LINE];

	rs_hosted_image_name(inside, image, sizeof(image));
	snprintf(line, sizeof(line),
		 "%s is not traced: another image of the process exports the agent; link with "
		 "-Wl,--exclude-libs,ALL",
		 image);
	fprintf(stderr, "ringside: %s\n", line);
	(*found())(line);
}
