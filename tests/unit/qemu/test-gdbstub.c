/* SPDX-License-Identifier: MIT */
#include "qemu/gdbstub.h"

#include "peer.h"
#include <errno.h>

/* Feeds all of it; returns the last token that was not NOTHING. */
static enum rs_gdb_token feed(struct rs_gdb_parser *parser, const char *text)
{
	enum rs_gdb_token last = RS_GDB_NOTHING;
	for (; *text; text++) {
		enum rs_gdb_token token = rs_gdb_parser_feed(parser, (uint8_t)*text);
		if (token != RS_GDB_NOTHING)
			last = token;
	}
	return last;
}

static void test_packets(void)
{
	struct rs_gdb_parser parser = {0};

	g_assert_cmpint(feed(&parser, "+"), ==, RS_GDB_ACK);
	g_assert_cmpint(feed(&parser, "-"), ==, RS_GDB_NAK);
	g_assert_cmpint(feed(&parser, "$OK#9a"), ==, RS_GDB_PACKET);
	g_assert_cmpstr(parser.data, ==, "OK");
	g_assert_cmpint(feed(&parser, "$OK#9b"), ==, RS_GDB_BAD);
	g_assert_cmpint(feed(&parser, "$OK#zz"), ==, RS_GDB_BAD);
	g_assert_cmpint(feed(&parser, "$O$OK#9A"), ==, RS_GDB_PACKET); /* torn, then whole */
	g_assert_cmpstr(parser.data, ==, "OK");
	g_assert_cmpint(feed(&parser, "$#00"), ==, RS_GDB_PACKET);
	g_assert_cmpuint(parser.size, ==, 0);
	/* "0* " is four zeros; "}\x03" is an escaped '#' */
	g_assert_cmpint(feed(&parser, "$0* #7a"), ==, RS_GDB_PACKET);
	g_assert_cmpstr(parser.data, ==, "0000");
	g_assert_cmpint(feed(&parser, "$}\x03#80"), ==, RS_GDB_PACKET);
	g_assert_cmpstr(parser.data, ==, "#");
	g_assert_cmpint(feed(&parser, "$* #4a"), ==, RS_GDB_BAD); /* repeats nothing */
}

static void test_packet_too_long(void)
{
	struct rs_gdb_parser parser = {0};

	rs_gdb_parser_feed(&parser, '$');
	for (unsigned i = 0; i < 3 * RS_GDB_PACKET_MAX; i++)
		g_assert_cmpint(rs_gdb_parser_feed(&parser, 'a'), ==, RS_GDB_NOTHING);
	g_assert_cmpint(feed(&parser, "#00"), ==, RS_GDB_BAD);
	g_assert_cmpint(feed(&parser, "$OK#9a"), ==, RS_GDB_PACKET);
}

static int connect_to(const char *bytes, size_t size, bool hang_up, int timeout)
{
	struct peer peer;
	struct rs_gdb *gdb = NULL;
	struct rs_error err = {0};
	int rc;

	peer_start(&peer, bytes, size, hang_up);
	rc = rs_gdb_connect(peer.path, 0, timeout, &gdb, &err);
	if (rc < 0)
		g_assert_cmpstr(err.message, !=, "");
	rs_gdb_close(gdb, false, NULL);
	peer_stop(&peer);
	return rc;
}

static void test_hostile_peer(void)
{
	g_autoptr(GString) strays = g_string_new(NULL);
	struct rs_gdb *gdb = NULL;

	g_assert_cmpint(rs_gdb_connect("/nonexistent/x", 0, 100, &gdb, NULL), ==, -ENOENT);
	g_assert_cmpint(connect_to("+$1#31", 6, false, 2000), ==, 0);
	g_assert_cmpint(connect_to("+$T02thread:01;#04$1#31", 23, false, 2000), ==, 0);
	g_assert_cmpint(connect_to("", 0, true, 2000), ==, -EPIPE);
	g_assert_cmpint(connect_to("", 0, false, 50), ==, -ETIMEDOUT);
	g_assert_cmpint(connect_to("$1#99", 5, false, 2000), ==, -EPROTO);
	for (int i = 0; i < 1000; i++)
		g_string_append(strays, "$S05#b8");
	g_assert_cmpint(connect_to(strays->str, strays->len, false, 2000), ==, -EPROTO);
}

static void test_bad_answers(void)
{
	/* The peer answers qAttached, then with all of these, whatever it is asked. */
	static const char answers[] = "$1#31$zz#f4$OK#9a$E22#a9$#00";
	struct rs_gdb_write two[] = {{0x1000, "a", 1}, {0x1001, "b", 1}};
	bool bad[2] = {0};
	struct rs_gdb *gdb = NULL;
	struct peer peer;

	peer_start(&peer, answers, sizeof(answers) - 1, false);
	g_assert_cmpint(rs_gdb_connect(peer.path, 0, 2000, &gdb, NULL), ==, 0);
	g_assert_cmpint(rs_gdb_write(gdb, two, 1, bad, NULL), ==, -EPROTO);
	g_assert_cmpint(rs_gdb_write(gdb, two, 2, bad, NULL), ==, 0); /* OK, then E22 */
	g_assert_true(!bad[0] && bad[1]);
	g_assert_cmpint(rs_gdb_set_physical(gdb, NULL), ==, -EPROTO);
	two[0].size = 0;
	g_assert_cmpint(rs_gdb_write(gdb, two, 1, bad, NULL), ==, -EINVAL);
	rs_gdb_close(gdb, false, NULL);
	peer_stop(&peer);
}

/* Four places of guest memory: two close together, one far away, and two of which one is none. */
static void test_reads_travel_together(void)
{
	/* To qAttached; 0x1000 to 0x1005; 0x9000; 0x20000 and on; then 0x20000, 0x20100 alone. */
	static const char answers[] = "$1#31"
				      "$616263646566#79"
				      "$78#6f"
				      "$E14#aa"
				      "$6e#9b"
				      "$E14#aa";
	char low[2] = "", high[3] = "", far[1] = "", here[1] = "", gone[1] = "";
	const struct rs_gdb_read reads[] = {{0x20100, gone, 1},
					    {0x1003, high, 3},
					    {0x9000, far, 1},
					    {0x1000, low, 2},
					    {0x20000, here, 1}};
	bool bad[G_N_ELEMENTS(reads)];
	struct rs_gdb *gdb = NULL;
	struct peer peer;

	memset(bad, 1, sizeof(bad));
	peer_start(&peer, answers, sizeof(answers) - 1, false);
	g_assert_cmpint(rs_gdb_connect(peer.path, 0, 2000, &gdb, NULL), ==, 0);
	g_assert_cmpint(rs_gdb_read(gdb, reads, G_N_ELEMENTS(reads), bad, NULL), ==, 0);
	g_assert_cmpmem(low, 2, "ab", 2);
	g_assert_cmpmem(high, 3, "def", 3);
	g_assert_cmpmem(far, 1, "x", 1);
	g_assert_cmpmem(here, 1, "n", 1);
	g_assert_true(bad[0] && !bad[1] && !bad[2] && !bad[3] && !bad[4]);
	rs_gdb_close(gdb, false, NULL);
	peer_stop(&peer);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/gdbstub/packets", test_packets);
	g_test_add_func("/gdbstub/too-long", test_packet_too_long);
	g_test_add_func("/gdbstub/hostile-peer", test_hostile_peer);
	g_test_add_func("/gdbstub/bad-answers", test_bad_answers);
	g_test_add_func("/gdbstub/reads-travel-together", test_reads_travel_together);
	return g_test_run();
}
