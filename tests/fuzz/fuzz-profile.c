/* SPDX-License-Identifier: MIT */
/*
 * A profile of settings. What it asks for is what the options of `run` take, and nothing else; a
 * mistake has a message for a terminal.
 */
#include "cli/profile.h"
#include "filter/filter.h"
#include "seed.h"
#include "session/event_glob.h"
#include "session/trigger_text.h"

#include <ringside/region.h>
#include <stdlib.h>
#include <string.h>

void rs_fuzz_seeds(void)
{
	static const char *const texts[] = {
		"[events]\nenable = sched:*, !sched:steal; a:*\ndisable=a:b\n[ring]\nmode = drop\n",
		"[filter x]\nevents = a:b\nif = c ~ \"x*\" && d[1] == 2\n",
		"[trigger x]\non = a:b\nif = pid == 7\ndo = pause; snapshot=/t; stack=3\ncount=2\n",
		"[trigger x]\non = a:*@level=3\ndo = enable=b:*;disable=c:*\n[filter y]\n",
	};
	char name[16];

	for (unsigned int i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_snprintf(name, sizeof(name), "profile-%u", i);
		rs_fuzz_seed(name, texts[i], strlen(texts[i]));
	}
}

static void check_globs(const GPtrArray *items)
{
	for (guint i = 0; i < items->len; i++) {
		const struct rs_profile_item *item = items->pdata[i];

		if (rs_event_glob_check(item->text, NULL) || strcmp(item->text, item->glob))
			abort();
	}
}

static void check_filters(const GPtrArray *items)
{
	for (guint i = 0; i < items->len; i++) {
		const struct rs_profile_item *item = items->pdata[i];
		g_autofree char *glob = NULL, *expression = NULL;
		struct rs_filter_error mistake;

		if (rs_event_glob_check(item->glob, NULL) ||
		    rs_filter_check(rs_profile_expression(item), &mistake) ||
		    !rs_filter_split(item->text, &glob, &expression) || strcmp(glob, item->glob))
			abort();
	}
}

static void check_triggers(const GPtrArray *items)
{
	for (guint i = 0; i < items->len; i++) {
		const struct rs_profile_item *item = items->pdata[i];
		struct rs_trigger_text *text;

		if (rs_trigger_text_parse(item->text, &text, NULL) ||
		    strcmp(text->glob, item->glob))
			abort();
		rs_trigger_text_free(text);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(RsProfile) profile = rs_profile_new("p", (const char *)data, size, &error);

	if (!profile != !!error)
		abort();
	for (const char *at = error ? error->message : ""; *at; at++) {
		if (((guchar)*at < 0x20 && *at != '\n') || *at == 0x7f)
			abort();
	}
	if (!profile)
		return 0;
	check_globs(profile->enables);
	check_globs(profile->disables);
	check_filters(profile->filters);
	check_triggers(profile->triggers);
	if (profile->mode != RS_PROFILE_ANY_MODE && profile->mode != (int)RS_MODE_OVERWRITE &&
	    profile->mode != (int)RS_MODE_DROP)
		abort();
	return 0;
}
