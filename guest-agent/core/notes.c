/* SPDX-License-Identifier: MIT */
/* The build id among an image's notes. */
#include <ringside/agent.h>

#define NOTE_BUILD_ID 3u     /* NT_GNU_BUILD_ID */
#define NOTE_GNU 0x00554e47u /* "GNU", as a number */

struct note {
	uint32_t name_size; /* both without padding */
	uint32_t size;
	uint32_t type;
	uint32_t name;
};

static uint64_t padded(uint32_t size)
{
	return RS_ALIGN_UP((uint64_t)size, 4);
}

void rs_provider_find_build_id(struct rs_agent_provider *provider, const void *from, const void *to)
{
	const uint8_t *at = from, *end = to;

	while ((size_t)(end - at) >= sizeof(struct note)) {
		const uint8_t *text = at + offsetof(struct note, name);
		uint64_t left = (uint64_t)(end - text), name;
		struct note note;

		__builtin_memcpy(&note, at, sizeof(note));
		name = padded(note.name_size);
		if (name > left || padded(note.size) > left - name)
			return;
		if (note.type == NOTE_BUILD_ID && note.name_size == 4 && note.name == NOTE_GNU) {
			provider->build_id = text + name;
			provider->build_id_size = note.size;
			return;
		}
		at = text + name + padded(note.size);
	}
}
