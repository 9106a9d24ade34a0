/* SPDX-License-Identifier: MIT */
/* Faults: what they do to a target, when they end, what is recorded, and what is refused. */
#include "session/faults.h"

#include "sham.h"
#include "told.h"
#include <errno.h>
#include <string.h>

#define TEXT 0x100000u  /* of the sham: a site, and then nothing */
#define PLACE 0x103000u /* no event of the tests has a site there */

static const uint8_t returns_m12[] = {0x48, 0xc7, 0xc0, 0xf4, 0xff, 0xff, 0xff, 0xc3};

struct fixture {
	struct rs_session *session;
	struct sham *sham;
	struct rs_source *guest, *host;
	struct rs_target_ops ops;
};

static uint64_t held; /* by the last call of hold(); UINT64_MAX: none */
static int holds, resets;

static int hold(struct rs_target *target, const uint64_t *cpus, struct rs_error *err)
{
	struct sham *sham = (struct sham *)target;

	g_assert_cmpint(sham->pauses, ==, sham->resumes + 1);
	holds++;
	held = cpus ? *cpus : UINT64_MAX;
	return 0;
}

static int reset(struct rs_target *target, struct rs_error *err)
{
	resets++;
	target->events.reset(target->events.data, g_get_monotonic_time());
	return 0;
}

static void set_up(struct fixture *f, gconstpointer plain)
{
	static const char *const sched[] = {"switch", "wakeup", NULL};
	const struct rs_source_config config = {.kernel = "kern"};
	const struct rs_session_host wish = {.ring_bytes = 256 << 10,
					     .ring_mode = RS_MODE_OVERWRITE};

	g_assert_cmpint(rs_session_create("t", &f->session, NULL), ==, 0);
	f->sham = sham_new_with_text(4, RS_CHANNEL_MAILBOX, 4096);
	f->ops = *f->sham->target.ops;
	if (g_strcmp0(plain, "plain")) {
		f->ops.hold = hold;
		f->ops.reset = reset;
	}
	f->sham->target.ops = &f->ops;
	holds = resets = 0;
	g_assert_cmpint(rs_session_add_source(f->session, &config, f->sham->region,
					      &f->sham->target, &f->guest, NULL),
			==, 0);
	g_assert_cmpint(rs_session_add_host(f->session, &wish, NULL), ==, 0);
	f->host = rs_session_source(f->session, 1);
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "host:fault", NULL, NULL), ==,
			0);
	g_assert_cmpint(rs_session_start(f->session, NULL), ==, 0);
	sham_hello(f->sham, 0);
	sham_provider(f->sham, "sched", sched);
	rs_session_refresh(f->session);
}

static void tear_down(struct fixture *f, gconstpointer plain)
{
	rs_session_destroy(f->session);
	g_assert_cmpint(f->sham->pauses, ==, f->sham->resumes);
	sham_free(f->sham);
}

static uint8_t *at(const struct fixture *f, uint32_t address)
{
	return f->sham->text + (address - TEXT);
}

static uint32_t inject(const struct fixture *f, const char *text)
{
	struct rs_error err = {0};
	uint32_t number = 0;

	if (rs_session_inject(f->session, NULL, text, &number, &err))
		g_error("%s: %s", text, err.message);
	g_assert_cmpuint(number, !=, 0);
	return number;
}

static void refuse(const struct fixture *f, const char *text, int code, const char *message)
{
	struct rs_error err = {0};
	uint32_t number;
	int ret = rs_session_inject(f->session, NULL, text, &number, &err);

	if (ret != -code || !strstr(err.message, message))
		g_error("%s: %d %s", text, ret, err.message);
}

/* What was told ends so. */
static void told(const struct fixture *f, const char *end)
{
	g_autofree char *all = told_by(f->host);

	if (!g_str_has_suffix(all, end))
		g_error("got\n%sand not in the end\n%s", all, end);
}

static void wait_for_end(const struct fixture *f)
{
	g_autofree char *all = told_by(f->host);

	while (!g_str_has_suffix(all, "state=end\n")) {
		g_main_context_iteration(NULL, TRUE);
		g_free(all);
		all = told_by(f->host);
	}
}

static void test_pause(struct fixture *f, gconstpointer plain)
{
	inject(f, "pause for=1ms");
	g_assert_cmpint(f->sham->pauses, ==, 1);
	g_assert_cmpint(f->sham->resumes, ==, 0);
	g_assert_cmpint(rs_source_state(f->guest), ==, RS_SESSION_PAUSED);
	told(f, "fault source=1 number=1 fault=\"pause for=1ms\" state=begin\n");
	/* A batch of patches does not end it. */
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "sched:*", NULL, NULL), ==, 0);
	g_assert_true(sham_patched(f->sham, 64));
	g_assert_cmpint(f->sham->resumes, ==, 0);
	wait_for_end(f);
	g_assert_cmpint(f->sham->resumes, ==, 1);
	g_assert_cmpint(rs_source_state(f->guest), ==, RS_SESSION_RUNNING);
	/* Two of them, of which the longer one counts; the end of the session ends both. */
	inject(f, "pause for=600s");
	inject(f, "pause for=500s");
	g_assert_cmpint(f->sham->pauses, ==, 2);
	g_assert_cmpint(rs_session_detach(f->session, NULL), ==, 0);
	told(f, "number=3 fault=\"pause for=500s\" state=end\n");
	f->sham->unstoppable = false;
}

static void test_no_pause(struct fixture *f, gconstpointer plain)
{
	f->sham->unstoppable = true;
	refuse(f, "pause for=1ms", EIO, "it runs away");
	told(f, "number=1 fault=\"pause for=1ms\" state=refused\n");
	refuse(f, "flip at=0x103000 bit=0", EIO, "it runs away");
	refuse(f, "fail function=0x103000 return=0", EIO, "it runs away");
	f->sham->unstoppable = false;
}

static void test_hold(struct fixture *f, gconstpointer plain)
{
	inject(f, "pause cpu=1,3 for=600s");
	g_assert_cmphex(held, ==, 0xa);
	g_assert_cmpint(f->sham->pauses, ==, 1);
	g_assert_cmpint(f->sham->resumes, ==, 1);
	g_assert_cmpint(rs_source_state(f->guest), ==, RS_SESSION_RUNNING);
	inject(f, "pause cpu=2 for=1ms");
	g_assert_cmphex(held, ==, 0xe);
	refuse(f, "pause cpu=0 for=1ms", EBUSY, "stand still already");
	refuse(f, "pause cpu=0,1,2,3 for=1ms", EINVAL, "leave cpu out");
	refuse(f, "pause cpu=4 for=1ms", EINVAL, "there is no vCPU 4: there are 4");
	g_assert_cmpint(holds, ==, 2);
	g_assert_cmphex(held, ==, 0xe);
	/* The first one lasts. If the target cannot be stopped then, that is tried again. */
	f->sham->unstoppable = true;
	while (rs_session_state(f->session) == RS_SESSION_RUNNING && held == 0xe) {
		g_main_context_iteration(NULL, TRUE);
		f->sham->unstoppable = false;
	}
	g_assert_cmphex(held, ==, 0xa);
	told(f, "number=2 fault=\"pause cpu=2 for=1ms\" state=end\n");
	/* A reset does not end it, but the fault does. */
	inject(f, "reboot");
	g_assert_cmpint(resets, ==, 1);
	g_assert_cmphex(held, ==, UINT64_MAX);
}

static void test_flip(struct fixture *f, gconstpointer plain)
{
	static const uint8_t flipped[] = {0x02, 0x01, 0x00, 0x80};

	inject(f, "flip at=0x103000 mask=0x80000102");
	g_assert_cmpmem(at(f, PLACE), 4, flipped, sizeof(flipped));
	g_assert_cmpint(f->sham->pauses, ==, 1);
	told(f, "fault source=1 number=1 fault=\"flip at=0x103000 mask=0x80000102\" "
		"state=begin\n");
	inject(f, "flip at=0x103003 bit=7");
	g_assert_cmphex(at(f, PLACE)[3], ==, 0);
	refuse(f, "flip at=0x10 bit=7", EFAULT, "no memory");
	refuse(f, "flip phys=0x103000 bit=7", ENOTSUP, "no physical addresses");
	refuse(f, "flip at=nix bit=7", ENOTSUP, "names of places are not known");
	f->sham->read_only = true;
	refuse(f, "flip at=0x103003 bit=7", EACCES, "engraved");
	g_assert_cmphex(at(f, PLACE)[3], ==, 0);
}

static void test_fail_function(struct fixture *f, gconstpointer plain)
{
	static const uint8_t nothing[sizeof(returns_m12)];

	inject(f, "fail function=0x103000 return=-12 for=1ms");
	g_assert_cmpmem(at(f, PLACE), 8, returns_m12, sizeof(returns_m12));
	refuse(f, "fail function=0x102ffc return=0", EEXIST, "patched already");
	wait_for_end(f);
	g_assert_cmpmem(at(f, PLACE), 8, nothing, sizeof(nothing));
	/* What others wrote there meanwhile is theirs. */
	inject(f, "fail function=0x103000 return=-12");
	at(f, PLACE)[7] = 0x90;
	g_assert_cmpint(rs_session_detach(f->session, NULL), ==, 0);
	g_assert_cmphex(at(f, PLACE)[7], ==, 0x90);
	g_assert_cmphex(at(f, PLACE)[0], ==, 0x48);
}

/* A site at the entry stays as it is, and can be switched. */
static void test_site_at_entry(struct fixture *f, gconstpointer plain)
{
	inject(f, "fail function=0x100000 return=-12");
	g_assert_cmpmem(at(f, TEXT + 5), 8, returns_m12, sizeof(returns_m12));
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "sched:*", NULL, NULL), ==, 0);
	g_assert_true(sham_patched(f->sham, 64));
	/* One that is on is a jump, which belongs to the function's code as far as we know. */
	refuse(f, "fail function=0x100040 return=0", EEXIST, "a tracepoint lies there");
	g_assert_cmpint(rs_session_detach(f->session, NULL), ==, 0);
	g_assert_false(sham_patched(f->sham, 64));
	g_assert_cmphex(at(f, TEXT + 5)[0], ==, 0x90);
}

/* Its text is as it was loaded then: nobody writes it. */
static void test_reset(struct fixture *f, gconstpointer plain)
{
	inject(f, "fail function=0x103000 return=-12");
	memset(at(f, PLACE), 0, 8);
	inject(f, "reboot");
	told(f, "state=end\n0 fault source=1 number=2 fault=\"reboot\" state=begin\n");
	sham_hello(f->sham, 0);
	rs_session_refresh(f->session);
	inject(f, "fail function=0x103000 return=-12");
	g_assert_cmpmem(at(f, PLACE), 8, returns_m12, sizeof(returns_m12));
}

static void test_ends(struct fixture *f, gconstpointer plain)
{
	inject(f, "pause for=600s");
	inject(f, "nmi");
	g_assert_cmpint(f->sham->nudges, ==, 1);
	g_assert_cmpuint(f->sham->nudge_vector, ==, 0);
	inject(f, "kill");
	g_assert_cmpint(rs_source_end(f->guest)->reason, ==, RS_END_KILLED);
	g_assert_cmpstr(rs_source_end(f->guest)->text, ==, RS_FAULT_KILL_WHY);
	told(f, "number=1 fault=\"pause for=600s\" state=end\n"
		"0 fault source=1 number=3 fault=\"kill\" state=begin\n");
	refuse(f, "nmi", ESHUTDOWN, "has ended");
}

static void test_dies_meanwhile(struct fixture *f, gconstpointer what)
{
	struct rs_error err = {0};
	uint32_t number;

	f->sham->dying = true;
	rs_session_inject(f->session, NULL, what, &number, &err);
	g_assert_nonnull(rs_source_end(f->guest));
	refuse(f, what, ESHUTDOWN, "has ended");
	f->sham->resumes = f->sham->pauses;
}

static void test_dies_at_its_end(struct fixture *f, gconstpointer plain)
{
	inject(f, "pause cpu=1 for=600s");
	inject(f, "fail function=0x103000 return=-12");
	inject(f, "pause cpu=2 for=1ms");
	f->sham->dying = true;
	while (!rs_source_end(f->guest))
		g_main_context_iteration(NULL, TRUE);
	f->sham->resumes = f->sham->pauses;
}

static void test_refused(struct fixture *f, gconstpointer plain)
{
	struct rs_error err = {0};
	uint32_t number = 9;

	refuse(f, "pause cpu=1 for=1ms", ENOTSUP, "leave cpu out");
	refuse(f, "reboot", ENOTSUP, "cannot be reset");
	refuse(f, "fail syscall=nix error=1", EINVAL, "its number is due");
	refuse(f, "fail syscall=1 error=1", ENOTSUP, "");
	g_assert_cmpint(rs_session_inject(f->session, f->host, "kill", &number, &err), ==,
			-ENOTSUP);
	g_assert_cmpuint(number, ==, 5);
	/* What is no fault has no number. */
	g_assert_cmpint(rs_session_inject(f->session, NULL, "nix", &number, &err), ==, -EINVAL);
	g_assert_cmpuint(number, ==, 0);
	f->ops.borrowed = true;
	refuse(f, "kill", ENOTSUP, "not ours to end");
	f->ops.borrowed = false;
	f->ops.write_text = NULL;
	refuse(f, "flip at=0x103000 bit=1", ENOTSUP, "cannot be written");
	refuse(f, "fail function=0x103000 return=1", ENOTSUP, "cannot be written");
	for (guint i = 0; i < RS_FAULTS_MAX; i++)
		inject(f, "pause for=600s");
	refuse(f, "pause for=600s", ENOSPC, "64 faults last already");
}

#define ADD(name, data, test)                                                                      \
	g_test_add("/faults/" name, struct fixture, data, set_up, test, tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("pause", NULL, test_pause);
	ADD("no-pause", NULL, test_no_pause);
	ADD("hold", NULL, test_hold);
	ADD("flip", NULL, test_flip);
	ADD("fail-function", NULL, test_fail_function);
	ADD("site-at-entry", NULL, test_site_at_entry);
	ADD("reset", NULL, test_reset);
	ADD("ends", NULL, test_ends);
	ADD("dies/pause", "pause for=1ms", test_dies_meanwhile);
	ADD("dies/hold", "pause cpu=1 for=1ms", test_dies_meanwhile);
	ADD("dies/flip", "flip at=0x103000 bit=1", test_dies_meanwhile);
	ADD("dies/fail", "fail function=0x103000 return=-12", test_dies_meanwhile);
	ADD("dies/at-its-end", NULL, test_dies_at_its_end);
	ADD("refused", "plain", test_refused);
	return g_test_run();
}
