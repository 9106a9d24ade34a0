/* SPDX-License-Identifier: MIT */
/* A guest moves pages of its text, or maps one of them twice. */
#include "patchers.h"

#include <string.h>

static void check_clean(struct guest *guest, const uint8_t *text)
{
	g_assert_cmpmem(guest->ram + TEXT_GPA, RS_PAGE_SIZE, text, RS_PAGE_SIZE);
	g_assert_cmpmem(guest->ram + ELSEWHERE, RS_PAGE_SIZE, text, RS_PAGE_SIZE);
	g_assert_false(g_file_test(patcher_journal, G_FILE_TEST_EXISTS));
}

/* The guest has moved a page of its text: the journal must name the place where it lies now. */
static void test_moved(void)
{
	struct rs_journal_report report = {0};
	struct rs_patcher *patcher;
	struct guest guest;

	guest_init(&guest, 4, 2);
	patcher = patcher_of(&guest, patcher_journal);
	rs_patcher_want(patcher, FIRST + 1, 1); /* keeps the journal in use */
	rs_patcher_want(patcher, FIRST, 1);
	patcher_commit(patcher, 0);
	rs_patcher_want(patcher, FIRST, -1);
	patcher_commit(patcher, 0);
	guest_move_text(&guest, TEXT_GPA, ELSEWHERE);
	rs_patcher_want(patcher, FIRST, 1);
	patcher_commit(patcher, 0);
	g_assert_cmpint(guest.ram[ELSEWHERE + 8], ==, 0xe9);
	patcher_kill(&guest, patcher, &report);
	g_assert_cmpint(guest.ram[ELSEWHERE + 8], ==, 0x0f);
	guest_deinit(&guest);
}

/*
 * The guest moves a page that holds our JMPs. Both the copy and the page that it left are restored,
 * since the guest may map that page again.
 */
static void test_moved_while_on(void)
{
	uint8_t text[RS_PAGE_SIZE];
	struct rs_patcher *patcher;
	struct guest guest;

	guest_init(&guest, 4, 2);
	memcpy(text, guest.ram + TEXT_GPA, sizeof(text));
	patcher = patcher_of(&guest, patcher_journal);
	rs_patcher_want(patcher, FIRST, 1);
	patcher_commit(patcher, 0);
	guest_move_text(&guest, TEXT_GPA, ELSEWHERE);
	g_assert_cmpint(memcmp(guest.ram + ELSEWHERE, text, RS_PAGE_SIZE), !=, 0);
	rs_patcher_want(patcher, FIRST, -1);
	patcher_commit(patcher, 0);
	rs_patcher_destroy(patcher);
	check_clean(&guest, text);
	guest_deinit(&guest);
}

static void move_now(struct fake_target *fake)
{
	fake->on_pause = NULL;
	guest_move_text((struct guest *)(void *)((char *)fake - offsetof(struct guest, fake)),
			TEXT_GPA, ELSEWHERE);
}

/* It moves the page after we have walked to it, and before we write there. */
static void test_moved_meanwhile(void)
{
	uint8_t text[RS_PAGE_SIZE];
	struct rs_patcher *patcher;
	struct guest guest;

	guest_init(&guest, 4, 2);
	memcpy(text, guest.ram + TEXT_GPA, sizeof(text));
	patcher = patcher_of(&guest, patcher_journal);
	rs_patcher_want(patcher, FIRST, 1);
	guest.fake.on_pause = move_now;
	patcher_commit(patcher, 0);
	g_assert_cmpint(memcmp(guest.ram + TEXT_GPA, text, RS_PAGE_SIZE), !=, 0);
	rs_patcher_want(patcher, FIRST, -1);
	patcher_commit(patcher, 0);
	rs_patcher_destroy(patcher);
	check_clean(&guest, text);
	guest_deinit(&guest);
}

#define SHARED 4u /* sites in the first page, and their likes in the second one */
#define IN_PAGE (RS_PAGE_SIZE / 64u)

static void want_shared(struct rs_patcher *patcher, int delta, bool one_by_one, guint sites)
{
	for (uint16_t i = 0; i < sites; i++)
		rs_patcher_want(patcher, FIRST + i, delta);
	if (one_by_one)
		rs_patcher_commit(patcher, NULL, NULL);
	for (uint16_t i = 0; i < sites; i++)
		rs_patcher_want(patcher, FIRST + IN_PAGE + i, delta);
	rs_patcher_commit(patcher, NULL, NULL);
}

/*
 * One page at two addresses: sites of two events are the same bytes, and each wants a JMP of its
 * own there. The text is as it was once both are off, or the session was killed.
 */
static void test_shared(bool killed, bool one_by_one, guint sites)
{
	struct rs_journal_report report = {0};
	uint8_t text[RS_PAGE_SIZE];
	struct rs_patcher *patcher;
	struct guest guest;

	guest_init(&guest, IN_PAGE + SHARED, IN_PAGE + SHARED);
	memcpy(text, guest.ram + TEXT_GPA, sizeof(text));
	/* The likes lead elsewhere: a JMP of theirs has other bytes. */
	fake_target_map(&guest.fake, ROOT, TEXT + RS_PAGE_SIZE, TEXT_GPA, 1);
	patcher = patcher_of(&guest, patcher_journal);
	for (guint round = 0; round < 3; round++) {
		want_shared(patcher, 1, one_by_one, sites);
		g_assert_cmpint(memcmp(guest.ram + TEXT_GPA, text, RS_PAGE_SIZE), !=, 0);
		if (killed)
			break;
		want_shared(patcher, -1, one_by_one, sites);
		g_assert_cmpmem(guest.ram + TEXT_GPA, RS_PAGE_SIZE, text, RS_PAGE_SIZE);
	}
	if (killed)
		patcher_kill(&guest, patcher, &report);
	else
		rs_patcher_destroy(patcher);
	g_assert_cmpmem(guest.ram + TEXT_GPA, RS_PAGE_SIZE, text, RS_PAGE_SIZE);
	guest_deinit(&guest);
}

static void test_shared_page(void)
{
	for (guint way = 0; way < 8; way++)
		test_shared(way & 1, way & 2, way & 4 ? SHARED : 1);
}

int main(int argc, char **argv)
{
	patchers_init(&argc, &argv);
	g_test_add_func("/patch/patcher/moved", test_moved);
	g_test_add_func("/patch/patcher/moved/while-on", test_moved_while_on);
	g_test_add_func("/patch/patcher/moved/meanwhile", test_moved_meanwhile);
	g_test_add_func("/patch/patcher/shared-page", test_shared_page);
	return patchers_run();
}
