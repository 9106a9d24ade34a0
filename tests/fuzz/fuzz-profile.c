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
		"[trigger x]\non = a:b, !c:d\ndo = snapshot=/a b @ c\n",
		"[events]\n\f\ron\f = x\n",
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

		if (rs_event_glob_check(item->glob, NULL) || item->expression || item->trigger)
			abort();
	}
}

/* They come apart again where options are asked. */
static void check_filters(const GPtrArray *items)
{
	for (guint i = 0; i < items->len; i++) {
		const struct rs_profile_item *item = items->pdata[i];
		g_autofree char *text = g_strconcat(item->glob, ": ", item->expression, NULL);
		g_autofree char *glob = NULL, *expression = NULL;
		struct rs_filter_error mistake;

		if (rs_event_glob_check_names(item->glob, NULL) ||
		    rs_filter_check(item->expression, &mistake) ||
		    !rs_filter_split(text, &glob, &expression) || strcmp(glob, item->glob) ||
		    (strcmp(expression, item->expression) && *expression))
			abort();
	}
}

static void check_triggers(const GPtrArray *items)
{
	for (guint i = 0; i < items->len; i++) {
		const struct rs_trigger_text *text =
			((const struct rs_profile_item *)items->pdata[i])->trigger;
		struct rs_filter_error mistake;

		if (rs_event_glob_check_names(text->glob, NULL) || !text->actions->len ||
		    (text->expression && rs_filter_check(text->expression, &mistake)) ||
		    text->count > UINT32_MAX)
			abort();
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
