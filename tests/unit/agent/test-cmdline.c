/* SPDX-License-Identifier: MIT */
/* Which entry of a bucket a task's name goes to, and what stands there then. */
#include "core.h"

#include <glib.h>
#include <string.h>

#define BUCKETS 4u
#define ENTRY 72u /* of a later version, whose entries are longer */
#define PID 7u
#define BOOT 5u

static uint64_t table[BUCKETS * RS_CMDLINE_WAYS * ENTRY / 8];
static const struct rs_names names = {
	.buckets = (uint8_t *)table,
	.count = BUCKETS,
	.stride = RS_CMDLINE_WAYS * ENTRY,
};
static struct rs_guest_info info;

static struct rs_cmdline_entry *way(uint32_t n)
{
	uint32_t bucket = rs_cmdline_hash(PID, BUCKETS);

	g_assert_cmpuint(bucket, >, 0);
	return (struct rs_cmdline_entry *)(void *)((uint8_t *)table +
						   (bucket * RS_CMDLINE_WAYS + n) * ENTRY);
}

static void begin(void)
{
	memset(table, 0, sizeof(table));
	memset(&info, 0, sizeof(info));
	rs_core.rings.boot = BOOT;
	rs_core.info = &info;
}

static void note(const char *comm, uint64_t since)
{
	rs_cmdline_note(&names, PID, 3, comm, since, 1);
}

/* Which entries were written since the last call, a bit each. */
static uint32_t written(void)
{
	static uint32_t before[RS_CMDLINE_WAYS];
	uint32_t ways = 0;

	for (uint32_t i = 0; i < RS_CMDLINE_WAYS; i++) {
		if (way(i)->sequence != before[i])
			ways |= 1u << i;
		before[i] = way(i)->sequence;
	}
	return ways;
}

static void test_entry(void)
{
	uint64_t before[G_N_ELEMENTS(table)];
	const struct rs_cmdline_entry *entry = way(0);

	begin();
	rs_cmdline_note(&names, PID, 9, "a name", 1234567890123, 77);
	g_assert_cmpuint(entry->sequence, ==, 2);
	g_assert_cmpuint(entry->pid, ==, PID);
	g_assert_cmpuint(entry->tgid, ==, 9);
	g_assert_cmpuint(entry->since, ==, 1234567890123);
	g_assert_cmpuint(entry->chain, ==, 77);
	g_assert_cmpuint(entry->boot, ==, BOOT);
	g_assert_cmpuint(entry->number, ==, 1);
	g_assert_cmpmem(entry->comm, RS_COMM_LEN,
			"a name\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", RS_COMM_LEN);
	g_assert_cmpuint(info.cmdline_changes, ==, 1);
	/* Nothing else was written. */
	memcpy(before, table, sizeof(table));
	memset((uint8_t *)before + ((const uint8_t *)entry - (uint8_t *)table), 0, sizeof(*entry));
	for (uint32_t i = 0; i < G_N_ELEMENTS(table); i++)
		g_assert_cmphex(before[i], ==, 0);

	/* The table of a region that has none, and an agent that is just leaving. */
	memcpy(before, table, sizeof(table));
	rs_cmdline_note(&(struct rs_names){.buckets = (uint8_t *)table}, PID, 9, "other", 9, 77);
	g_assert_cmpmem(table, sizeof(table), before, sizeof(before));
	rs_core.info = NULL;
	rs_cmdline_note(&names, PID, 9, "other", 1234567890124, 77);
	g_assert_cmpstr(way(1)->comm, ==, "other");
	g_assert_cmpuint(way(1)->number, ==, 2);
}

/* A name ends at its NUL or after all its bytes; none is an empty one. */
static void test_text(void)
{
	static const char longest[] = "a name of 32 bytes has no NUL!!!+";
	char most[RS_COMM_LEN] = {0};

	begin();
	g_assert_cmpuint(strlen(longest), ==, RS_COMM_LEN + 1);
	note(longest, 1);
	g_assert_cmpmem(way(0)->comm, RS_COMM_LEN, longest, RS_COMM_LEN);
	memcpy(most, longest, RS_COMM_LEN - 1);
	note(most, 2);
	g_assert_cmpmem(way(1)->comm, RS_COMM_LEN, most, RS_COMM_LEN);
	note(NULL, 3);
	memset(most, 0, sizeof(most));
	g_assert_cmpmem(way(2)->comm, RS_COMM_LEN, most, RS_COMM_LEN);
	note("", 4); /* the same */
	g_assert_cmpuint(way(3)->sequence, ==, 0);
}

/* What says nothing new changes nothing; a difference anywhere in the name or group does. */
static void test_same(void)
{
	static const char *const texts[] = {
		"01234567012345670123456701234567", "01234567012345670123456701234568",
		"01234567012345670123456801234568", "01234567012345680123456801234568",
		"01234568012345680123456801234568",
	};

	begin();
	written();
	for (uint32_t i = 0; i < G_N_ELEMENTS(texts); i++) {
		note(texts[i], 10 + i);
		g_assert_cmphex(written(), ==, 1u << i);
		note(texts[i], 10 + i);
		note(texts[i], 100);
		g_assert_cmphex(written(), ==, 0);
		g_assert_cmpuint(way(i)->since, ==, 10 + i);
		g_assert_cmpuint(way(i)->number, ==, 1 + i);
		g_assert_cmpuint(info.cmdline_changes, ==, 1 + i);
	}
	rs_cmdline_note(&names, PID, 4, texts[G_N_ELEMENTS(texts) - 1], 100, 1);
	g_assert_cmphex(written(), ==, 1u << G_N_ELEMENTS(texts));
	/* An older name of the task is new again. */
	note(texts[0], 101);
	g_assert_cmphex(written(), ==, 2u << G_N_ELEMENTS(texts));
	/* Another boot's task of this pid is another task, and its names are counted anew. */
	rs_core.rings.boot = BOOT + 1;
	note(texts[0], 5);
	g_assert_cmphex(written(), ==, 4u << G_N_ELEMENTS(texts));
	g_assert_cmpuint(way(G_N_ELEMENTS(texts) + 2)->number, ==, 1);
}

/* Fills the bucket with other tasks, each as old as the others. */
static void fill(void)
{
	begin();
	for (uint32_t i = 0; i < RS_CMDLINE_WAYS; i++)
		*way(i) = (struct rs_cmdline_entry){.sequence = 2 * (i + 1),
						    .pid = PID + 1 + i,
						    .boot = BOOT,
						    .chain = 1,
						    .since = 1000,
						    .number = 10 + i};
	written();
}

static void test_oldest(void)
{
	for (uint32_t i = 0; i < RS_CMDLINE_WAYS; i++) {
		uint32_t other = (i + 3) % RS_CMDLINE_WAYS;

		fill();
		way(i)->since = 999;
		note("x", 2000);
		g_assert_cmphex(written(), ==, 1u << i);
		g_assert_cmpuint(way(i)->sequence, ==, 2 * (i + 1) + 2);
		g_assert_cmpuint(way(i)->number, ==, 1);
		/* The chain says more than the time, and the boot more than the chain. */
		fill();
		way(i)->chain = 0;
		way(i)->since = 2000;
		way(other)->since = 1;
		note("x", 2000);
		g_assert_cmphex(written(), ==, 1u << i);
		fill();
		way(i)->boot = BOOT - 1;
		way(i)->chain = 2;
		way(other)->chain = 0;
		note("x", 2000);
		g_assert_cmphex(written(), ==, 1u << i);
		/* One that was never used is older than all, whatever is there. */
		fill();
		way(i)->sequence = 0;
		way(i)->since = 5000;
		way(other)->boot = 1;
		written();
		note("x", 2000);
		g_assert_cmphex(written(), ==, 1u << i);
	}
	/* Of equals, the first. */
	fill();
	note("x", 2000);
	g_assert_cmphex(written(), ==, 1);
}

/* The newest of a pid's names says which number comes next. */
static void test_newest(void)
{
	for (uint32_t i = 0; i < RS_CMDLINE_WAYS; i++) {
		fill();
		for (uint32_t n = 0; n < RS_CMDLINE_WAYS; n++)
			way(n)->pid = PID;
		way(i)->since = 1001;
		note("x", 2000);
		g_assert_cmphex(written(), ==, i ? 1 : 2);
		g_assert_cmpuint(way(i ? 0 : 1)->number, ==, 11 + i);
	}
	/* Of equals, the last. */
	fill();
	way(2)->pid = way(3)->pid = PID;
	note("x", 2000);
	g_assert_cmpuint(way(0)->number, ==, 14);
	/* Neither another pid nor another boot counts. */
	fill();
	way(3)->pid = PID;
	way(3)->boot = BOOT - 1;
	way(0)->boot = BOOT - 2;
	note("x", 2000);
	g_assert_cmpuint(way(0)->number, ==, 1);
	/* The count begins anew behind its last number. */
	fill();
	way(2)->pid = PID;
	way(2)->number = UINT32_MAX - 1;
	note("x", 2000);
	g_assert_cmpuint(way(0)->number, ==, UINT32_MAX);
	note("y", 2001);
	g_assert_cmpuint(way(1)->number, ==, 1);
}

/* An entry that another vCPU is writing is left to it. */
static void test_taken(void)
{
	fill();
	way(6)->since = 1;
	way(6)->sequence |= 1;
	way(7)->sequence |= 1;
	written();
	note("x", 2000);
	g_assert_cmphex(written(), ==, 1); /* round the end of the bucket */
	g_assert_cmpuint(way(6)->pid, ==, PID + 1 + 6);
	g_assert_cmpuint(info.cmdline_changes, ==, 1);
	for (uint32_t i = 0; i < RS_CMDLINE_WAYS; i++)
		way(i)->sequence |= 1;
	written();
	note("y", 2001);
	g_assert_cmphex(written(), ==, 0);
	g_assert_cmpuint(info.cmdline_changes, ==, 1);
	/* The last that is tried is the one before the oldest. */
	way(5)->sequence++;
	written();
	note("y", 2001);
	g_assert_cmphex(written(), ==, 1u << 5);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/agent/cmdline/entry", test_entry);
	g_test_add_func("/agent/cmdline/text", test_text);
	g_test_add_func("/agent/cmdline/same", test_same);
	g_test_add_func("/agent/cmdline/oldest", test_oldest);
	g_test_add_func("/agent/cmdline/newest", test_newest);
	g_test_add_func("/agent/cmdline/taken", test_taken);
	return g_test_run();
}
