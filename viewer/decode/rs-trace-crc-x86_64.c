/* SPDX-License-Identifier: MIT */
/* SSE 4.2 has CRC-32C as an instruction. Other architectures have only the tables so far. */
#include "rs-trace-crc-private.h"

#ifdef __x86_64__
#include <string.h>

__attribute__((target("sse4.2"))) static guint32 take(const guint8 *bytes, gsize size)
{
	guint64 crc = G_MAXUINT32, word;

	for (; size >= sizeof(word); size -= sizeof(word), bytes += sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		crc = __builtin_ia32_crc32di(crc, word);
	}
	for (; size; size--, bytes++)
		crc = __builtin_ia32_crc32qi((guint32)crc, *bytes);
	return ~(guint32)crc;
}

gboolean rs_trace_crc_cpu(const guint8 *bytes, gsize size, guint32 *out)
{
	if (!__builtin_cpu_supports("sse4.2"))
		return FALSE;
	*out = take(bytes, size);
	return TRUE;
}
#else
gboolean rs_trace_crc_cpu(const guint8 *bytes, gsize size, guint32 *out)
{
	return FALSE;
}
#endif
