/* SPDX-License-Identifier: MIT */
/* vCPUs that wait for the session are served one at a time, in turn. No KVM is needed. */
#include "vmm/internal.h"

#include <glib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define VCPUS 64u

struct fixture {
	struct rs_vmm vmm;
	struct rs_vcpu vcpus[VCPUS];
	GArray *served; /* of uint32_t: slots */
	uint32_t ends;  /* the slot whose request ends the guest */
};

static bool on_hypercall(void *data, uint32_t slot, struct rs_target_end *end)
{
	struct fixture *f = data;

	g_array_append_val(f->served, slot);
	*end = (struct rs_target_end){.reason = RS_END_EXIT, .code = 7};
	return slot == f->ends;
}

static void set_up(struct fixture *f, gconstpointer data)
{
	f->served = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	f->ends = UINT32_MAX;
	f->vmm.target.vcpus = VCPUS;
	f->vmm.target.events = (struct rs_target_events){.data = f, .hypercall = on_hypercall};
	f->vmm.vcpu = f->vcpus;
	f->vmm.wake_fd = eventfd(0, EFD_NONBLOCK);
	pthread_mutex_init(&f->vmm.lock, NULL);
	pthread_cond_init(&f->vmm.go, NULL);
	for (uint32_t i = 0; i < VCPUS; i++)
		f->vcpus[i] = (struct rs_vcpu){.vmm = &f->vmm, .index = i};
}

static void tear_down(struct fixture *f, gconstpointer data)
{
	close(f->vmm.wake_fd);
	pthread_cond_destroy(&f->vmm.go);
	pthread_mutex_destroy(&f->vmm.lock);
	g_array_unref(f->served);
}

/* As the thread of the vCPU does, which then waits. */
static void ring(struct fixture *f, uint32_t vcpu)
{
	f->vcpus[vcpu].call_slot = vcpu;
	f->vcpus[vcpu].call_pending = true;
	rs_vmm_wake(&f->vmm);
}

/* As the main loop does. Returns whether the session had been woken. */
static bool dispatch(struct fixture *f)
{
	uint64_t count;

	if (read(f->vmm.wake_fd, &count, sizeof(count)) != sizeof(count))
		return false;
	rs_vmm_serve_call(&f->vmm);
	return true;
}

static uint32_t served(const struct fixture *f, guint i)
{
	g_assert_cmpuint(i, <, f->served->len);
	return g_array_index(f->served, uint32_t, i);
}

static void test_one_each(struct fixture *f, gconstpointer data)
{
	for (uint32_t i = 0; i < VCPUS; i++)
		ring(f, i);
	for (uint32_t i = 0; i < VCPUS; i++) {
		g_assert_true(dispatch(f));
		g_assert_cmpuint(f->served->len, ==, i + 1);
		g_assert_cmpuint(served(f, i), ==, i);
		g_assert_false(f->vcpus[i].call_pending);
	}
	g_assert_false(dispatch(f));
}

/* Two that ring at once again, as often as they are served, do not keep a third one waiting. */
static void test_round(struct fixture *f, gconstpointer data)
{
	ring(f, 3);
	ring(f, 60);
	ring(f, 5);
	for (guint i = 0; i < 9; i++) {
		static const uint32_t order[] = {3, 5, 60};

		g_assert_true(dispatch(f));
		g_assert_cmpuint(served(f, i), ==, order[i % 3]);
		ring(f, served(f, i));
	}
}

/* Once the guest ends nobody else is served. */
static void test_end(struct fixture *f, gconstpointer data)
{
	f->ends = 1;
	for (uint32_t i = 0; i < 4; i++)
		ring(f, i);
	while (dispatch(f))
		;
	g_assert_cmpuint(f->served->len, ==, 2);
	g_assert_true(f->vmm.ending);
	g_assert_cmpint(f->vmm.end.code, ==, 7);
	g_assert_false(f->vcpus[1].call_pending);
	g_assert_true(f->vcpus[2].call_pending);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add("/hcall/one-each", struct fixture, NULL, set_up, test_one_each, tear_down);
	g_test_add("/hcall/round", struct fixture, NULL, set_up, test_round, tear_down);
	g_test_add("/hcall/end", struct fixture, NULL, set_up, test_end, tear_down);
	return g_test_run();
}
