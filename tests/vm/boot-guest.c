/* SPDX-License-Identifier: MIT */
/*
 * boot-guest KERNEL [CMDLINE]: boots a kernel in our VMM with a region. Prints its serial output,
 * its requests and its end. A tool for developers of guests; --help lists its options. Exit code:
 * the guest's, or 4 for an abnormal end.
 */
#include "region/regions.h"
#include "session/slots.h"
#include "vmm/vmm.h"

#include <glib-unix.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct boot {
	struct rs_target *target;
	struct rs_slots *slots;
	uint64_t requests, bad;
	GMainLoop *loop;
	int code;
};

static bool on_hypercall(void *data, uint32_t slot, struct rs_target_end *end)
{
	struct boot *boot = data;
	struct rs_hcall_response response = {0};
	struct rs_hcall_request request;
	struct rs_ticket ticket;
	g_autofree char *text = NULL, *shown = NULL;

	boot->requests++;
	if (rs_slots_take(boot->slots, slot, &request, &ticket)) {
		boot->bad++;
		return false;
	}
	/* Nobody has commands for the guest, and it may ask again and again. */
	if (request.number == RS_HCALL_COMMAND) {
		response.result = -RS_ENOSYS;
		rs_slots_answer(boot->slots, &ticket, &response);
		return false;
	}
	text = g_strndup((const char *)request.data, request.data_size);
	shown = g_strescape(text, NULL);
	fprintf(stderr, "[request %u in slot %u: args 0x%" PRIx64 " 0x%" PRIx64 " '%s']\n",
		request.number, slot, request.args[0], request.args[1], shown);
	rs_slots_answer(boot->slots, &ticket, &response);
	return rs_request_ends(&request, end);
}

static void on_ended(void *data, const struct rs_target_end *end)
{
	static const char *const names[] = {"exit",   "panic", "triple fault", "reset",
					    "killed", "gone",  "fault"};
	struct boot *boot = data;
	g_autofree char *shown = g_strescape(end->text, NULL);

	fprintf(stderr, "[end: %s, code %d: %s]\n", names[end->reason], end->code, shown);
	boot->code = end->reason == RS_END_EXIT ? end->code : 4;
	g_main_loop_quit(boot->loop);
}

static gboolean on_timeout(gpointer data)
{
	struct boot *boot = data;

	boot->target->ops->stop(boot->target, "time is up");
	return G_SOURCE_REMOVE;
}

static gboolean on_interrupt(gpointer data)
{
	struct boot *boot = data;

	boot->target->ops->stop(boot->target, "interrupted");
	return G_SOURCE_CONTINUE;
}

static int boot_guest(struct rs_vmm_config *config, uint64_t ring_bytes, int seconds)
{
	struct rs_region_config layout = {.vcpus = config->vcpus,
					  .ring_bytes = ring_bytes,
					  .hcall_channel = RS_CHANNEL_PORT,
					  .hcall_addr = RS_HCALL_PORT,
					  .doorbell_channel = RS_CHANNEL_PORT,
					  .doorbell_addr = RS_DOORBELL_PORT};
	struct boot boot = {.code = 1};
	struct rs_target_stats stats;
	RsTraceRegion *region;
	struct rs_error err = {0};

	if (rs_region_create(&layout, &region, &err))
		goto fail;
	config->regions_fd = region->fd;
	if (rs_vmm_create(config, &boot.target, &err)) {
		rs_trace_region_free(region);
		goto fail;
	}
	boot.slots = rs_slots_create(region);
	boot.loop = g_main_loop_new(NULL, FALSE);
	boot.target->events = (struct rs_target_events){
		.data = &boot, .hypercall = on_hypercall, .ended = on_ended};
	if (seconds)
		g_timeout_add_seconds((guint)seconds, on_timeout, &boot);
	g_unix_signal_add(SIGINT, on_interrupt, &boot);
	if (boot.target->ops->start(boot.target, &err))
		fprintf(stderr, "boot-guest: %s\n", err.message);
	else
		g_main_loop_run(boot.loop);
	boot.target->ops->stats(boot.target, &stats);
	fprintf(stderr,
		"[exits %" PRIu64 " (KVM counts %" PRIu64 "), requests %" PRIu64 " (%" PRIu64
		" bad), doorbells %" PRIu64 "]\n",
		stats.exits, stats.kvm_exits, boot.requests, boot.bad, stats.doorbells);
	boot.target->ops->destroy(boot.target);
	g_main_loop_unref(boot.loop);
	rs_slots_destroy(boot.slots);
	rs_trace_region_free(region);
	return boot.code;
fail:
	fprintf(stderr, "boot-guest: %s\n", err.message);
	return 1;
}

int main(int argc, char **argv)
{
	int cpus = 1, mib = 64, seconds = 0, ring_kib = 256;
	g_autofree char *initrd = NULL;
	const GOptionEntry options[] = {
		{"cpus", 'c', 0, G_OPTION_ARG_INT, &cpus, "vCPUs (1)", "N"},
		{"mem", 'm', 0, G_OPTION_ARG_INT, &mib, "memory in MiB (64)", "N"},
		{"initrd", 'i', 0, G_OPTION_ARG_FILENAME, &initrd, "PVH module 0", "FILE"},
		{"ring", 'r', 0, G_OPTION_ARG_INT, &ring_kib, "KiB of ring a vCPU (256)", "N"},
		{"seconds", 's', 0, G_OPTION_ARG_INT, &seconds, "stop after", "N"},
		{0}};
	g_autoptr(GOptionContext) context = g_option_context_new("KERNEL [CMDLINE]");
	g_autoptr(GError) error = NULL;

	g_option_context_add_main_entries(context, options, NULL);
	if (!g_option_context_parse(context, &argc, &argv, &error) || argc < 2 || argc > 3) {
		fprintf(stderr, "boot-guest: %s\n", error ? error->message : "which kernel?");
		return 2;
	}
	struct rs_vmm_config config = {.kernel = argv[1],
				       .cmdline = argc > 2 ? argv[2] : NULL,
				       .initrd = initrd,
				       .memory = (uint64_t)mib << 20,
				       .vcpus = (uint32_t)cpus,
				       .serial_fd = STDOUT_FILENO};
	return boot_guest(&config, (uint64_t)ring_kib << 10, seconds);
}
