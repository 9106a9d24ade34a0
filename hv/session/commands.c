/* SPDX-License-Identifier: MIT */
#include "session/commands.h"

#include "session/private.h"
#include "session/slots.h"

#include <errno.h>
#include <ringside/error.h>
#include <string.h>

struct command {
	struct rs_source_command what; /* its data is ours */
	rs_command_done done;          /* NULL: nobody waits for it any more */
	void *data;
	gint64 at; /* when it was asked for */
	bool late; /* with the guest for too long: it has failed, but may still be carried out */
};

struct rs_commands {
	struct rs_source *source;
	GQueue waiting;       /* of struct command, oldest first */
	GQueue failed;        /* likewise: nobody was told yet */
	struct command *sent; /* the guest has it; NULL: none */
	bool offered;         /* a task of the guest waits for a command: */
	struct rs_ticket ticket;
	gint64 offered_at;
	bool served;      /* a task of this boot has offered itself */
	bool over;        /* no command is taken any more */
	uint32_t session; /* a number that tells this session from others on the region */
	uint32_t count;   /* of the command that was sent last */
};

struct rs_commands *rs_commands_new(struct rs_source *source)
{
	struct rs_commands *commands = g_new0(struct rs_commands, 1);

	commands->source = source;
	commands->session = g_random_int() | 1;
	g_queue_init(&commands->waiting);
	g_queue_init(&commands->failed);
	return commands;
}

static void command_free(gpointer data)
{
	struct command *command = data;

	g_free((void *)command->what.data);
	g_free(command);
}

void rs_commands_free(struct rs_commands *commands)
{
	if (!commands)
		return;
	g_queue_clear_full(&commands->waiting, command_free);
	g_queue_clear_full(&commands->failed, command_free);
	g_clear_pointer(&commands->sent, command_free);
	g_free(commands);
}

static void finish(struct command *command, int ret, const struct rs_command_result *result,
		   const struct rs_error *err)
{
	if (command->done)
		command->done(command->data, ret, result, err);
	command_free(command);
}

static void fail(const struct rs_commands *commands, struct command *command, int code,
		 const char *why)
{
	struct rs_error err = {0};
	int ret = rs_error_set(&err, code, "%s", why);

	rs_source_result(commands->source, ret, &err);
	finish(command, ret, NULL, &err);
}

/* ---- to the guest ---- */

static void fill(const struct rs_commands *commands, struct rs_hcall_response *response,
		 const struct command *command)
{
	response->values[0] = RS_CMD_ID(commands->session, command ? commands->count : 0);
	if (!command)
		return;
	response->values[1] = command->what.number;
	for (uint32_t i = 0; i < RS_CMD_ARGS; i++)
		response->values[2 + i] = command->what.args[i];
	response->data_size = command->what.size;
	if (command->what.size)
		memcpy(response->data, command->what.data, command->what.size);
}

/* The next command is the guest's now. NULL: there is none. */
static const struct command *begin(struct rs_commands *commands)
{
	commands->sent = g_queue_pop_head(&commands->waiting);
	/* 0 says that there is no command. */
	if (commands->sent && ++commands->count == 0)
		commands->count = 1;
	return commands->sent;
}

/* Answers the task that waits: with a command, or that there is none. */
static void answer(struct rs_commands *commands)
{
	struct rs_hcall_response response = {0};

	commands->offered = false;
	fill(commands, &response, begin(commands));
	if (!rs_source_answer(commands->source, &commands->ticket, &response) || !commands->sent)
		return;
	/* The task has gone. Another one may come. */
	g_queue_push_head(&commands->waiting, g_steal_pointer(&commands->sent));
}

/* ---- what the guest says ---- */

static void take_result(struct rs_commands *commands, const struct rs_hcall_request *request)
{
	struct rs_command_result result = {.data = request->data, .size = request->data_size};
	struct command *command = g_steal_pointer(&commands->sent);

	if (!command)
		return;
	if (request->args[0] != RS_CMD_ID(commands->session, commands->count)) {
		fail(commands, command, EAGAIN, "the guest's task did not finish the command");
		return;
	}
	if (command->late)
		rs_source_take_late_result(commands->source, &command->what,
					   (int64_t)request->args[1], request->args[2]);
	/* Numbers past 32 bits are no results of ours. */
	result.result = (int32_t)CLAMP((int64_t)request->args[1], INT32_MIN, INT32_MAX);
	memcpy(result.values, &request->args[2], sizeof(result.values));
	finish(command, 0, &result, NULL);
}

bool rs_source_serve_commands(struct rs_source *source, const struct rs_hcall_request *request,
			      const struct rs_ticket *ticket, struct rs_hcall_response *response)
{
	struct rs_commands *commands = source->commands;

	if (commands->over) {
		rs_response_set(response, -RS_EACCES, "the session has ended");
		return true;
	}
	/* One task serves. The newest does, since an older one may be gone. */
	if (commands->offered && commands->ticket.slot != ticket->slot) {
		struct rs_hcall_response refusal = {0};

		rs_response_set(&refusal, -RS_EACCES, "another task serves");
		rs_source_answer(source, &commands->ticket, &refusal);
	}
	commands->offered = false;
	commands->served = true;
	take_result(commands, request);
	/* Whoever was told of the result may have sent the next one already. */
	if (!g_queue_is_empty(&commands->waiting)) {
		fill(commands, response, begin(commands));
		return true;
	}
	commands->offered = true;
	commands->ticket = *ticket;
	commands->offered_at = g_get_monotonic_time();
	return false;
}

/* ---- asked by others ---- */

static int check(struct rs_source *source, const struct rs_source_command *command,
		 struct rs_error *err)
{
	struct rs_commands *commands = source->commands;

	g_assert(command->size <= RS_CMD_DATA);
	if (commands->over)
		return rs_error_set(err, ESHUTDOWN, "the guest has ended");
	if (!source->hello)
		return rs_error_set(err, EAGAIN, "the guest's agent has not reported");
	if (!rs_source_runs(source))
		return rs_error_set(err, EAGAIN, "the guest is paused");
	if (!commands->served)
		return rs_error_set(err, ENOTSUP,
				    "this guest takes no commands: no task of its "
				    "OS serves them");
	if (g_queue_get_length(&commands->waiting) + (commands->sent != NULL) >= RS_COMMANDS_MAX)
		return rs_error_set(err, EBUSY, "too many commands wait for the guest");
	return 0;
}

int rs_source_send_command(struct rs_source *source, const struct rs_source_command *what,
			   rs_command_done done, void *data, struct rs_error *err)
{
	struct rs_commands *commands = source->commands;
	int ret = check(source, what, err);
	struct command *command;

	if (ret)
		return rs_source_result(source, ret, err);
	command = g_new0(struct command, 1);
	*command = (struct command){
		.what = *what, .done = done, .data = data, .at = g_get_monotonic_time()};
	command->what.data = what->size ? g_memdup2(what->data, what->size) : NULL;
	g_queue_push_tail(&commands->waiting, command);
	if (commands->offered)
		answer(commands);
	return 0;
}

static void drop(GQueue *queue, const void *data)
{
	for (GList *l = queue->head; l; l = l->next) {
		struct command *command = l->data;

		if (command->data == data)
			command->done = NULL;
	}
}

void rs_source_drop_commands(struct rs_source *source, const void *data)
{
	struct rs_commands *commands = source->commands;

	drop(&commands->waiting, data);
	drop(&commands->failed, data);
	if (commands->sent && commands->sent->data == data)
		commands->sent->done = NULL;
}

/* ---- time, boots and ends ---- */

/* Whoever asked is told. The guest may still carry it out, and what came of it is looked at. */
static void give_up(struct rs_commands *commands)
{
	struct command *command = commands->sent;
	const rs_command_done done = g_steal_pointer(&command->done);
	struct rs_error err = {0};
	int ret = rs_error_set(
		&err, ETIMEDOUT,
		"the guest did not carry out the command in time, and may still do it");

	command->late = true;
	rs_source_result(commands->source, ret, &err);
	if (done)
		done(command->data, ret, NULL, &err);
}

void rs_source_tend_commands(struct rs_source *source, gint64 now)
{
	struct rs_commands *commands = source->commands;
	const gint64 oldest = now - RS_COMMAND_MS * 1000;
	struct command *command;

	if (commands->sent && !commands->sent->late && commands->sent->at < oldest)
		give_up(commands);
	while ((command = g_queue_peek_head(&commands->waiting)) && command->at < oldest) {
		g_queue_pop_head(&commands->waiting);
		fail(commands, command, ETIMEDOUT, "no task of the guest took the command in time");
	}
	if (!commands->offered || now - commands->offered_at < RS_CMD_BEAT_MS * 1000)
		return;
	/* We stood still. The guest may have taken us for dead. */
	if (now - commands->offered_at >= RS_CMD_SILENCE_MS * 1000)
		rs_source_give_engines_up(source);
	if (commands->offered)
		answer(commands);
}

/* Each moves to `failed` first, so that nothing that is sent from a `done` is among them. */
static void fail_all(struct rs_commands *commands, int code, const char *why)
{
	struct command *command;

	if (commands->sent)
		g_queue_push_tail(&commands->failed, g_steal_pointer(&commands->sent));
	while ((command = g_queue_pop_head(&commands->waiting)))
		g_queue_push_tail(&commands->failed, command);
	while ((command = g_queue_pop_head(&commands->failed)))
		fail(commands, command, code, why);
}

void rs_source_forget_commands(struct rs_source *source)
{
	struct rs_commands *commands = source->commands;

	/* A task of the new boot may wait already. */
	commands->offered = commands->offered && rs_source_owes(source, &commands->ticket);
	commands->served = commands->offered;
	fail_all(commands, EAGAIN, "the guest has booted again");
}

void rs_source_end_commands(struct rs_source *source, const char *why)
{
	struct rs_commands *commands = source->commands;

	commands->over = true;
	commands->offered = false;
	fail_all(commands, ESHUTDOWN, why);
}

int rs_command_explain(int32_t result, struct rs_error *err)
{
	static const struct {
		int number, code;
		const char *says;
	} meanings[] = {
		{RS_ESRCH, ESRCH, "the guest has no such process or thread, or it has died"},
		{RS_EALREADY, ESRCH, "the thread has died, and is still to be reaped"},
		{RS_EBADF, EBADF, "the guest has let go of this engine"},
		{RS_EAGAIN, EINPROGRESS, "the thread runs"},
		{RS_EINPROGRESS, EINPROGRESS, "the thread runs"},
		{RS_ENOENT, EINPROGRESS,
		 "the thread has stopped elsewhere: not before a system call, at a signal or at "
		 "its exit"},
		{RS_EINVAL, EINVAL, "the guest does not know what is asked for"},
		{RS_EPERM, EPERM, "the guest does not let us"},
		{RS_ENOSYS, ENOTSUP, "this guest cannot do that"},
		{RS_ENOSPC, ENOSPC, "the guest has no room for another engine"},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(meanings); i++)
		if (meanings[i].number == -(int64_t)result)
			return rs_error_set(err, meanings[i].code, "%s", meanings[i].says);
	return rs_error_set(err, EPROTO, "the guest refused, with the number %d", result);
}
