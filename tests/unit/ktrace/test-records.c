/* SPDX-License-Identifier: MIT */
/* What each record holds, and what is left of what is too large for it. */
#include "room.h"

#include <string.h>

static char big[RS_KTR_DATA_MAX * 100];

static void begin(struct room *room, gconstpointer data)
{
	room_set_up(room, data);
	room_trace(room, RS_KTRFAC_POINTS);
	for (guint i = 0; i < sizeof(big); i++)
		big[i] = (char)('a' + i % 23);
}

/* ---- ktrcsw, ktremul ---- */

static void check_csw(struct room *room, bool out, bool user)
{
	const struct seen *seen;

	rs_ktrcsw(&room->thread, out, user);
	seen = room_only(room, "csw");
	assert_int(seen, "out", out);
	assert_int(seen, "user", user);
}

static void test_ktrcsw_says_whether_it_waits(struct room *room, gconstpointer data)
{
	check_csw(room, true, false);
	check_csw(room, false, false);
}

static void test_ktrcsw_says_whether_it_is_involuntary(struct room *room, gconstpointer data)
{
	check_csw(room, true, true);
	check_csw(room, false, true);
}

static void test_ktremul_names_the_emulation(struct room *room, gconstpointer data)
{
	rs_ktremul(&room->thread, "linux");
	assert_text(room_only(room, "emul"), "name", "linux");
	rs_ktremul(&room->thread, NULL);
	assert_text(room_only(room, "emul"), "name", "(null)");
}

/* ---- ktrgenio ---- */

static void check_piece(struct room *room, guint nth, uint32_t length, const char *from,
			uint32_t size)
{
	const struct seen *seen = room->records->pdata[nth];

	g_assert_cmpstr(seen->event->name, ==, "genio");
	g_assert_false(seen->cut);
	assert_int(seen, "length", length);
	assert_int(seen, "offset", from - big);
	assert_bytes(seen, "data", from, size);
}

static void test_ktrgenio_has_descriptor_direction_and_data(struct room *room, gconstpointer data)
{
	const struct rs_ktr_iovec iov = {"hello", 6};
	const struct seen *seen;

	rs_ktrgenio(&room->thread, 3, RS_KTR_READ, &iov, 5, 0);
	seen = room_only(room, "genio");
	assert_int(seen, "fd", 3);
	assert_int(seen, "rw", RS_KTR_READ);
	assert_int(seen, "length", 5);
	assert_int(seen, "offset", 0);
	assert_int(seen, "error", 0);
	assert_bytes(seen, "data", "hello", 5);
	rs_ktrgenio(&room->thread, -1, RS_KTR_WRITE, &iov, 6, 0);
	seen = room_only(room, "genio");
	assert_int(seen, "fd", -1);
	assert_int(seen, "rw", RS_KTR_WRITE);
	assert_bytes(seen, "data", "hello", 6);
}

static void test_ktrgenio_follows_the_vector(struct room *room, gconstpointer data)
{
	const struct rs_ktr_iovec iov[] = {{big, 3},
					   {NULL, 0},
					   {big + 3, RS_KTR_DATA_MAX + 1},
					   {big + RS_KTR_DATA_MAX + 4, 9}};
	const uint32_t len = RS_KTR_DATA_MAX + 6;

	rs_ktrgenio(&room->thread, 1, RS_KTR_WRITE, iov, len, 0);
	g_assert_cmpuint(room_read(room), ==, 4);
	check_piece(room, 0, len, big, 3);
	check_piece(room, 1, len, big + 3, RS_KTR_DATA_MAX);
	check_piece(room, 2, len, big + 3 + RS_KTR_DATA_MAX, 1);
	check_piece(room, 3, len, big + 4 + RS_KTR_DATA_MAX, 2);
}

static void test_ktrgenio_at_the_limit_of_a_record(struct room *room, gconstpointer data)
{
	const struct rs_ktr_iovec iov = {big, sizeof(big)};

	rs_ktrgenio(&room->thread, 1, RS_KTR_WRITE, &iov, RS_KTR_DATA_MAX, 0);
	g_assert_cmpuint(room_read(room), ==, 1);
	check_piece(room, 0, RS_KTR_DATA_MAX, big, RS_KTR_DATA_MAX);
	rs_ktrgenio(&room->thread, 1, RS_KTR_WRITE, &iov, RS_KTR_DATA_MAX + 1, 0);
	g_assert_cmpuint(room_read(room), ==, 2);
	check_piece(room, 0, RS_KTR_DATA_MAX + 1, big, RS_KTR_DATA_MAX);
	check_piece(room, 1, RS_KTR_DATA_MAX + 1, big + RS_KTR_DATA_MAX, 1);
}

/* What is left out shows: the length is more than the last record's offset and data. */
static void test_ktrgenio_at_the_limit_of_a_transaction(struct room *room, gconstpointer data)
{
	const struct rs_ktr_iovec iov = {big, sizeof(big)};
	const uint32_t most = RS_KTR_PIECES_MAX * RS_KTR_DATA_MAX;

	for (uint32_t more = 0; more < 2; more++) {
		rs_ktrgenio(&room->thread, 1, RS_KTR_READ, &iov, most + more, 0);
		g_assert_cmpuint(room_read(room), ==, RS_KTR_PIECES_MAX);
		for (uint32_t i = 0; i < RS_KTR_PIECES_MAX; i++)
			check_piece(room, i, most + more, big + i * RS_KTR_DATA_MAX,
				    RS_KTR_DATA_MAX);
	}
}

static void test_ktrgenio_piece_stands_where_it_says(struct room *room, gconstpointer data)
{
	rs_ktrgenio_piece(&room->thread, 1, RS_KTR_READ, big + 7, 5, 7, 4000);
	g_assert_cmpuint(room_read(room), ==, 1);
	check_piece(room, 0, 4000, big + 7, 5);
	rs_ktrgenio_piece(&room->thread, 1, RS_KTR_READ, big, RS_KTR_DATA_MAX + 1, 0, 4000);
	g_assert_cmpuint(room_read(room), ==, 1);
	check_piece(room, 0, 4000, big, RS_KTR_DATA_MAX);
	rs_ktrgenio_piece(&room->thread, 1, RS_KTR_READ, big + 9, 0, 9, 4000);
	g_assert_cmpuint(room_read(room), ==, 1);
	check_piece(room, 0, 4000, big + 9, 0);
}

static void test_ktrgenio_has_the_error(struct room *room, gconstpointer data)
{
	const struct rs_ktr_iovec iov = {"hello", 5};
	const struct seen *seen;

	rs_ktrgenio(&room->thread, 3, RS_KTR_READ, &iov, 5, RS_EBADF);
	seen = room_only(room, "genio");
	assert_int(seen, "error", RS_EBADF);
	assert_int(seen, "length", 5);
	assert_bytes(seen, "data", "", 0);
	rs_ktrgenio(&room->thread, 3, RS_KTR_READ, NULL, 0, 0);
	seen = room_only(room, "genio");
	assert_int(seen, "error", 0);
	assert_bytes(seen, "data", "", 0);
}

/* ---- ktrnamei ---- */

static void test_ktrnamei_has_the_path(struct room *room, gconstpointer data)
{
	const struct seen *seen;

	rs_ktrnamei(&room->thread, "/etc/passwd");
	seen = room_only(room, "namei");
	assert_text(seen, "path", "/etc/passwd");
	assert_int(seen, "length", 11);
	rs_ktrnamei(&room->thread, NULL);
	assert_text(room_only(room, "namei"), "path", "(null)");
	rs_ktrnamei(&room->thread, "");
	assert_text(room_only(room, "namei"), "path", "");
}

static void test_ktrnamei_at_the_limit(struct room *room, gconstpointer data)
{
	for (uint32_t more = 0; more < 2; more++) {
		const struct seen *seen;
		g_autofree char *path = g_strndup(big, RS_KTR_PATH_MAX + more);

		rs_ktrnamei(&room->thread, path);
		seen = room_only(room, "namei");
		assert_int(seen, "length", RS_KTR_PATH_MAX + more);
		path[RS_KTR_PATH_MAX] = 0;
		assert_text(seen, "path", path);
	}
}

/* ---- ktrpsig ---- */

static void test_ktrpsig_has_signal_mask_and_code(struct room *room, gconstpointer data)
{
	const struct seen *seen;

	rs_ktrpsig(&room->thread, 11, 0x401000, 0x8000000000000001, -6, NULL);
	seen = room_only(room, "psig");
	assert_int(seen, "signo", 11);
	assert_int(seen, "action", 0x401000);
	assert_int(seen, "mask", 0x8000000000000001);
	assert_int(seen, "code", -6);
	assert_int(seen, "has_info", 0);
}

static void test_ktrpsig_has_the_action(struct room *room, gconstpointer data)
{
	static const uint64_t actions[] = {RS_KTR_SIG_DFL, RS_KTR_SIG_IGN, RS_KTR_SIG_ERR};

	for (guint i = 0; i < G_N_ELEMENTS(actions); i++) {
		rs_ktrpsig(&room->thread, 1, actions[i], 0, 0, NULL);
		assert_int(room_only(room, "psig"), "action", actions[i]);
	}
}

static void test_ktrpsig_has_the_siginfo(struct room *room, gconstpointer data)
{
	const struct rs_ktr_siginfo info = {.code = -1,
					    .error = 2,
					    .pid = 3,
					    .uid = 4,
					    .status = -5,
					    .addr = 6,
					    .value = ~7ull};
	const struct seen *seen;

	rs_ktrpsig(&room->thread, 17, RS_KTR_SIG_DFL, 0, 0, &info);
	seen = room_only(room, "psig");
	assert_int(seen, "has_info", 1);
	assert_int(seen, "si_code", -1);
	assert_int(seen, "si_errno", 2);
	assert_int(seen, "si_pid", 3);
	assert_int(seen, "si_uid", 4);
	assert_int(seen, "si_status", -5);
	assert_int(seen, "addr", 6);
	assert_int(seen, "value", ~7ull);
}

/* ---- ktrsyscall, ktrsysret ---- */

static void test_ktrsyscall_has_code_and_arguments(struct room *room, gconstpointer data)
{
	static const uint64_t args[] = {1, ~0ull, 0x7fff00001000};
	const struct seen *seen;

	rs_ktrsyscall(&room->thread, 4, sizeof(args), args);
	seen = room_only(room, "syscall");
	assert_int(seen, "code", 4);
	assert_int(seen, "argsize", 24);
	assert_bytes(seen, "args", args, sizeof(args));
	rs_ktrsyscall(&room->thread, -1, 0, NULL);
	seen = room_only(room, "syscall");
	assert_int(seen, "code", -1);
	assert_bytes(seen, "args", "", 0);
}

static void test_ktrsyscall_at_the_limit(struct room *room, gconstpointer data)
{
	const uint64_t most = RS_KTR_ARGS_MAX * 8;
	static uint64_t args[RS_KTR_ARGS_MAX + 1];

	for (guint i = 0; i < G_N_ELEMENTS(args); i++)
		args[i] = i;
	for (uint64_t size = most - 1; size <= most + 8; size++) {
		const struct seen *seen;

		rs_ktrsyscall(&room->thread, 4, size, args);
		seen = room_only(room, "syscall");
		assert_int(seen, "argsize", size);
		assert_bytes(seen, "args", args, size < most ? most - 8 : most);
	}
}

static void test_ktrsysret_has_code_error_and_value(struct room *room, gconstpointer data)
{
	const struct seen *seen;

	rs_ktrsysret(&room->thread, 5, RS_ENOENT, -1);
	seen = room_only(room, "sysret");
	assert_int(seen, "code", 5);
	assert_int(seen, "error", RS_ENOENT);
	assert_int(seen, "retval", -1);
	rs_ktrsysret(&room->thread, 5, RS_KTR_JUSTRETURN, INT64_MIN);
	seen = room_only(room, "sysret");
	assert_int(seen, "error", -2);
	assert_int(seen, "retval", INT64_MIN);
}

/* ---- struct, user, exec ---- */

static void test_ktrstruct_at_the_limits(struct room *room, gconstpointer data)
{
	for (uint32_t more = 0; more < 2; more++) {
		g_autofree char *name = g_strndup(big, RS_KTR_NAME_MAX + more);
		const struct seen *seen;

		rs_ktrstruct(&room->thread, name, big, RS_KTR_DATA_MAX + more);
		seen = room_only(room, "struct");
		assert_int(seen, "length", RS_KTR_DATA_MAX + more);
		assert_bytes(seen, "data", big, RS_KTR_DATA_MAX);
		name[RS_KTR_NAME_MAX] = 0;
		assert_text(seen, "name", name);
	}
	rs_ktrstruct(&room->thread, "stat", NULL, 8);
	assert_bytes(room_only(room, "struct"), "data", "", 0);
}

static void test_ktruser_has_label_and_data(struct room *room, gconstpointer data)
{
	const struct seen *seen;

	g_assert_cmpint(rs_ktruser(&room->thread, "here", "\0\1\2", 3), ==, 0);
	seen = room_only(room, "user");
	assert_text(seen, "label", "here");
	assert_int(seen, "length", 3);
	assert_bytes(seen, "data", "\0\1\2", 3);
}

static void test_ktruser_refuses_a_long_label(struct room *room, gconstpointer data)
{
	g_assert_cmpint(rs_ktruser(&room->thread, "nineteen characters", "", 0), ==, 0);
	assert_text(room_only(room, "user"), "label", "nineteen characters");
	g_assert_cmpint(rs_ktruser(&room->thread, "twenty characters...", "", 0), ==,
			-RS_ENAMETOOLONG);
	g_assert_cmpuint(room_read(room), ==, 0);
	/* An untraced process is told the same. */
	room_trace(room, 0);
	g_assert_cmpint(rs_ktruser(&room->thread, "twenty characters...", "", 0), ==,
			-RS_ENAMETOOLONG);
}

static void test_ktruser_refuses_more_than_2048_bytes(struct room *room, gconstpointer data)
{
	const struct seen *seen;

	g_assert_cmpint(rs_ktruser(&room->thread, "big", big, 2048), ==, 0);
	seen = room_only(room, "user");
	assert_int(seen, "length", 2048);
	assert_bytes(seen, "data", big, 2048);
	g_assert_cmpint(rs_ktruser(&room->thread, "big", big, 2049), ==, -RS_EINVAL);
	g_assert_cmpint(rs_ktruser(&room->thread, "big", big, ~0ull), ==, -RS_EINVAL);
	g_assert_cmpuint(room_read(room), ==, 0);
	room_trace(room, 0);
	g_assert_cmpint(rs_ktruser(&room->thread, "big", big, 2049), ==, -RS_EINVAL);
}

static void test_ktrexec_at_the_limit(struct room *room, gconstpointer data)
{
	const struct seen *seen;

	rs_ktrexecargs(&room->thread, "ls\0-l", 6);
	seen = room_only(room, "execargs");
	assert_int(seen, "length", 6);
	assert_bytes(seen, "data", "ls\0-l", 6);
	for (uint32_t more = 0; more < 2; more++) {
		rs_ktrexecargs(&room->thread, big, RS_KTR_DATA_MAX + more);
		seen = room_only(room, "execargs");
		assert_int(seen, "length", RS_KTR_DATA_MAX + more);
		assert_bytes(seen, "data", big, RS_KTR_DATA_MAX);
		rs_ktrexecenv(&room->thread, big, RS_KTR_DATA_MAX + more);
		seen = room_only(room, "execenv");
		assert_int(seen, "length", RS_KTR_DATA_MAX + more);
		assert_bytes(seen, "data", big, RS_KTR_DATA_MAX);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#define ADD(name)                                                                                  \
	g_test_add("/ktrace/records/" #name, struct room, NULL, begin, test_##name, room_tear_down)
	ADD(ktrcsw_says_whether_it_waits);
	ADD(ktrcsw_says_whether_it_is_involuntary);
	ADD(ktremul_names_the_emulation);
	ADD(ktrgenio_has_descriptor_direction_and_data);
	ADD(ktrgenio_follows_the_vector);
	ADD(ktrgenio_at_the_limit_of_a_record);
	ADD(ktrgenio_at_the_limit_of_a_transaction);
	ADD(ktrgenio_piece_stands_where_it_says);
	ADD(ktrgenio_has_the_error);
	ADD(ktrnamei_has_the_path);
	ADD(ktrnamei_at_the_limit);
	ADD(ktrpsig_has_signal_mask_and_code);
	ADD(ktrpsig_has_the_action);
	ADD(ktrpsig_has_the_siginfo);
	ADD(ktrsyscall_has_code_and_arguments);
	ADD(ktrsyscall_at_the_limit);
	ADD(ktrsysret_has_code_error_and_value);
	ADD(ktrstruct_at_the_limits);
	ADD(ktruser_has_label_and_data);
	ADD(ktruser_refuses_a_long_label);
	ADD(ktruser_refuses_more_than_2048_bytes);
	ADD(ktrexec_at_the_limit);
	return g_test_run();
}
