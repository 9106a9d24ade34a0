/* SPDX-License-Identifier: MIT */
#include "cli/options.h"

#include <stdbool.h>
#include <string.h>

/* The option of this letter; NULL: there is none. */
static const GOptionEntry *by_letter(const GOptionEntry *entries, char letter)
{
	for (; entries && entries->long_name; entries++)
		if (entries->short_name == letter)
			return entries;
	return NULL;
}

static bool takes_value(const GOptionEntry *entry)
{
	if (entry->arg == G_OPTION_ARG_CALLBACK)
		return !(entry->flags & (G_OPTION_FLAG_NO_ARG | G_OPTION_FLAG_OPTIONAL_ARG));
	return entry->arg != G_OPTION_ARG_NONE;
}

/* How many bytes of "-abc" are letters, up to the first that takes a value; 0: it is no option. */
static size_t letters_of(const GOptionEntry *entries, const char *arg, bool *value)
{
	*value = false;
	if (arg[0] != '-' || arg[1] == '-')
		return 0;
	for (size_t i = 1; arg[i]; i++) {
		const GOptionEntry *entry = by_letter(entries, arg[i]);

		if (!entry)
			return 0;
		*value = takes_value(entry);
		if (*value)
			return i + 1;
	}
	return 0;
}

static char *intern(const char *text, size_t size)
{
	g_autofree char *copy = g_strndup(text, size);

	return (char *)g_intern_string(copy);
}

static bool has_option(const GOptionEntry *entries, const char *name)
{
	for (; entries && entries->long_name; entries++)
		if (strcmp(entries->long_name, name) == 0)
			return true;
	return false;
}

static bool is_number(const char *text)
{
	return *text && !text[strspn(text, "0123456789")];
}

char **rs_cli_split_values(const GOptionEntry *entries, int argc, char **argv)
{
	GPtrArray *out = g_ptr_array_new();
	int i = 0;

	for (; i < argc && strcmp(argv[i], "--"); i++) {
		bool value;

		if (strcmp(argv[i], "--stack") == 0 && has_option(entries, "stack")) {
			if (i + 1 < argc &&
			    is_number(argv[i + 1])) /* no event, kernel or program is called so */
				g_ptr_array_add(out, argv[i]);
			else
				g_ptr_array_add(out, (char *)RS_CLI_STACK_USUAL);
			continue;
		}
		const size_t letters = i ? letters_of(entries, argv[i], &value) : 0;

		if (!letters || !argv[i][letters]) {
			g_ptr_array_add(out, argv[i]);
			/* What follows is its value, whatever it looks like. */
			if (letters && i + 1 < argc)
				g_ptr_array_add(out, argv[++i]);
			continue;
		}
		g_ptr_array_add(out, intern(argv[i], letters));
		g_ptr_array_add(out, argv[i] + letters);
	}
	for (; i < argc; i++)
		g_ptr_array_add(out, argv[i]);
	g_ptr_array_add(out, NULL);
	return (char **)g_ptr_array_free(out, FALSE);
}
