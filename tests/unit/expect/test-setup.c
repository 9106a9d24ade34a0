/* SPDX-License-Identifier: MIT */
#include "expect/rs-trace-setup.h"

#include <string.h>

static RsTraceSetup *make(const char *text, GError **error)
{
	g_autoptr(RsTraceSpec) spec = rs_trace_spec_new("/usr/a", text, strlen(text), error);
	static const char *const later[] = {"/fixture", NULL};

	return spec ? rs_trace_setup_new(spec, later, error) : NULL;
}

static void test_mistakes(void)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"[guest]\n", ":1: a guest is one of kernel, demo, hosted, domain"},
		{"[guest]\ndemo = false\n", ":1: a guest is one of"},
		{"[guest]\ndemo = true\nhosted = a\n", ":1: a guest is one of"},
		{"[guest]\ndemo = true\nconnect = a\n", ":3: this is for domain and template"},
		{"[guest]\ndomain = a.xml\n", ":2: this is the name of a domain"},
		{"[guest]\ndomain = a\ncpus = 2\n", ":3: this is for a template"},
		{"[guest]\ndomain = a\naccel = tcg\n", ":3: a domain's own XML"},
		{"[guest]\ndomain = a\n[expect x]\nserial = a\n", ":4: the console of a domain"},
		{"[guest]\ntemplate = a.xml\n", ":2: there is no such file"},
		{"[guest]\ntemplate = /fixture/a\n", ":2: the name of a template ends"},
		{"[guest]\ndemo = True\n", ":2: this is none of false, true\n"
					   "    demo = True\n"
					   "           ^~~~"},
		{"[guest]\nkernel = k\n", ":2: there is no such file"},
		{"[guest]\nkernel = /fixtures/k\n", ":2: there is no such file"},
		{"[guest]\ndemo = true\ninitrd = i\n", ":3: there is no such file"},
		{"[guest]\ndemo = true\ncpus = two\n", ":3: this is no number"},
		{"[guest]\ndemo = true\ncpus = 0\n", ":3: this is 1 to 1024"},
		{"[guest]\ndemo = true\nregions = 256\n", ":3: this is 0 to 255"},
		{"[guest]\ndemo = true\naccel = xen\n", ":3: this is none of auto, kvm, tcg"},
		{"[guest]\ndemo = true\nmemory = much\n", ":3: this is no size"},
		{"[guest]\ndemo = true\nmemory = 99999999999G\n", ":3: this is no size"},
		{"[guest]\nhosted = a\nmemory = 1M\n", ":3: this is for kernels"},
		{"[guest]\nhosted = a \"b\n", ":2: "},
		{"[guest]\nhosted = nix\n", ":2: there is no such program"},
		{"[guest]\nhosted =\n", ":2: "},
		{"[guest]\ndemo = true\n[trace]\nenable = a:b; c:d@level=9\n", ":4: "},
		{"[guest]\ndemo = true\n[trace]\nfilter = a:b: c == 1; d:e\n",
		 ":4: this is no GLOB: EXPRESSION\n"
		 "    filter = a:b: c == 1; d:e\n"
		 "                          ^~~"},
		{"[guest]\ndemo = true\n[trace]\nfilter = a:b: c ==\n", ":4: a value is due here\n"
									"    filter = a:b: c ==\n"
									"                      ^"},
		{"[guest]\ndemo = true\n[trace]\nmode = swap\n", ":4: this is none of"},
		{"[guest]\ndemo = true\n[trace]\nloss = some\n", ":4: this is none of"},
		{"[guest]\ndemo = true\n[trace]\nhost = 1\n", ":4: this is none of"},
		{"[guest]\ndemo = true\n[trace]\nring-size = x\n", ":4: this is no size"},
		{"[guest]\ndemo = true\n[trace]\nduration = 1us\n", ":4: a run takes a milli"},
		{"[test]\ntimeout = 0s\n[guest]\ndemo = true\n", ":2: a run takes a milli"},
		{"[test]\nretries = 101\n[guest]\ndemo = true\n", ":2: this is 0 to 100"},
		{"[test]\nboot = twice\n[guest]\ndemo = true\n", ":2: this is none of each, once"},
		{"[test]\ndisk = a\n[guest]\ndemo = true\n", ":2: this is no size"},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		g_autofree char *want = g_strconcat("/usr/a", cases[i].want, NULL);

		g_assert_null(make(cases[i].text, &error));
		g_assert_error(error, RS_TRACE_SPEC_ERROR, RS_TRACE_SPEC_ERROR_WRONG);
		if (!g_str_has_prefix(error->message, want))
			g_assert_cmpstr(error->message, ==, want);
	}
}

/* The arguments with blanks between them. */
static void check_args(const char *text, const char *want)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(RsTraceSetup) setup = make(text, &error);
	g_autofree char *got = NULL;

	g_assert_no_error(error);
	got = g_strjoinv(" ", setup->args);
	g_assert_cmpstr(got, ==, want);
}

static void test_args(void)
{
	check_args("[guest]\ndemo = true\n", "--demo");
	check_args("[guest]\ndemo = true\naccel = tcg\ncpus = 2\nmemory = 64M\nappend = a b\n"
		   "regions = 3\n[trace]\nenable = a:*; b:c\nfilter = a:b: c == 1\nmode = drop\n"
		   "ring-size = 1M\nhost = true\nduration = 1.5s\n",
		   "--cpus 2 --regions 3 --accel tcg --append a b --mem 64M "
		   "--host --mode drop --ring-size 1M --demo");
	/* What a program gets comes last. */
	check_args("[guest]\nhosted = bin/sh 'a b' -c\ncpus = 1\n[test]\ntimeout = 2s\n",
		   "--cpus 1 --hosted /usr/bin/sh a b -c");
	check_args("[guest]\ntemplate = /fixture/a.xml\nconnect = b:///c\nmemory = 64M\ncpus = 2\n",
		   "--cpus 2 --domain /fixture/a.xml --connect b:///c --mem 64M");
	check_args("[guest]\ndomain = a\n", "--domain a");
	check_args("[guest]\nkernel = /fixture/k\ninitrd = /fixture/i\n",
		   "--initrd /fixture/i /fixture/k");
}

static void test_the_rest(void)
{
	g_autoptr(RsTraceSetup) setup =
		make("[test]\ntags = a; b\nsetup = echo \\$x\nteardown = b\nretries = 2\n"
		     "boot = once\ndisk = 2K\nfixtures = f; /g\n[guest]\ndemo = true\n"
		     "accel = kvm\n[trace]\nloss = allowed\nenable = a:b\n"
		     "filter = a:b: c == 1\nduration = 1.5s\n",
		     NULL);

	g_assert_cmpstr(setup->tags[1], ==, "b");
	g_assert_cmpstr(setup->setup, ==, "echo \\$x");
	g_assert_cmpstr(setup->teardown, ==, "b");
	g_assert_cmpstr(setup->fixtures[0], ==, "/usr/f");
	g_assert_cmpstr(setup->fixtures[1], ==, "/g");
	g_assert_cmpuint(setup->retries, ==, 2);
	g_assert_cmpuint(setup->disk, ==, 2048);
	g_assert_true(setup->boot_once && setup->needs_kvm && setup->may_lose);
	g_assert_false(setup->is_program);
	g_assert_cmpstr(setup->enabled[0], ==, "a:b");
	g_assert_cmpstr(setup->filters[0], ==, "a:b: c == 1");
	g_assert_cmpuint(setup->duration_ns, ==, 1500000000);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/setup/mistakes", test_mistakes);
	g_test_add_func("/setup/args", test_args);
	g_test_add_func("/setup/rest", test_the_rest);
	return g_test_run();
}
