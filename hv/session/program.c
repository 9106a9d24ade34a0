/* SPDX-License-Identifier: MIT */
#include "session/program.h"

#include <errno.h>

static int refuse(const char *whose, uint64_t length, struct rs_error *err)
{
	return rs_error_set(err, ENOSPC,
			    "%s filters take more than %g MiB together: clear some first", whose,
			    (double)length / (1 << 20));
}

int rs_program_check(const struct rs_program_room *room, size_t bytes, bool guest,
		     struct rs_error *err)
{
	if (guest && room->guests + bytes > room->length / 2)
		return refuse("the guests'", room->length / 2, err);
	if (room->used + bytes > room->length)
		return refuse("the session's", room->length, err);
	return 0;
}

struct rs_program *rs_program_new(struct rs_program_room *room, GByteArray *bytes, bool guest)
{
	struct rs_program *program = g_rc_box_new(struct rs_program);

	*program = (struct rs_program){g_byte_array_ref(bytes), room, guest};
	room->used += bytes->len;
	room->guests += guest ? bytes->len : 0;
	return program;
}

struct rs_program *rs_program_ref(struct rs_program *program)
{
	return g_rc_box_acquire(program);
}

static void clear(gpointer data)
{
	struct rs_program *program = data;

	program->room->used -= program->bytes->len;
	program->room->guests -= program->guest ? program->bytes->len : 0;
	g_byte_array_unref(program->bytes);
}

void rs_program_unref(struct rs_program *program)
{
	g_rc_box_release_full(program, clear);
}
