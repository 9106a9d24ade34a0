/* SPDX-License-Identifier: MIT */
/* On libvirt's own test driver, which runs in this process and has one domain, "test". */
#include "libvirt/domain.h"

#include "libvirt/prepare.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define URI "test:///default"

static struct rs_domain *open_test(const char *name)
{
	struct rs_domain *domain = NULL;
	struct rs_error err = {0};
	int ret = rs_domain_open(URI, name, NULL, 30000, &domain, &err);

	if (ret)
		g_test_message("%s", err.message);
	g_assert_cmpint(ret, ==, 0);
	return domain;
}

static int try_open(const char *uri, const char *name, struct rs_error *err)
{
	struct rs_domain *domain = NULL;
	int ret;

	*err = (struct rs_error){0};
	ret = rs_domain_open(uri, name, NULL, 30000, &domain, err);
	rs_domain_close(domain);
	return ret;
}

static void test_names_ids_and_uuids(void)
{
	struct rs_domain *domain = open_test("test"), *same;
	struct rs_domain_status status = {0};
	g_autofree char *id = NULL;

	g_assert_cmpstr(rs_domain_name(domain), ==, "test");
	g_assert_cmpstr(rs_domain_uri(domain), ==, URI);
	g_assert_false(rs_domain_is_qemu(domain));
	g_assert_true(rs_domain_connected(domain));
	g_assert_cmpint(rs_domain_look(domain, &status, NULL), ==, 0);
	g_assert_cmpint(status.state, ==, RS_DOMAIN_RUNNING);
	g_assert_true(status.persistent);
	same = open_test(rs_domain_uuid(domain));
	g_assert_cmpstr(rs_domain_name(same), ==, "test");
	rs_domain_close(same);
	id = g_strdup_printf("%d", status.id);
	same = open_test(id);
	g_assert_cmpstr(rs_domain_uuid(same), ==, rs_domain_uuid(domain));
	rs_domain_close(same);
	rs_domain_close(domain);
}

static void test_the_xml_of_both_definitions(void)
{
	struct rs_domain *domain = open_test("test");

	for (int inactive = 0; inactive < 2; inactive++) {
		char *xml = NULL;

		g_assert_cmpint(rs_domain_read_xml(domain, inactive, &xml, NULL), ==, 0);
		g_assert_nonnull(strstr(xml, "<name>test</name>"));
		free(xml);
	}
	rs_domain_close(domain);
}

static void test_what_cannot_be_opened(void)
{
	struct rs_error err;

	g_assert_cmpint(try_open(URI, "nobody", &err), ==, -ENOENT);
	g_assert_cmpstr(err.message, ==, "no domain 'nobody' on " URI);
	g_assert_cmpint(try_open(URI, "77", &err), ==, -ENOENT);
	g_assert_cmpint(try_open("qemu+ssh://root@elsewhere/system", "x", &err), ==, -EREMOTE);
	g_assert_cmpint(try_open("qemu+unix:///system?socket=/nonexistent/socket", "x", &err), ==,
			-ECONNREFUSED);
	g_assert_cmpint(try_open("nothing", "x", &err), !=, 0);
}

/* As virsh has it. */
static void test_the_uri_comes_from_the_environment(void)
{
	struct rs_error err;

	g_setenv("LIBVIRT_DEFAULT_URI", URI, TRUE);
	g_assert_cmpint(try_open(NULL, "test", &err), ==, 0);
	g_setenv("VIRSH_DEFAULT_CONNECT_URI", "qemu+ssh://elsewhere/system", TRUE);
	g_assert_cmpint(try_open(NULL, "test", &err), ==, -EREMOTE);
	g_assert_cmpint(try_open(URI, "test", &err), ==, 0);
	g_unsetenv("VIRSH_DEFAULT_CONNECT_URI");
	g_unsetenv("LIBVIRT_DEFAULT_URI");
}

static void test_only_qemu_is_prepared(void)
{
	struct rs_domain *domain = open_test("test");
	struct rs_preparation *done = NULL;
	struct rs_error err = {0};

	g_assert_cmpint(rs_prepare(domain, &(struct rs_prepare_wish){0}, &done, &err), ==,
			-ENOTSUP);
	g_assert_null(done);
	rs_domain_close(domain);
}

struct heard {
	int answers;
	int code;
};

static void on_answer(void *data, const char *reply, const struct rs_error *err)
{
	struct heard *heard = data;

	heard->answers++;
	heard->code = err ? err->code : 0;
	g_assert_null(reply);
}

static void on_changed(void *data, enum rs_domain_change change, const char *detail)
{
}

static void test_an_answer_comes_on_the_callers_thread(void)
{
	GMainContext *context = g_main_context_new();
	struct rs_domain *domain = NULL;
	struct heard heard = {0};

	g_assert_cmpint(rs_domain_open(URI, "test", context, 30000, &domain, NULL), ==, 0);
	g_assert_cmpint(rs_domain_listen(domain, on_changed, NULL, NULL), ==, 0);
	/* This driver has no QEMU, so the answer is an error. */
	g_assert_cmpint(rs_domain_command_async(domain, "{\"execute\": \"x\"}", -1, on_answer,
						&heard, NULL),
			==, 0);
	g_assert_cmpint(heard.answers, ==, 0);
	g_assert_true(rs_domain_wait(domain, 30000));
	g_assert_cmpint(heard.answers, ==, 0);
	while (!heard.answers)
		g_main_context_iteration(context, TRUE);
	g_assert_cmpint(heard.answers, ==, 1);
	g_assert_cmpint(heard.code, !=, 0);
	g_assert_false(rs_domain_take(domain));
	rs_domain_close(domain);
	g_main_context_unref(context);
}

static void test_default_sizes_are_powers_of_two(void)
{
	guint64 last = 0;

	for (guint cpus = 1; cpus < 1024; cpus++) {
		guint64 mib = rs_prepare_default_mib(cpus);

		g_assert_cmpuint(mib & (mib - 1), ==, 0);
		g_assert_cmpuint(mib, >=, last);
		g_assert_cmpuint(mib, <=, 256);
		last = mib;
	}
	g_assert_cmpuint(rs_prepare_default_mib(1), ==, 8);
	g_assert_cmpuint(rs_prepare_default_mib(2), ==, 16);
	g_assert_cmpuint(last, ==, 256);
}

int main(int argc, char **argv)
{
	struct rs_error err;

	g_test_init(&argc, &argv, NULL);
	g_unsetenv("VIRSH_DEFAULT_CONNECT_URI");
	g_unsetenv("LIBVIRT_DEFAULT_URI");
	g_test_add_func("/domain/sizes", test_default_sizes_are_powers_of_two);
	if (try_open(URI, "test", &err) != -ENOPKG) {
		g_test_add_func("/domain/names", test_names_ids_and_uuids);
		g_test_add_func("/domain/xml", test_the_xml_of_both_definitions);
		g_test_add_func("/domain/not-opened", test_what_cannot_be_opened);
		g_test_add_func("/domain/environment", test_the_uri_comes_from_the_environment);
		g_test_add_func("/domain/only-qemu", test_only_qemu_is_prepared);
		g_test_add_func("/domain/answer", test_an_answer_comes_on_the_callers_thread);
	}
	return g_test_run();
}
