/* SPDX-License-Identifier: MIT */
/*
 * The gdb stub's packet layer on arbitrary bytes: sizes stay bounded, and a later good packet
 * works.
 */
#include "qemu/gdbstub.h"
#include "seed.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void rs_fuzz_seeds(void)
{
	static const char *const seeds[] = {"+$OK#9a",   "$T02thread:01;#04", "$0* #7a",
					    "$}\x03#80", "$1$OK#9b-",         "$deadbeef#20"};
	static char longer[400];

	for (size_t i = 0; i < sizeof(seeds) / sizeof(*seeds); i++)
		rs_fuzz_seed((const char[]){(char)('a' + i), 0}, seeds[i], strlen(seeds[i]));
	/* Longer than a packet may be, most of it by runs. */
	longer[0] = '$';
	for (size_t i = 1; i + 3 < sizeof(longer); i += 3)
		memcpy(longer + i, "a*~", 3);
	rs_fuzz_seed("long", longer, sizeof(longer));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char good[] = "$OK#9a";
	struct rs_gdb_parser *parser = calloc(1, sizeof(*parser));
	enum rs_gdb_token token = RS_GDB_NOTHING;

	for (size_t i = 0; i < size; i++) {
		token = rs_gdb_parser_feed(parser, data[i]);
		assert(parser->size <= RS_GDB_PACKET_MAX);
		if (token == RS_GDB_PACKET)
			assert(parser->data[parser->size] == '\0');
	}
	/* After any bytes at most one packet is lost: the second of two good ones arrives. */
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < sizeof(good) - 1; i++)
			token = rs_gdb_parser_feed(parser, (uint8_t)good[i]);
	assert(token == RS_GDB_PACKET && strcmp(parser->data, "OK") == 0);
	free(parser);
	return 0;
}
