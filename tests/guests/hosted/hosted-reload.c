/* SPDX-License-Identifier: MIT */
/*
 * hosted-reload ROUNDS LIBRARY…: for each library in turn, opens it, registers its events, emits
 * some, and closes it again. Then it sleeps: when it goes on, the kernel looks at what the library
 * has told it of restartable sequences.
 */
#include <dlfcn.h>
#include <ringside/agent.h>
#include <rs_hosted.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *symbol(void *library, const char *name)
{
	void *at = dlsym(library, name);

	if (!at) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return at;
}

int main(int argc, char **argv)
{
	uint32_t rounds = argc > 2 ? (uint32_t)atoi(argv[1]) : 0;

	if (!rounds || rs_hosted_init("reload"))
		return 1;
	for (uint32_t i = 0; i < rounds; i++) {
		void *library = dlopen(argv[2 + i % (uint32_t)(argc - 2)], RTLD_NOW | RTLD_LOCAL);
		int (*enter)(void);
		void (*ping)(uint32_t);
		void (*leave)(void);
		int ret;

		if (!library) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		enter = (int (*)(void))symbol(library, "reload_enter");
		ping = (void (*)(uint32_t))symbol(library, "reload_ping");
		leave = (void (*)(void))symbol(library, "reload_leave");
		ret = enter();
		if (ret) {
			fprintf(stderr, "round %u: %s\n", i, rs_agent_strerror(ret));
			return 1;
		}
		ping(i);
		leave();
		dlclose(library);
		usleep(100);
	}
	return 0;
}
