/* SPDX-License-Identifier: MIT */
/*
 * What the verbs share, and how they take their arguments. No session runs: the runtime directory
 * is empty.
 */
#include "cli/verb.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <unistd.h>

static void test_codes(void)
{
	static const struct {
		int error, code;
	} cases[] = {
		{ENOENT, RS_CLI_NOT_FOUND}, {EINVAL, RS_CLI_USAGE}, {EBADMSG, RS_CLI_USAGE},
		{EIO, RS_CLI_FAILED},       {EPERM, RS_CLI_FAILED}, {ESHUTDOWN, RS_CLI_FAILED},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct rs_error err = {0};

		rs_error_set(&err, cases[i].error, "an expected complaint");
		g_assert_cmpint(rs_cli_fail_error(&err), ==, cases[i].code);
	}
}

struct parsed {
	char **argv, **copy, **kept;
	int argc, code;
	bool go_on;
	char *name;
	gboolean quiet;
};

/* Takes `line` apart as a shell does, and hands it to rs_cli_parse. */
static void parse(struct parsed *p, const char *line)
{
	static const struct rs_verb verb = {.name = "verb", .args = "ARGS", .summary = "a test"};
	const GOptionEntry options[] = {
		{"session", 's', 0, G_OPTION_ARG_STRING, &p->name, "The session", "NAME"},
		{"quiet", 'q', 0, G_OPTION_ARG_NONE, &p->quiet, "Say nothing", NULL},
		{0}};

	*p = (struct parsed){.code = -1};
	g_assert_true(g_shell_parse_argv(line, &p->argc, &p->kept, NULL));
	p->argv = p->copy = g_memdup2(p->kept, ((gsize)p->argc + 1) * sizeof(*p->kept));
	p->go_on = rs_cli_parse(&verb, options, &p->argc, &p->argv, &p->code);
}

static void forget(struct parsed *p)
{
	g_strfreev(p->kept);
	g_free(p->copy);
	g_free(p->name);
}

static void test_parse(void)
{
	struct parsed p;

	parse(&p, "verb 'sched:*' -q -s demo last");
	g_assert_true(p.go_on);
	g_assert_true(p.quiet);
	g_assert_cmpstr(p.name, ==, "demo");
	g_assert_cmpint(p.argc, ==, 3);
	g_assert_cmpstr(p.argv[1], ==, "sched:*");
	g_assert_cmpstr(p.argv[2], ==, "last");
	forget(&p);

	/* What follows "--" is no option, and "--" itself is gone. */
	parse(&p, "verb -- -q --session");
	g_assert_true(p.go_on);
	g_assert_false(p.quiet);
	g_assert_cmpint(p.argc, ==, 3);
	g_assert_cmpstr(p.argv[1], ==, "-q");
	g_assert_cmpstr(p.argv[2], ==, "--session");
	g_assert_null(p.argv[3]);
	forget(&p);

	parse(&p, "verb --no-such-option");
	g_assert_false(p.go_on);
	g_assert_cmpint(p.code, ==, RS_CLI_USAGE);
	forget(&p);

	parse(&p, "verb -s");
	g_assert_false(p.go_on);
	g_assert_cmpint(p.code, ==, RS_CLI_USAGE);
	forget(&p);
}

static void test_json_values(void)
{
	g_autoptr(JsonBuilder) b = json_builder_new();
	g_autoptr(JsonNode) root = NULL;
	g_autofree char *text = NULL;
	static const char *const types[] = {"t", "u", "i", "b", "s", "ay"};
	static const char *const values[] = {"7", "4294967295", "-3", "true", "'a\"b'", "[1]"};

	json_builder_begin_object(b);
	for (size_t i = 0; i < G_N_ELEMENTS(types); i++) {
		g_autoptr(GVariant) value =
			g_variant_parse(G_VARIANT_TYPE(types[i]), values[i], NULL, NULL, NULL);

		rs_cli_add_variant(b, types[i], value);
	}
	json_builder_end_object(b);
	root = json_builder_get_root(b);
	text = json_to_string(root, FALSE);
	g_assert_cmpstr(
		text, ==,
		"{\"t\":7,\"u\":4294967295,\"i\":-3,\"b\":true,\"s\":\"a\\\"b\",\"ay\":null}");
}

static const struct rs_verb *const verbs[] = {
	&rs_verb_run,     &rs_verb_attach,   &rs_verb_ps,     &rs_verb_list,  &rs_verb_enable,
	&rs_verb_disable, &rs_verb_filter,   &rs_verb_format, &rs_verb_trace, &rs_verb_kdump,
	&rs_verb_record,  &rs_verb_snapshot, &rs_verb_report, &rs_verb_diff,  &rs_verb_stat,
	&rs_verb_ring,    &rs_verb_pause,    &rs_verb_resume, &rs_verb_stop,
};

/*
 * The exit code of `ringside LINE`, its standard output kept out of ours, which is the test's
 * protocol.
 */
static int run(const char *line)
{
	int saved, null = open("/dev/null", O_WRONLY | O_CLOEXEC), code = -1, argc;
	g_auto(GStrv) words = NULL;
	g_autofree char **argv = NULL;

	g_assert_true(g_shell_parse_argv(line, &argc, &words, NULL));
	argv = g_memdup2(words, ((gsize)argc + 1) * sizeof(*words));
	fflush(stdout);
	saved = dup(STDOUT_FILENO);
	dup2(null, STDOUT_FILENO);
	for (size_t i = 0; i < G_N_ELEMENTS(verbs); i++)
		if (strcmp(words[0], verbs[i]->name) == 0)
			code = verbs[i]->run(verbs[i], argc, argv);
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	close(null);
	return code;
}

static void test_exit_codes(void)
{
	static const struct {
		const char *line;
		int code;
	} cases[] = {
		{"run", RS_CLI_USAGE},
		{"run a b", RS_CLI_USAGE},
		{"run --demo kernel", RS_CLI_USAGE},
		{"run --hosted", RS_CLI_USAGE},
		{"run --demo --hosted true", RS_CLI_USAGE},
		{"run kernel --hosted true", RS_CLI_USAGE},
		{"run --mem 1G --hosted true", RS_CLI_USAGE},
		{"run --accel tcg --hosted true", RS_CLI_USAGE},
		{"run --serial none --hosted true", RS_CLI_USAGE},
		{"run --cpus 1025 kernel", RS_CLI_USAGE},
		{"run --cpus -1 kernel", RS_CLI_USAGE},
		{"run --count -1 kernel", RS_CLI_USAGE},
		{"run --duration -1 kernel", RS_CLI_USAGE},
		{"run --duration nan kernel", RS_CLI_USAGE},
		{"trace --duration 1e9", RS_CLI_USAGE},
		{"run -z 1 kernel", RS_CLI_USAGE},
		{"run -o - kernel", RS_CLI_USAGE},
		{"run --background -o - kernel", RS_CLI_USAGE},
		{"run --background -n 1 kernel", RS_CLI_USAGE},
		{"run --background --stay kernel", RS_CLI_USAGE},
		{"run --stay -q kernel", RS_CLI_USAGE},
		{"run --stay --text x kernel", RS_CLI_USAGE},
		{"run --stay --core x --core-late --duration 1 kernel", RS_CLI_USAGE},
		{"run --log x kernel", RS_CLI_USAGE},
		{"run -o x --rotate 10 kernel", RS_CLI_USAGE},
		{"record --max-size 1K", RS_CLI_USAGE},
		{"record --rotate 1e99s", RS_CLI_USAGE},
		{"record --rotate 1M --keep -1", RS_CLI_USAGE},
		{"record --keep 3", RS_CLI_USAGE},
		{"record --on never", RS_CLI_USAGE},
		{"record --after nan --on panic", RS_CLI_USAGE},
		{"record --snapshots 3", RS_CLI_USAGE},
		{"snapshot -z 20", RS_CLI_USAGE},
		{"attach --duration 1e9 nobody", RS_CLI_USAGE},
		{"attach --duration 0 --count 0 --new nobody", RS_CLI_FAILED},
		{"run --mem lots kernel", RS_CLI_USAGE},
		{"run --ring-size -1 kernel", RS_CLI_USAGE},
		{"run --mode never kernel", RS_CLI_USAGE},
		{"run /no/such/kernel", RS_CLI_FAILED},
		/* Behind "--" it is a file's name. */
		{"run -- --hosted", RS_CLI_FAILED},
		/* The program's own option, not ours. */
		{"run --hosted /no/such/program --no-such-option", RS_CLI_FAILED},
		{"attach", RS_CLI_USAGE},
		{"attach --count -1 x", RS_CLI_USAGE},
		{"attach nobody", RS_CLI_FAILED}, /* it might be a domain */
		{"ps", RS_CLI_OK},
		{"ps --json", RS_CLI_OK},
		{"ps x", RS_CLI_USAGE},
		{"list", RS_CLI_NOT_FOUND},
		{"list -s nobody", RS_CLI_NOT_FOUND},
		{"enable", RS_CLI_USAGE},
		{"enable '*'", RS_CLI_NOT_FOUND},
		{"disable", RS_CLI_USAGE},
		{"disable '*'", RS_CLI_NOT_FOUND},
		{"filter", RS_CLI_USAGE},
		{"filter 'a: b == 1'", RS_CLI_NOT_FOUND},
		{"format", RS_CLI_USAGE},
		{"format a b c", RS_CLI_USAGE},
		{"format a", RS_CLI_NOT_FOUND},
		{"trace --count -1", RS_CLI_USAGE},
		{"trace nobody", RS_CLI_NOT_FOUND},
		{"kdump", RS_CLI_NOT_FOUND},
		{"kdump nobody", RS_CLI_NOT_FOUND},
		{"kdump -dHlnRTXx -m 0 -p 1 -t ceinpstuwxX+ -s nobody", RS_CLI_NOT_FOUND},
		{"kdump -TR -u label nobody", RS_CLI_NOT_FOUND},
		{"kdump -t z nobody", RS_CLI_USAGE},
		{"kdump -t ''", RS_CLI_USAGE},
		{"kdump -m -1", RS_CLI_USAGE},
		{"kdump -p 0", RS_CLI_USAGE},
		{"kdump -p 4294967296", RS_CLI_USAGE},
		{"kdump --count -1", RS_CLI_USAGE},
		{"kdump --calls /no/such/file", RS_CLI_FAILED},
		{"stat", RS_CLI_NOT_FOUND},
		{"pause", RS_CLI_NOT_FOUND},
		{"ring", RS_CLI_NOT_FOUND},
		{"ring --mode drop", RS_CLI_NOT_FOUND},
		{"ring --mode other", RS_CLI_USAGE},
		{"ring --clear", RS_CLI_NOT_FOUND},
		{"resume", RS_CLI_NOT_FOUND},
		{"stop", RS_CLI_NOT_FOUND},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		int code = run(cases[i].line);

		if (code != cases[i].code)
			g_error("ringside %s: %d, not %d", cases[i].line, code, cases[i].code);
	}
}

static void test_help(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(verbs); i++) {
		g_autofree char *line = g_strdup_printf("%s --help", verbs[i]->name);

		g_assert_cmpint(run(line), ==, RS_CLI_OK);
	}
}

/* A guest claims any count. JSON's consumers see 64 bits with a sign: a count is never negative. */
static void test_number(void)
{
	static const struct {
		uint64_t value;
		const char *json;
	} cases[] = {
		{0, "{\"n\":0}"},
		{G_MAXINT64, "{\"n\":9223372036854775807}"},
		{(uint64_t)G_MAXINT64 + 1, "{\"n\":9223372036854775807}"},
		{UINT64_MAX, "{\"n\":9223372036854775807}"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(JsonBuilder) builder = json_builder_new();
		g_autoptr(JsonNode) root = NULL;
		g_autoptr(GVariant) value =
			g_variant_ref_sink(g_variant_new_uint64(cases[i].value));
		g_autofree char *text = NULL;

		json_builder_begin_object(builder);
		rs_cli_add_variant(builder, "n", value);
		json_builder_end_object(builder);
		root = json_builder_get_root(builder);
		text = json_to_string(root, FALSE);
		g_assert_cmpstr(text, ==, cases[i].json);
	}
}

int main(int argc, char **argv)
{
	g_autofree char *dir = g_dir_make_tmp("ringside-cli-XXXXXX", NULL);
	g_autofree char *own = g_build_filename(dir, "ringside", NULL);
	int ret;

	g_test_init(&argc, &argv, NULL);
	g_setenv("XDG_RUNTIME_DIR", dir, TRUE);
	/* No daemon answers there. */
	g_setenv("LIBVIRT_DEFAULT_URI", "qemu+unix:///session?socket=/nonexistent", TRUE);
	g_unsetenv("VIRSH_DEFAULT_CONNECT_URI");
	g_test_add_func("/cli/verb/codes", test_codes);
	g_test_add_func("/cli/verb/parse", test_parse);
	g_test_add_func("/cli/verb/json-values", test_json_values);
	g_test_add_func("/cli/verb/exit-codes", test_exit_codes);
	g_test_add_func("/cli/verb/help", test_help);
	g_test_add_func("/cli/verb/number", test_number);
	ret = g_test_run();
	g_rmdir(own);
	g_rmdir(dir);
	return ret;
}
