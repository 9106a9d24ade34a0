/* SPDX-License-Identifier: MIT */
#include "fake_target.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

struct seen {
	struct fake_target fake;
	uint8_t ram[64];
	char steps[64];
};

static void on_pause(void *data, enum rs_pause_step step)
{
	struct seen *seen = data;

	seen->steps[strlen(seen->steps)] = "asrR"[step];
	/* Before and after the target acts. */
	g_assert_true(seen->fake.paused == (step == RS_PAUSE_STOPPED || step == RS_PAUSE_RESUMING));
}

static struct seen *new_seen(void)
{
	struct seen *seen = g_new0(struct seen, 1);

	fake_target_init(&seen->fake, seen->ram, sizeof(seen->ram));
	seen->fake.base.events = (struct rs_target_events){.data = seen, .pause = on_pause};
	return seen;
}

static void test_steps(void)
{
	g_autofree struct seen *seen = new_seen();
	struct rs_target *target = &seen->fake.base;
	uint64_t paused = 0;

	g_assert_cmpint(rs_target_pause(target, NULL), ==, 0);
	g_usleep(2000);
	g_assert_cmpint(rs_target_resume(target, &paused, NULL), ==, 0);
	g_assert_cmpstr(seen->steps, ==, "asrR");
	g_assert_cmpuint(paused, >=, 2000000);
	target->events.pause = NULL; /* nobody needs to listen */
	g_assert_cmpint(rs_target_pause(target, NULL), ==, 0);
	g_assert_cmpint(rs_target_resume(target, NULL, NULL), ==, 0);
	g_assert_cmpuint(seen->fake.pauses, ==, 2);
}

static bool never_ready(struct rs_target *target)
{
	return false;
}

/* A target that is paused can be paused once more, and one that cannot tell can be paused. */
static void test_ready(void)
{
	g_autofree struct seen *seen = new_seen();
	struct rs_target *target = &seen->fake.base;

	g_assert_true(rs_target_ready(target));
	seen->fake.ops.ready = never_ready;
	g_assert_false(rs_target_ready(target));
	g_assert_cmpint(rs_target_pause(target, NULL), ==, 0);
	g_assert_true(rs_target_ready(target));
	g_assert_cmpint(rs_target_resume(target, NULL, NULL), ==, 0);
	g_assert_false(rs_target_ready(target));
}

static void test_nested(void)
{
	g_autofree struct seen *seen = new_seen();
	struct rs_target *target = &seen->fake.base;

	g_assert_cmpint(rs_target_pause(target, NULL), ==, 0);
	g_assert_cmpint(rs_target_pause(target, NULL), ==, 0);
	g_assert_cmpuint(target->pauses, ==, 2);
	g_assert_cmpint(rs_target_resume(target, NULL, NULL), ==, 0);
	g_assert_cmpstr(seen->steps, ==, "as");
	g_assert_cmpint(rs_target_resume(target, NULL, NULL), ==, 0);
	g_assert_cmpstr(seen->steps, ==, "asrR");
	g_assert_cmpuint(seen->fake.pauses, ==, 1);
	g_assert_cmpuint(seen->fake.resumes, ==, 1);
}

static void test_held(void)
{
	g_autofree struct seen *seen = new_seen();
	struct rs_target *target = &seen->fake.base;

	g_assert_cmpint(rs_target_pause(target, NULL), ==, 0);
	target->held = true;
	g_assert_cmpint(rs_target_resume(target, NULL, NULL), ==, 0);
	/* The guest does not run on, so nobody is told that it does. */
	g_assert_cmpstr(seen->steps, ==, "as");
	g_assert_cmpuint(seen->fake.resumes, ==, 1);
}

static void test_failures(void)
{
	g_autofree struct seen *seen = new_seen();
	struct rs_target *target = &seen->fake.base;

	seen->fake.fail_pause = -EIO;
	g_assert_cmpint(rs_target_pause(target, NULL), ==, -EIO);
	g_assert_cmpuint(target->pauses, ==, 0);
	seen->fake.fail_pause = 0;
	g_assert_cmpint(rs_target_pause(target, NULL), ==, 0);
	seen->fake.fail_resume = -EIO;
	g_assert_cmpint(rs_target_resume(target, NULL, NULL), ==, -EIO);
	g_assert_cmpstr(seen->steps, ==, "aasrs");
	/* Another try really resumes: the failed one did not count. */
	seen->fake.fail_resume = 0;
	g_assert_cmpint(rs_target_resume(target, NULL, NULL), ==, 0);
	g_assert_cmpstr(seen->steps, ==, "aasrsrR");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/target/pause/steps", test_steps);
	g_test_add_func("/target/pause/nested", test_nested);
	g_test_add_func("/target/pause/ready", test_ready);
	g_test_add_func("/target/pause/held", test_held);
	g_test_add_func("/target/pause/failures", test_failures);
	return g_test_run();
}
