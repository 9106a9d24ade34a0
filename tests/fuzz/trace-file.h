/* SPDX-License-Identifier: MIT */
/* Hostile trace files: whatever a head holds, its check is right, and its file's number. */
#ifndef RS_TESTS_FUZZ_TRACE_FILE_H
#define RS_TESTS_FUZZ_TRACE_FILE_H

#include "input.h"

#include <glib.h>
#include <ringside/trace_file.h>
#include <rs-trace-crc-private.h>

RS_FUZZ_NOT_SEEN static void rs_fuzz_put_right(guint8 *data, gsize size)
{
	struct rs_file_header *header = (struct rs_file_header *)(void *)data;
	struct rs_file_block block;

	if (size < sizeof(*header))
		return;
	header->magic = RS_FILE_MAGIC;
	for (gsize at = header->header_size; at < size && size - at >= sizeof(block);) {
		memcpy(&block, data + at, sizeof(block));
		block.magic = RS_FILE_BLOCK_MAGIC;
		block.id = header->id;
		block.crc = 0;
		memcpy(data + at, &block, sizeof(block));
		if (block.head_size > size - at || block.size < sizeof(block))
			return;
		block.crc = rs_trace_crc(data + at, block.head_size);
		memcpy(data + at, &block, sizeof(block));
		at += block.size;
	}
}

#endif
