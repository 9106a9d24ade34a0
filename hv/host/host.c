/* SPDX-License-Identifier: MIT */
#include "host/host.h"

#include "base/ticks.h"
#include "host/events.h"
#include <errno.h>
#include <ringside/agent.h>
#include <unistd.h>

struct watch {
	struct rs_target_watch watch;
	uint32_t source, first_ring;
	struct watch *next;
};

struct rs_host {
	struct rs_target target; /* first */
	struct rs_moment begun;
	struct watch *watches;
};

extern struct rs_event __start_rs_host_events[] __attribute__((visibility("hidden")));
extern struct rs_event __stop_rs_host_events[] __attribute__((visibility("hidden")));

static struct rs_agent_provider provider;

/* ---- which ring ---- */

static uint32_t session_ring;
/* Of a vCPU's thread: 1 + its ring. 0: any other thread, which is the session's. */
static __thread uint32_t thread_ring;

static uint32_t ring_of_thread(void)
{
	/* Any number of threads may write to one ring, if there are more vCPUs than rings. */
	return thread_ring ? MIN(thread_ring - 1, session_ring) : session_ring;
}

/* ---- the target ---- */

static int host_start(struct rs_target *target, struct rs_error *err)
{
	return 0;
}

static int host_pause(struct rs_target *target, struct rs_error *err)
{
	return rs_error_set(err, EOPNOTSUPP, "it is the host itself");
}

static int host_read(struct rs_target *target, rs_gva_t at, void *out, size_t size,
		     struct rs_error *err)
{
	return rs_error_set(err, EFAULT, "the memory of the host is not read");
}

static uint64_t host_clock_hz(struct rs_target *target)
{
	return rs_ticks_hz(&((struct rs_host *)target)->begun);
}

static uint64_t host_clock_now(struct rs_target *target)
{
	return rs_ticks();
}

/* It ends with the session. */
static void host_stop(struct rs_target *target, const char *why)
{
}

static void host_destroy(struct rs_target *target)
{
	struct rs_host *host = (struct rs_host *)target;

	rs_agent_unregister(&provider);
	rs_agent_fini();
	while (host->watches) {
		struct watch *first = host->watches;

		host->watches = first->next;
		g_free(first);
	}
	g_free(host);
}

static const struct rs_target_ops host_ops = {
	.kind = "host",
	.native = true,
	.writer = "nobody",
	.start = host_start,
	.pause = host_pause,
	.resume = host_pause,
	.read_virt = host_read,
	.clock_hz = host_clock_hz,
	.clock_now = host_clock_now,
	.stop = host_stop,
	.destroy = host_destroy,
};

static int begin_agent(const struct rs_host_config *config, struct rs_error *err)
{
	static const struct rs_trace_ops ops = {.cpu_id = ring_of_thread};
	const struct rs_agent_config agent = {
		.region = config->region,
		.region_size = config->region_size,
		.ops = config->of_cpus ? NULL : &ops,
		.agent = "host " RS_VERSION,
		.name = "host",
		.cpu_count = config->rings,
		.owner_pid = (uint32_t)getpid(),
		.text_pool = config->text_pool,
		.text_pool_size = config->text_pool_size,
	};
	int ret = rs_agent_init(&agent);

	if (ret == -RS_EBUSY)
		return rs_error_set(err, EBUSY,
				    "the events of this process go to another session already");
	if (ret)
		return rs_error_set(err, EPROTO, "the host's own region: %s",
				    rs_agent_strerror(ret));
	provider = (struct rs_agent_provider){.name = "host",
					      .events = __start_rs_host_events,
					      .events_end = __stop_rs_host_events};
	ret = rs_agent_register(&provider);
	if (!ret)
		return 0;
	rs_agent_fini();
	return rs_error_set(err, EPROTO, "the host's own events: %s", rs_agent_strerror(ret));
}

int rs_host_create(const struct rs_host_config *config, struct rs_target **out,
		   struct rs_error *err)
{
	struct rs_host *host;
	int ret = begin_agent(config, err);

	if (ret)
		return ret;
	session_ring = config->rings - 1;
	host = g_new0(struct rs_host, 1);
	host->target.ops = &host_ops;
	host->target.vcpus = config->rings;
	host->target.pid = getpid();
	host->begun = rs_moment_now();
	*out = &host->target;
	return 0;
}

/* ---- exits ---- */

static void on_exit_of_vcpu(void *data, const struct rs_vcpu_exit *exit)
{
	const struct watch *watch = data;

	thread_ring = 1 + watch->first_ring + exit->vcpu;
	rs_emit_host_exit(watch->source, exit->vcpu, exit->reason, exit->at, exit->guest_ns,
			  exit->host_ns);
}

const struct rs_target_watch *rs_host_watch(struct rs_target *target, uint32_t source,
					    uint32_t first_ring)
{
	struct rs_host *host = (struct rs_host *)target;
	struct watch *watch = g_new0(struct watch, 1);

	/* The word stays where it is for as long as the agent is up. */
	watch->watch = (struct rs_target_watch){
		.data = watch,
		.exits = &rs_event_ctl[rs_event_host_exit.id],
		.exit = on_exit_of_vcpu,
	};
	watch->source = source;
	watch->first_ring = first_ring;
	watch->next = host->watches;
	host->watches = watch;
	return &watch->watch;
}

/* ---- the rest: an emit function does nothing while its event is off ---- */

void rs_host_tell_pause(struct rs_target *host, uint32_t source, uint32_t vcpus, uint64_t stop_ns)
{
	if (host)
		rs_emit_host_pause(source, vcpus, stop_ns);
}

void rs_host_tell_resume(struct rs_target *host, uint32_t source, uint32_t vcpus, uint64_t still_ns)
{
	if (host)
		rs_emit_host_resume(source, vcpus, still_ns);
}

void rs_host_tell_batch(struct rs_target *host, uint32_t source, uint32_t sites, uint32_t refused,
			uint64_t pause_ns)
{
	if (host)
		rs_emit_host_batch(source, sites, refused, pause_ns);
}

void rs_host_tell_patch(struct rs_target *host, uint32_t source, uint32_t event, rs_gva_t at,
			enum rs_host_site now)
{
	if (host)
		rs_emit_host_patch(source, event, at.v, now);
}

void rs_host_tell_attach(struct rs_target *host, uint32_t source, const char *name,
			 const char *kind)
{
	if (host)
		rs_emit_host_attach(source, name, kind);
}

void rs_host_tell_boot(struct rs_target *host, uint32_t source, uint32_t boot)
{
	if (host)
		rs_emit_host_boot(source, boot);
}

void rs_host_tell_reset(struct rs_target *host, uint32_t source)
{
	if (host)
		rs_emit_host_reset(source);
}

void rs_host_tell_panic(struct rs_target *host, uint32_t source, const char *why)
{
	if (host)
		rs_emit_host_panic(source, why);
}

void rs_host_tell_detach(struct rs_target *host, uint32_t source, const char *reason)
{
	if (host)
		rs_emit_host_detach(source, reason);
}

void rs_host_tell_fault(struct rs_target *host, uint32_t source, uint32_t number, const char *text,
			enum rs_host_fault state)
{
	if (host)
		rs_emit_host_fault(source, number, text, state);
}

void rs_host_tell_trigger(struct rs_target *host, uint32_t source, uint32_t number,
			  const char *event, const char *action, uint64_t late_ns)
{
	if (host)
		rs_emit_host_trigger(source, number, event, action, late_ns);
}
