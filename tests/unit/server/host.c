/* SPDX-License-Identifier: MIT */
#include "host.h"

#include <glib/gstdio.h>
#include <ringside/atomic.h>
#include <string.h>

void host_set_up(struct host *host, gconstpointer data)
{
	static const char *const names[] = {"k", "other"};
	g_autofree char *dir = g_dir_make_tmp("server-XXXXXX", NULL);

	host->path = g_build_filename(dir, "s.sock", NULL);
	g_assert_cmpint(rs_session_create("t", &host->session, NULL), ==, 0);
	for (guint i = 0; i < GUESTS; i++) {
		const struct rs_source_config config = {.kernel = names[i]};

		host->sham[i] = sham_new(2, RS_CHANNEL_MAILBOX);
		g_assert_cmpint(rs_session_add_source(host->session, &config, host->sham[i]->region,
						      &host->sham[i]->target, NULL, NULL),
				==, 0);
	}
	g_assert_cmpint(rs_server_create(host->session, host->path, &host->server, NULL), ==, 0);
	g_assert_cmpint(rs_session_start(host->session, NULL), ==, 0);
	for (guint i = 0; i < GUESTS; i++)
		sham_hello(host->sham[i], RS_GUEST_SELF_PATCH);
	rs_session_refresh(host->session);
}

void host_tear_down(struct host *host, gconstpointer data)
{
	g_autofree char *dir = g_path_get_dirname(host->path);

	rs_server_destroy(host->server);
	rs_session_destroy(host->session);
	for (guint i = 0; i < GUESTS; i++)
		sham_free(host->sham[i]);
	g_rmdir(dir);
	g_free(host->path);
}

static gpointer run_body(gpointer data)
{
	gpointer *pair = data;
	struct host *host = pair[0];
	g_autoptr(GMainContext) context = g_main_context_new();

	g_main_context_push_thread_default(context);
	host->body(host);
	/* GDBus lets go of a proxy's signals from here. */
	while (g_main_context_iteration(context, FALSE))
		;
	g_main_context_pop_thread_default(context);
	g_main_loop_quit(pair[1]);
	return NULL;
}

void host_run(struct host *host, gconstpointer data)
{
	GMainLoop *loop = g_main_loop_new(NULL, FALSE);
	gpointer pair[2] = {host, loop};
	GThread *thread;

	host->body = *(void (*const *)(struct host *))data;
	thread = g_thread_new("peers", run_body, pair);
	g_main_loop_run(loop);
	g_thread_join(thread);
	g_main_loop_unref(loop);
}

RsDBusSession1 *host_connect(struct host *host)
{
	RsDBusSession1 *client = rs_trace_client_connect_path(host->path, NULL);

	g_assert_nonnull(client);
	return client;
}

/* ---- a guest's tasks ---- */

static struct rs_hcall_request *request_in(struct sham *sham, uint32_t slot)
{
	return rs_trace_region_element(sham->region, RS_SEC_REQUEST, slot);
}

static bool has_answer(struct sham *sham, uint32_t slot)
{
	return rs_load_acquire(&sham_response(sham, slot)->sequence) ==
	       request_in(sham, slot)->sequence;
}

static void make(struct sham *sham, uint32_t slot, uint32_t number)
{
	struct rs_hcall_request *request = request_in(sham, slot);
	const struct rs_hcall_response *response = sham_response(sham, slot);

	request->number = number;
	rs_store_release(&request->sequence, request->sequence + 1);
	while (rs_load_acquire(&response->accepted) != request->sequence && !has_answer(sham, slot))
		g_usleep(500);
}

void host_report_all(struct sham *sham, uint64_t id, const struct host_result *result)
{
	struct rs_hcall_request *request = request_in(sham, 0);

	request->args[0] = id;
	request->args[1] = (uint64_t)result->result;
	memcpy(&request->args[2], result->values, sizeof(result->values));
	request->data_size = result->size;
	if (result->size)
		memcpy(request->data, result->data, result->size);
	make(sham, 0, RS_HCALL_COMMAND);
}

void host_report(struct sham *sham, uint64_t id, int64_t result)
{
	const struct host_result all = {.result = result};

	host_report_all(sham, id, &all);
}

void host_offer_all(struct host *host)
{
	for (guint i = 0; i < GUESTS; i++)
		host_report(host->sham[i], 0, 0);
}

const struct rs_hcall_response *host_command(struct sham *sham)
{
	const struct rs_hcall_response *response = sham_response(sham, 0);

	for (;;) {
		while (!has_answer(sham, 0))
			g_usleep(500);
		g_assert_cmpint(response->result, ==, 0);
		if (RS_CMD_COUNT(response->values[0]))
			return response;
		host_report(sham, 0, 0);
	}
}

void host_carry_out(struct sham *sham, int64_t result)
{
	host_report(sham, host_command(sham)->values[0], result);
}

void host_news_with(struct sham *sham, const uint64_t args[4], const void *data, uint32_t size)
{
	struct rs_hcall_request *request = request_in(sham, 1);

	memcpy(request->args, args, 4 * sizeof(*args));
	request->data_size = size;
	if (size)
		memcpy(request->data, data, size);
	make(sham, 1, RS_HCALL_NEWS);
	while (!has_answer(sham, 1))
		g_usleep(500);
	g_assert_cmpint(sham_response(sham, 1)->result, ==, 0);
}

void host_news(struct sham *sham, uint64_t kind, uint64_t handle, uint64_t event, int64_t value)
{
	host_news_with(sham, (const uint64_t[]){kind, handle, event, (uint64_t)value}, NULL, 0);
}
