/* SPDX-License-Identifier: MIT */
/*
 * A program with events of its own. It does not care where it runs: it is traced in `ringside run
 * --hosted`, in a Linux guest that a session looks at, and nowhere else.
 *
 *     gcc -O2 bakery.c -o bakery $(pkg-config --cflags --libs ringside-provider)
 *     ./bakery [LOAVES]
 */
#include <ringside/provider.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

RS_PROVIDER_DEFINE(bakery, "bakery")

int main(int argc, char **argv)
{
	unsigned int loaves = argc > 1 ? (unsigned int)atoi(argv[1]) : 3;

	rs_provider_register(&bakery);
	for (unsigned int i = 0; i < loaves; i++) {
		RS_PROVIDER_WRITE(bakery, "loaf", RS_LEVEL_INFO, 0x1, __field(u32, number, i),
				  __string(flour, i % 2 ? "rye" : "wheat"));
		usleep(1000);
	}
	printf("%u loaves\n", loaves);
	rs_provider_unregister(&bakery);
	return 0;
}
