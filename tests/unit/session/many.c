/* SPDX-License-Identifier: MIT */
#include "many.h"

#include "region/regions.h"
#include <ringside/record.h>

struct sham *many_add(struct rs_session *session, uint32_t filter_bytes)
{
	struct rs_region_config config = {.vcpus = 4,
					  .ring_bytes = 65536,
					  .event_capacity = 2048,
					  .filter_bytes = filter_bytes,
					  .hcall_channel = RS_CHANNEL_MAILBOX};
	struct rs_source_config source = {.kernel = "k"};
	RsTraceRegion *region;
	struct sham *sham;

	g_assert_cmpint(rs_region_create(&config, &region, NULL), ==, 0);
	sham = sham_on(region, false);
	g_assert_cmpint(rs_session_add_source(session, &source, region, &sham->target, NULL, NULL),
			==, 0);
	return sham;
}

void many_describe(struct sham *sham)
{
	static char names[MANY_EACH][8];
	static const char *list[MANY_EACH + 1];

	for (guint i = 0; i < MANY_EACH; i++) {
		g_snprintf(names[i], sizeof(names[i]), "e%u", i);
		list[i] = names[i];
	}
	for (guint i = 0; i < MANY_PROVIDERS; i++) {
		g_autofree char *system = g_strdup_printf("s%u", i);

		sham_provider(sham, system, list);
	}
}

char *many_filter(const char *systems, guint terms)
{
	GString *text = g_string_new(systems);

	g_string_append(text, ":*: a==1");
	for (guint i = 1; i < terms; i++)
		g_string_append(text, "&&a!=1");
	return g_string_free(text, FALSE);
}

guint many_filtered(struct rs_session *session)
{
	g_autoptr(GArray) list = rs_session_list(session, NULL);
	guint count = 0;

	for (guint i = 0; i < list->len; i++)
		count += g_array_index(list, struct rs_session_event, i).filter != NULL;
	return count;
}

bool many_is_on(struct sham *sham, uint32_t n)
{
	return sham_word(sham, RS_FIRST_EVENT_ID + n) & RS_EVENT_ENABLED;
}

void many_check_work(struct rs_session *session)
{
	struct rs_source_stat stat;

	rs_session_stat(session, &stat);
	g_assert_cmpuint(stat.most_work, <, MANY_TURN + MANY_PIECE);
}
