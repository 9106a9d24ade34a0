/* SPDX-License-Identifier: MIT */
/* Events of two providers in one file: a provider is no matter of files. */
#include "providers.h"

RS_PROVIDER_DEFINE(disk, "acme-disk")

int read_block(uint64_t block, const struct rs_activity_id *request)
{
	const uint8_t bytes[] = {0xca, 0xfe, (uint8_t)block};
	struct rs_activity_id id;
	int err, also;

	rs_activity_create(&id);
	err = RS_PROVIDER_WRITE(disk, "read", RS_LEVEL_VERBOSE, KEYWORD_DATA,
				__opcode(RS_OPCODE_START), __activity(&id), __related(request),
				__field_hex(u64, block, block),
				__dynamic_array_hex(u8, bytes, bytes, sizeof(bytes)));
	also = RS_PROVIDER_WRITE(net, "copied", RS_LEVEL_INFO, KEYWORD_DATA, __activity(request),
				 __field(u32, size, sizeof(bytes)));
	return err ? err : also;
}
