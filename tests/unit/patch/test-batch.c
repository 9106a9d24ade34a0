/* SPDX-License-Identifier: MIT */
/*
 * What one batch looks at, writes down and counts, and when text of nobody's is tried again. The
 * time is this test's.
 */
#include "guest.h"
#include "patch/patcher.h"

#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

static char *path;
static uint64_t now; /* grows by `tick` each time that somebody looks */
static uint64_t tick;

uint64_t __wrap_rs_monotonic_ns(void);

uint64_t __wrap_rs_monotonic_ns(void)
{
	return now += tick;
}

static void begin(struct guest *guest, struct rs_patcher **patcher)
{
	now = 1000000;
	tick = 1;
	g_assert_cmpint(
		rs_patcher_create(&guest->fake.base, RS_PATCH_HOST, path, NULL, patcher, NULL), ==,
		0);
	g_assert_cmpint(rs_patcher_add_provider(*patcher, &guest->list, NULL, NULL), ==, 0);
}

static void end(struct guest *guest, struct rs_patcher *patcher)
{
	rs_patcher_destroy(patcher);
	g_assert_cmpuint(guest_count_on(guest), ==, 0);
	g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
	guest_deinit(guest);
}

static void commit(struct rs_patcher *patcher, uint32_t want_refused)
{
	uint32_t refused;

	g_assert_cmpint(rs_patcher_commit(patcher, &refused, NULL), ==, 0);
	g_assert_cmpuint(refused, ==, want_refused);
}

static void set(struct rs_patcher *patcher, uint16_t event, bool on)
{
	rs_patcher_want(patcher, event, on ? 1 : -1);
	commit(patcher, 0);
}

static struct rs_patcher_stats stats_of(const struct rs_patcher *patcher)
{
	struct rs_patcher_stats stats;

	rs_patcher_stats(patcher, &stats);
	return stats;
}

/* Records in the file. */
static gsize records(void)
{
	g_autofree char *bytes = NULL;
	gsize size;

	g_assert_true(g_file_get_contents(path, &bytes, &size, NULL));
	size -= sizeof(struct rs_journal_header);
	g_assert_cmpuint(size % sizeof(struct rs_journal_record), ==, 0);
	return size / sizeof(struct rs_journal_record);
}

/* ---- what is counted ---- */

static void test_times(void)
{
	struct rs_patcher_stats first, second;
	struct rs_patcher *patcher;
	struct guest guest;
	uint64_t before;

	guest_init(&guest, 2, 2);
	begin(&guest, &patcher);
	guest.fake.fail_pause = -EIO;
	rs_patcher_want(patcher, FIRST, 1);
	g_assert_cmpint(rs_patcher_commit(patcher, NULL, NULL), ==, -EIO);
	first = stats_of(patcher);
	g_assert_cmpuint(first.batches + first.pause_last_ns + first.pause_max_ns, ==, 0);
	guest.fake.fail_pause = 0;
	tick = 1000;
	before = now;
	commit(patcher, 0);
	first = stats_of(patcher);
	g_assert_cmpuint(first.pause_last_ns, ==, 1000);
	g_assert_cmpuint(first.pause_max_ns, ==, 1000);
	g_assert_cmpuint(first.pause_total_ns, ==, 1000);
	g_assert_cmpuint(first.batches, ==, 1);
	g_assert_cmpuint(first.commit_last_ns, >, first.pause_last_ns);
	g_assert_cmpuint(first.commit_last_ns, <=, now - before);
	tick = 10;
	set(patcher, FIRST + 1, true);
	second = stats_of(patcher);
	g_assert_cmpuint(second.pause_last_ns, ==, 10);
	g_assert_cmpuint(second.pause_max_ns, ==, 1000);
	g_assert_cmpuint(second.pause_total_ns, ==, 1010);
	g_assert_cmpuint(second.batches, ==, 2);
	/* Without anything to do the guest is not stopped. */
	commit(patcher, 0);
	g_assert_cmpuint(stats_of(patcher).batches, ==, 2);
	end(&guest, patcher);
}

/* A list names so many refused sites, of a batch as of a provider that comes. */
static void test_refusals(void)
{
	struct rs_patcher *patcher;
	struct guest guest;
	size_t count;

	guest_init(&guest, RS_MAX_REFUSALS + 1, 1);
	begin(&guest, &patcher);
	for (uint32_t i = 0; i < guest.sites; i++)
		guest_text(&guest, i)[0] = 0xcc;
	rs_patcher_want(patcher, FIRST, 1);
	commit(patcher, RS_MAX_REFUSALS + 1);
	rs_patcher_refusals(patcher, &count);
	g_assert_cmpuint(count, ==, RS_MAX_REFUSALS);
	guest_text(&guest, 0)[0] = 0x0f;
	rs_patcher_want(patcher, FIRST, 1);
	commit(patcher, RS_MAX_REFUSALS);
	rs_patcher_refusals(patcher, &count);
	g_assert_cmpuint(count, ==, RS_MAX_REFUSALS);
	g_assert_cmpuint(guest_count_on(&guest), ==, 1);
	end(&guest, patcher);
}

/* ---- the journal ---- */

/* One record is enough for a site, however often it is switched, as long as anything is on. */
static void test_journalled_once(void)
{
	struct rs_patcher *patcher;
	struct guest guest;

	guest_init(&guest, 6, 3); /* two sites each */
	begin(&guest, &patcher);
	set(patcher, FIRST + 2, true);
	g_assert_cmpuint(records(), ==, 2);
	for (int i = 0; i < 3; i++) {
		set(patcher, FIRST, true);
		g_assert_cmpuint(records(), ==, 4);
		set(patcher, FIRST, false);
		g_assert_cmpuint(records(), ==, 4);
	}
	set(patcher, FIRST + 1, true);
	g_assert_cmpuint(records(), ==, 6);
	/* Once nothing is on, a new run begins. */
	for (uint16_t i = 1; i < 3; i++)
		set(patcher, FIRST + i, false);
	g_assert_cmpuint(records(), ==, 0);
	set(patcher, FIRST, true);
	g_assert_cmpuint(records(), ==, 2);
	end(&guest, patcher);
}

/* It names the process whose text it is, if it is one's. */
static void check_process(bool physical, int32_t pid, uint32_t want)
{
	struct rs_journal_header header;
	struct rs_patcher *patcher;
	struct guest guest;
	g_autofree char *bytes = NULL;
	gsize size;

	guest_init(&guest, 1, 1);
	if (!physical)
		fake_target_virtual(&guest.fake, TEXT - TEXT_GPA);
	guest.list.at.v = TEXT + (DATA_GPA - TEXT_GPA);
	*guest_entry(&guest, 0) = (struct rs_site){
		.code = (int32_t)(guest_site(0) - guest.list.at.v),
		.target = (int32_t)(guest_jump(0) - (guest.list.at.v + 4)),
		.size = RS_SITE_BYTES,
		.event = 0x80000 - 8,
	};
	if (physical)
		fake_target_map(&guest.fake, ROOT, guest.list.at.v, DATA_GPA, 1);
	if (physical)
		fake_target_map(&guest.fake, ROOT, guest.list.at.v + 0x80000, DATA_GPA + 0x80000,
				1);
	guest.fake.base.pid = pid;
	begin(&guest, &patcher);
	set(patcher, FIRST, true);
	g_assert_cmpuint(guest_count_on(&guest), ==, 1);
	g_assert_true(g_file_get_contents(path, &bytes, &size, NULL));
	memcpy(&header, bytes, sizeof(header));
	g_assert_cmpuint(header.process, ==, want);
	g_assert_cmpint(header.process_start != 0, ==, want != 0);
	end(&guest, patcher);
}

static void test_process(void)
{
	check_process(false, getpid(), (uint32_t)getpid());
	check_process(true, getpid(), 0);
	check_process(false, 0, 0);
	check_process(false, -1, 0);
}

/* ---- what is checked ---- */

static void check_target(struct guest *guest, const char *bytes, size_t size, uint64_t at,
			 bool good)
{
	const struct rs_site_refusal *refusals;
	struct rs_patcher *patcher;
	size_t count;

	begin(guest, &patcher);
	memcpy(guest->ram + TEXT_GPA + (at - TEXT), bytes, size);
	rs_patcher_want(patcher, FIRST, 1);
	commit(patcher, !good);
	g_assert_cmphex(guest->ram[TEXT_GPA + 8], ==, good ? 0xe9 : 0x0f);
	refusals = rs_patcher_refusals(patcher, &count);
	if (!good)
		g_assert_true(g_str_has_prefix(refusals[0].why, "its target: "));
	/* It goes off whatever stands there. */
	memset(guest->ram + TEXT_GPA + (at - TEXT), 0x06, size);
	rs_patcher_want(patcher, FIRST, -1);
	commit(patcher, 0);
	g_assert_cmpint(guest->ram[TEXT_GPA + 8], ==, 0x0f);
	memset(guest->ram + TEXT_GPA + (at - TEXT), 0x90, size);
	rs_patcher_destroy(patcher);
}

/* A JMP leads only to an instruction, and the guest may have changed it since the site came. */
static void test_target(void)
{
	const uint64_t edge = TEXT + RS_PAGE_SIZE - 1;
	struct guest guest;

	guest_init(&guest, 1, 1);
	check_target(&guest, "\x90", 1, guest_jump(0), true);
	check_target(&guest, "\x06", 1, guest_jump(0), false);
	check_target(&guest, "\x48\x89\xe5", 3, guest_jump(0), true);
	check_target(&guest, "\x48\x06", 2, guest_jump(0), false);
	/* Behind it text may end. */
	guest_entry(&guest, 0)->target += (int32_t)(edge - guest_jump(0));
	memset(guest.ram + TEXT_GPA + 64, 0x90, 2 * RS_PAGE_SIZE);
	check_target(&guest, "\x48\x89\xe5", 3, edge, true);
	fake_target_map(&guest.fake, ROOT, edge + 1, RAM, 1);
	check_target(&guest, "\xc3", 1, edge, true);
	check_target(&guest, "\x48", 1, edge, false);
	guest_deinit(&guest);
}

/* Of two sites that are the same text, the one at the lower address is switched. */
static void test_shared(void)
{
	const uint32_t in_page = RS_PAGE_SIZE / 64;
	const struct rs_site_refusal *refusals;
	struct rs_patcher *patcher;
	struct guest guest;
	size_t count;

	guest_init(&guest, in_page + 2, 1);
	fake_target_map(&guest.fake, ROOT, TEXT + RS_PAGE_SIZE, TEXT_GPA, 1);
	begin(&guest, &patcher);
	rs_patcher_want(patcher, FIRST, 1);
	commit(patcher, 2);
	refusals = rs_patcher_refusals(patcher, &count);
	g_assert_cmpuint(count, ==, 2);
	for (uint32_t i = 0; i < 2; i++)
		g_assert_cmphex(refusals[i].at.v, ==, guest_site(in_page + i));
	rs_patcher_want(patcher, FIRST, -1);
	end(&guest, patcher);
}

/* Two that lie side by side are two, though others are out of order. */
static void test_neighbours(void)
{
	static const uint32_t places[] = {0x113, 0x118, RS_PAGE_SIZE + 0x40};
	struct rs_patcher *patcher;
	struct guest guest;

	guest_init(&guest, 1, 1);
	memset(guest.ram + TEXT_GPA, 0x90, RS_PAGE_SIZE);
	fake_target_map(&guest.fake, ROOT, TEXT + RS_PAGE_SIZE, TEXT_GPA, 1);
	guest.list.count = G_N_ELEMENTS(places);
	for (uint32_t i = 0; i < guest.list.count; i++) {
		struct rs_site *site = guest_entry(&guest, i);
		uint64_t entry = DATA + i * sizeof(*site);
		uint32_t at = TEXT_GPA + places[i] % RS_PAGE_SIZE;

		*site = (struct rs_site){
			.code = (int32_t)(TEXT + places[i] - entry),
			.target = (int32_t)(TEXT + 0x800 - (entry + 4)),
			.event = (int32_t)(EVENTS - (entry + 8)),
			.size = RS_SITE_BYTES,
		};
		rs_insn_nop(guest.ram + at);
		memset(guest.writable + at, 1, RS_SITE_BYTES);
	}
	begin(&guest, &patcher);
	rs_patcher_want(patcher, FIRST, 1);
	commit(patcher, 0);
	for (uint32_t i = 0; i < guest.list.count; i++)
		g_assert_cmphex(guest.ram[TEXT_GPA + places[i] % RS_PAGE_SIZE], ==, 0xe9);
	end(&guest, patcher);
}

static const char *first_refusal(const struct rs_patcher *patcher)
{
	size_t count;
	const struct rs_site_refusal *refusals = rs_patcher_refusals(patcher, &count);

	g_assert_cmpuint(count, >, 0);
	return refusals[0].why;
}

static void vanish(struct fake_target *fake)
{
	fake->on_pause = NULL;
	fake->size = TEXT_GPA;
}

/* Text that is gone when the guest stands still, going on and going off. */
static void test_vanishes(void)
{
	struct rs_patcher *patcher;
	struct guest guest;

	guest_init(&guest, 2, 1);
	begin(&guest, &patcher);
	for (int on = 1; on >= 0; on--) {
		guest.fake.on_pause = vanish;
		rs_patcher_want(patcher, FIRST, on ? 1 : -1);
		commit(patcher, 2);
		g_assert_cmpstr(first_refusal(patcher), ==, "its text could not be read again");
		g_assert_cmpuint(stats_of(patcher).sites_on, ==, on ? 0 : 2);
		guest.fake.size = RAM;
		/* Not tried again before somebody asks. */
		commit(patcher, 0);
		g_assert_cmpuint(guest_count_on(&guest), ==, on ? 0 : 2);
		rs_patcher_want(patcher, FIRST, on ? 1 : -1);
		commit(patcher, 0);
		g_assert_cmpuint(guest_count_on(&guest), ==, on ? 2 : 0);
		rs_patcher_want(patcher, FIRST, on ? -1 : 0);
	}
	end(&guest, patcher);
}

static unsigned int torn;

/* Writes two bytes of the first patch that comes, and nothing more of any. */
static int tear(struct rs_target *target, const struct rs_text_patch *patches, size_t count,
		bool *bad, struct rs_error *err)
{
	uint8_t *ram = ((struct fake_target *)target)->ram;

	if (!torn++)
		memcpy(ram + patches[0].at_phys.v, patches[0].new_bytes, 2);
	memset(bad, 1, count);
	return 0;
}

/* A place of which a part is written, and which cannot be put back: it may hold our JMP. */
static void test_in_part(void)
{
	int (*write_text)(struct rs_target *, const struct rs_text_patch *, size_t, bool *,
			  struct rs_error *);
	struct rs_patcher *patcher;
	struct guest guest;

	guest_init(&guest, 3, 1);
	begin(&guest, &patcher);
	write_text = guest.fake.ops.write_text;
	guest.fake.ops.write_text = tear;
	torn = 0;
	rs_patcher_want(patcher, FIRST, 1);
	commit(patcher, 3);
	g_assert_true(g_str_has_prefix(first_refusal(patcher), "its text was written in part"));
	g_assert_cmpuint(stats_of(patcher).sites_on, ==, 1);
	g_assert_cmpuint(stats_of(patcher).sites_patched, ==, 0);
	g_assert_cmpuint(records(), ==, 3);
	/* The rest is written by somebody. */
	guest.fake.ops.write_text = write_text;
	rs_insn_nop(guest_text(&guest, 0));
	rs_patcher_want(patcher, FIRST, -1);
	end(&guest, patcher);
}

/* ---- what it costs ---- */

#define PAGES 40u
#define IN_PAGE (RS_PAGE_SIZE / 64u)
#define OTHER_ROOT 0x8000u

/* In whatever order a guest lists its sites, a page of text is read once, and not for each site. */
static void test_order(void)
{
	struct rs_patcher *patcher;
	struct rs_site_list half;
	struct guest guest;
	unsigned int reads;

	guest_init(&guest, PAGES * IN_PAGE, 1);
	/* The second half's text is at the same addresses, by other page tables. */
	guest.fake.next_table = 0x40000;
	for (uint64_t at = 0; at < 0x100000; at += RS_PAGE_SIZE) {
		fake_target_map(&guest.fake, OTHER_ROOT, DATA + at, DATA_GPA + at, 1);
		if (at < PAGES / 2 * RS_PAGE_SIZE)
			fake_target_map(&guest.fake, OTHER_ROOT, TEXT + at,
					TEXT_GPA + PAGES / 2 * RS_PAGE_SIZE + at, 1);
	}
	guest.list.count /= 2;
	for (uint32_t i = 0; i < guest.list.count; i++) {
		uint32_t as = i % (PAGES / 2) * IN_PAGE + i / (PAGES / 2);
		uint64_t entry = DATA + i * sizeof(struct rs_site);

		guest_entry(&guest, i)->code = (int32_t)(guest_site(as) - entry);
		guest_entry(&guest, i)->target = (int32_t)(guest_jump(as) - (entry + 4));
		guest_entry(&guest, i)->event = (int32_t)(EVENTS - (entry + 8));
	}
	half = guest.list;
	half.provider = 2;
	half.root = OTHER_ROOT;
	begin(&guest, &patcher);
	g_assert_cmpint(rs_patcher_add_provider(patcher, &half, NULL, NULL), ==, 0);
	reads = guest.fake.reads;
	rs_patcher_want(patcher, FIRST, 1);
	commit(patcher, 0);
	g_assert_cmpuint(guest_count_on(&guest), ==, guest.sites);
	/* Once more for each site in the pause, and four tables for each page. */
	g_assert_cmpuint(guest.fake.reads - reads, <=, guest.sites + 6 * PAGES);
	rs_patcher_want(patcher, FIRST, -1);
	end(&guest, patcher);
}

/* ---- trying again ---- */

static struct rs_patcher *busy_one;
static bool was_busy;

static void look_busy(struct fake_target *fake)
{
	was_busy = rs_patcher_is_busy(busy_one);
}

static bool never_ready(struct rs_target *target)
{
	return false;
}

/* What could not be put back takes one part in a hundred of the time, as long as it is in vain. */
static void test_owed(void)
{
	struct rs_patcher *patcher;
	struct rs_site_list second;
	struct guest guest;
	uint64_t from, took;
	unsigned int pauses;

	guest_init(&guest, 4, 4);
	second = guest.list;
	second.provider = 2;
	second.count = guest.list.count = 2;
	second.at.v += 2 * sizeof(struct rs_site);
	begin(&guest, &patcher);
	busy_one = patcher;
	guest.fake.on_pause = look_busy;
	g_assert_cmpint(rs_patcher_add_provider(patcher, &second, NULL, NULL), ==, 0);
	set(patcher, FIRST, true);
	g_assert_true(was_busy);
	set(patcher, FIRST + 2, true);
	guest.fake.fail_write = -EFAULT;
	tick = 1000;
	rs_patcher_remove_provider(patcher, 2, NULL);
	g_assert_false(rs_patcher_is_busy(patcher));
	g_assert_true(guest_is_jmp(&guest, 2));
	tick = 0;
	now += 100000000; /* it may be tried */
	pauses = guest.fake.pauses;
	/* Nobody waits for a target that is not ready. */
	guest.fake.ops.ready = never_ready;
	rs_patcher_tend(patcher);
	g_assert_cmpuint(guest.fake.pauses, ==, pauses);
	guest.fake.ops.ready = NULL;
	was_busy = false;
	tick = 10;
	from = now;
	rs_patcher_tend(patcher);
	took = now - from;
	g_assert_cmpuint(guest.fake.pauses, ==, pauses + 1);
	g_assert_true(was_busy);
	g_assert_false(rs_patcher_is_busy(patcher));
	/* Looks at the clock: whether it is time, before, pause, resume, and after. */
	g_assert_cmpuint(took, ==, 50);
	tick = 0;
	now += 30 * 100 - 1;
	rs_patcher_tend(patcher);
	g_assert_cmpuint(guest.fake.pauses, ==, pauses + 1);
	now++;
	rs_patcher_tend(patcher);
	g_assert_cmpuint(guest.fake.pauses, ==, pauses + 2);
	/* At the end it is tried at once. */
	guest.fake.fail_write = 0;
	rs_patcher_want(patcher, FIRST, -1);
	g_assert_cmpint(rs_patcher_restore(patcher, NULL), ==, 0);
	g_assert_cmpuint(guest_count_on(&guest), ==, 0);
	end(&guest, patcher);
}

/* A guest that moves its text again and again makes us look for it in a share of the time only. */
static void test_moved(void)
{
	struct rs_patcher *patcher;
	uint8_t text[RS_PAGE_SIZE];
	struct guest guest;
	unsigned int pauses;

	guest_init(&guest, 4, 4);
	memcpy(text, guest.ram + TEXT_GPA, sizeof(text));
	begin(&guest, &patcher);
	set(patcher, FIRST, true);
	guest_move_text(&guest, TEXT_GPA, ELSEWHERE);
	tick = 10;
	set(patcher, FIRST, false);
	g_assert_cmpint(memcmp(guest.ram + TEXT_GPA, text, RS_PAGE_SIZE), ==, 0);
	tick = 0;
	set(patcher, FIRST, true);
	guest_move_text(&guest, ELSEWHERE, TEXT_GPA);
	set(patcher, FIRST, false);
	g_assert_cmpint(memcmp(guest.ram + ELSEWHERE, text, RS_PAGE_SIZE), !=, 0);
	pauses = guest.fake.pauses;
	rs_patcher_tend(patcher);
	g_assert_cmpuint(guest.fake.pauses, ==, pauses);
	now += 100 * 100;
	rs_patcher_tend(patcher);
	g_assert_cmpuint(guest.fake.pauses, ==, pauses + 1);
	g_assert_cmpint(memcmp(guest.ram + ELSEWHERE, text, RS_PAGE_SIZE), ==, 0);
	g_assert_cmpint(memcmp(guest.ram + TEXT_GPA, text, RS_PAGE_SIZE), ==, 0);
	end(&guest, patcher);
}

/* ---- one comes while another goes ---- */

static void test_goes_meanwhile(void)
{
	struct rs_patcher *patcher;
	struct rs_site_list second;
	struct guest guest;
	uint32_t refused;
	int ret;

	guest_init(&guest, 40, 1);
	second = guest.list;
	second.provider = 2;
	second.count = 20;
	second.at.v += 20 * sizeof(struct rs_site);
	guest.list.count = 20;
	for (int round = 0; round < 2; round++) {
		begin(&guest, &patcher);
		set(patcher, FIRST, true);
		g_assert_cmpint(rs_patcher_begin_provider(patcher, &second, NULL), ==, 0);
		g_assert_cmpint(rs_patcher_step_provider(patcher, 25, &refused, NULL), ==, 1);
		g_assert_cmpint(rs_patcher_remove_provider(patcher, round ? 2 : 1, NULL), ==, 0);
		/* Only the reading of the one that has gone ends. */
		do
			ret = rs_patcher_step_provider(patcher, 1, &refused, NULL);
		while (ret == 1);
		g_assert_cmpint(ret, ==, 0);
		commit(patcher, 0);
		g_assert_cmpuint(stats_of(patcher).sites, ==, 20);
		g_assert_cmpuint(guest_count_on(&guest), ==, 20);
		g_assert_true(guest_is_jmp(&guest, round ? 0 : 20));
		rs_patcher_want(patcher, FIRST, -1);
		rs_patcher_destroy(patcher);
		g_assert_cmpuint(guest_count_on(&guest), ==, 0);
	}
	guest_deinit(&guest);
}

int main(int argc, char **argv)
{
	char *dir = g_dir_make_tmp("rs-batch-XXXXXX", NULL);
	int ret;

	g_test_init(&argc, &argv, NULL);
	path = g_build_filename(dir, "x.journal", NULL);
	g_test_add_func("/patch/batch/times", test_times);
	g_test_add_func("/patch/batch/refusals", test_refusals);
	g_test_add_func("/patch/batch/journalled-once", test_journalled_once);
	g_test_add_func("/patch/batch/process", test_process);
	g_test_add_func("/patch/batch/target", test_target);
	g_test_add_func("/patch/batch/shared", test_shared);
	g_test_add_func("/patch/batch/neighbours", test_neighbours);
	g_test_add_func("/patch/batch/vanishes", test_vanishes);
	g_test_add_func("/patch/batch/in-part", test_in_part);
	g_test_add_func("/patch/batch/order", test_order);
	g_test_add_func("/patch/batch/owed", test_owed);
	g_test_add_func("/patch/batch/moved", test_moved);
	g_test_add_func("/patch/batch/goes-meanwhile", test_goes_meanwhile);
	ret = g_test_run();
	g_rmdir(dir);
	g_free(path);
	g_free(dir);
	return ret;
}
