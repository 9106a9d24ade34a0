/* SPDX-License-Identifier: MIT */
/*
 * A session of two guests that take commands, its server, and peers. Server and peers are in
 * threads of their own, as if they were two processes. The peers' thread also plays the guests'
 * tasks.
 */
#ifndef RS_TEST_SERVER_HOST_H
#define RS_TEST_SERVER_HOST_H

#include "server/server.h"
#include "sham.h"
#include <ringside/command.h>
#include <rs-trace-client.h>
#include <rs-trace-session-error.h>

#define GUESTS 2u /* "k" and "other" */

struct host {
	char *path;
	struct sham *sham[GUESTS];
	struct rs_session *session;
	struct rs_server *server;
	void (*body)(struct host *host);
};

/* For g_test_add(); data of host_run(): a pointer to the test's body, in the peers' thread. */
void host_set_up(struct host *host, gconstpointer data);
void host_run(struct host *host, gconstpointer data);
void host_tear_down(struct host *host, gconstpointer data);

RsDBusSession1 *host_connect(struct host *host);

/* What a guest's task, in slot 0, says came of a command. Returns once the session has taken it. */
struct host_result {
	int64_t result;
	uint64_t values[RS_CMD_ARGS];
	const void *data;
	uint32_t size;
};
void host_report_all(struct sham *sham, uint64_t id, const struct host_result *result);
void host_report(struct sham *sham, uint64_t id, int64_t result);
/* All guests offer a task. */
void host_offer_all(struct host *host);
/* The command that the task is given, which must come. Beats are passed over. */
const struct rs_hcall_response *host_command(struct sham *sham);
void host_carry_out(struct sham *sham, int64_t result);
/* An engine has something to tell: RS_HCALL_NEWS, in slot 1. */
void host_news(struct sham *sham, uint64_t kind, uint64_t handle, uint64_t event, int64_t value);
/* The same, with data. */
void host_news_with(struct sham *sham, const uint64_t args[4], const void *data, uint32_t size);

#endif
