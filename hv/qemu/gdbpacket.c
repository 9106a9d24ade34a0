/* SPDX-License-Identifier: MIT */
#include "qemu/gdbstub.h"

#include <glib.h>

enum { BETWEEN, BODY, ESCAPED, RUN, SUM_HIGH, SUM_LOW };

#define RUN_BIAS 29 /* a repeat count is sent as a printable character: count + 29 */

static void put(struct rs_gdb_parser *parser, char c)
{
	if (parser->size < RS_GDB_PACKET_MAX)
		parser->data[parser->size++] = c;
	else
		parser->bad = true;
}

static void put_run(struct rs_gdb_parser *parser, uint8_t byte)
{
	if (byte < ' ' || byte > '~' || parser->size == 0) {
		parser->bad = true;
		return;
	}
	for (int i = byte - RUN_BIAS; i > 0; i--)
		put(parser, parser->data[parser->size - 1]);
}

static void begin(struct rs_gdb_parser *parser)
{
	parser->state = BODY;
	parser->size = 0;
	parser->sum = 0;
	parser->bad = false;
}

static enum rs_gdb_token finish(struct rs_gdb_parser *parser)
{
	parser->state = BETWEEN;
	parser->data[parser->size] = '\0';
	return parser->bad || parser->want != parser->sum ? RS_GDB_BAD : RS_GDB_PACKET;
}

static void body(struct rs_gdb_parser *parser, uint8_t byte)
{
	switch (byte) {
	case '$': /* a new packet begins, so the last one was incomplete */
		begin(parser);
		return;
	case '#':
		parser->state = SUM_HIGH;
		return;
	case '}':
		parser->state = ESCAPED;
		break;
	case '*':
		parser->state = RUN;
		break;
	default:
		put(parser, (char)byte);
	}
	parser->sum = (uint8_t)(parser->sum + byte);
}

enum rs_gdb_token rs_gdb_parser_feed(struct rs_gdb_parser *parser, uint8_t byte)
{
	int digit;

	switch (parser->state) {
	case BODY:
		body(parser, byte);
		return RS_GDB_NOTHING;
	case ESCAPED:
		put(parser, (char)(byte ^ 0x20));
		parser->sum = (uint8_t)(parser->sum + byte);
		parser->state = BODY;
		return RS_GDB_NOTHING;
	case RUN:
		put_run(parser, byte);
		parser->sum = (uint8_t)(parser->sum + byte);
		parser->state = BODY;
		return RS_GDB_NOTHING;
	case SUM_HIGH:
	case SUM_LOW:
		digit = g_ascii_xdigit_value((char)byte);
		if (digit < 0) {
			parser->bad = true;
			digit = 0;
		}
		if (parser->state == SUM_LOW) {
			parser->want = (uint8_t)(parser->want | digit);
			return finish(parser);
		}
		parser->want = (uint8_t)(digit << 4);
		parser->state = SUM_LOW;
		return RS_GDB_NOTHING;
	default:
		if (byte == '$')
			begin(parser);
		return byte == '+' ? RS_GDB_ACK : byte == '-' ? RS_GDB_NAK : RS_GDB_NOTHING;
	}
}
