/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "rs-trace-dat-kallsyms-private.h"

#include <dlfcn.h>
#include <event-parse.h>
#include <glib.h>

static char *text;

int tep_parse_kallsyms(struct tep_handle *tep, const char *kallsyms)
{
	int (*next)(struct tep_handle *, const char *);

	*(void **)&next = dlsym(RTLD_NEXT, "tep_parse_kallsyms");
	g_free(text);
	text = g_strdup(kallsyms);
	return next ? next(tep, kallsyms) : -1;
}

char *rs_trace_dat_kallsyms_take(void)
{
	return g_steal_pointer(&text);
}
