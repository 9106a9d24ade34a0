/* SPDX-License-Identifier: MIT */
#include "rs-trace-crc-private.h"

#define POLYNOMIAL 0x82f63b78u /* Castagnoli's, its bits in reverse */
#define SLICES 8u              /* bytes that are taken at once */

static guint32 tables[SLICES][256];

static void make_tables(void)
{
	for (guint i = 0; i < 256; i++) {
		guint32 crc = i;

		for (guint bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
		tables[0][i] = crc;
	}
	for (guint slice = 1; slice < SLICES; slice++)
		for (guint i = 0; i < 256; i++) {
			const guint32 before = tables[slice - 1][i];

			tables[slice][i] = before >> 8 ^ tables[0][before & 0xff];
		}
}

static guint32 take_slices(guint32 crc, const guint8 *bytes)
{
	const guint32 first = crc ^ ((guint32)bytes[0] | (guint32)bytes[1] << 8 |
				     (guint32)bytes[2] << 16 | (guint32)bytes[3] << 24);

	return tables[7][first & 0xff] ^ tables[6][first >> 8 & 0xff] ^
	       tables[5][first >> 16 & 0xff] ^ tables[4][first >> 24] ^ tables[3][bytes[4]] ^
	       tables[2][bytes[5]] ^ tables[1][bytes[6]] ^ tables[0][bytes[7]];
}

guint32 rs_trace_crc_table(const guint8 *bytes, gsize size)
{
	static gsize made;
	guint32 crc = G_MAXUINT32;

	if (g_once_init_enter(&made)) {
		make_tables();
		g_once_init_leave(&made, 1);
	}
	for (; size >= SLICES; size -= SLICES, bytes += SLICES)
		crc = take_slices(crc, bytes);
	for (; size; size--, bytes++)
		crc = crc >> 8 ^ tables[0][(crc ^ *bytes) & 0xff];
	return ~crc;
}

guint32 rs_trace_crc(gconstpointer bytes, gsize size)
{
	guint32 crc;

	return rs_trace_crc_cpu(bytes, size, &crc) ? crc : rs_trace_crc_table(bytes, size);
}

gboolean rs_trace_crc_fits(guint32 said, gconstpointer bytes, gsize size)
{
#ifdef RS_FUZZING
	return TRUE;
#else
	return said == rs_trace_crc(bytes, size);
#endif
}
