/* SPDX-License-Identifier: MIT */
/* Guests whose page tables the host cannot walk: their sites are refused, and it is said why. */
#include "sham.h"

#include "session/session.h"

#include <string.h>

static const char *const sched[] = {"switch", NULL};

static void on_message(void *data, const char *text)
{
	g_string_append_printf(data, "%s\n", text);
}

/* A provider with sites, of a guest that says so of itself: what the session says of it. */
static char *said_of(uint32_t flags, uint32_t arch, uint32_t paging)
{
	g_autoptr(GString) said = g_string_new(NULL);
	struct rs_session_listener listener = {.data = said, .message = on_message};
	struct rs_source_config config = {.kernel = "k"};
	struct sham *sham = sham_new(1, RS_CHANNEL_MAILBOX);
	struct rs_session *session;
	struct rs_guest_info *info;
	struct rs_provider *entry;

	g_assert_cmpint(rs_session_create("t", &session, NULL), ==, 0);
	g_assert_cmpint(
		rs_session_add_source(session, &config, sham->region, &sham->target, NULL, NULL),
		==, 0);
	rs_session_add_listener(session, &listener);
	g_assert_cmpint(rs_session_start(session, NULL), ==, 0);
	sham_hello(sham, flags);
	info = rs_trace_region_section(sham->region, RS_SEC_GUEST_INFO, NULL);
	info->arch = arch;
	info->paging = paging;
	info->page_table_root = 0x1000;
	entry = rs_trace_region_element(sham->region, RS_SEC_PROVIDERS, 0);
	entry->site_count = 1;
	entry->sites = 0x4000;
	sham_provider(sham, "sched", sched);
	rs_session_refresh(session);
	rs_session_destroy(session);
	sham_free(sham);
	return g_string_free(g_steal_pointer(&said), FALSE);
}

static void check(uint32_t flags, uint32_t arch, uint32_t paging, const char *expected)
{
	g_autofree char *said = said_of(flags, arch, paging);

	g_test_message("%s", said);
	g_assert_true(expected ? strstr(said, expected) != NULL : strstr(said, "handled") == NULL);
}

static void test_refused(void)
{
	check(0, RS_ARCH_AARCH64, RS_PAGING_X86_64_4, "architecture 2");
	check(0, 0, RS_PAGING_X86_64_4, "architecture 0");
	/* If the guest patches itself, its paging does not matter. */
	check(RS_GUEST_SELF_PATCH, RS_ARCH_AARCH64, 99, NULL);
	check(0, RS_ARCH_X86_64, RS_PAGING_X86_64_4, NULL);
	check(0, RS_ARCH_X86_64, RS_PAGING_X86_64_5, NULL);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/session/paging/refused", test_refused);
	return g_test_run();
}
