/* SPDX-License-Identifier: MIT */
/* The host's commands about tracing: what ktrace(2) is to the OS's own users. */
#include <ringside/ktrace.h>

static int32_t run(struct rs_serve_handler *handler, const struct rs_command *command,
		   struct rs_command_reply *reply)
{
	struct rs_ktrace_server *server =
		(void *)((char *)handler - offsetof(struct rs_ktrace_server, handler));
	struct rs_ktrace_caller caller = server->caller;
	uint32_t facilities = (uint32_t)command->args[1];
	int32_t pid = (int32_t)command->args[2];

	(void)reply;
	if (command->args[1] > 0xffffffffu || (int64_t)command->args[2] != pid ||
	    command->args[3] & ~(uint64_t)RS_KTROP_DESCEND)
		return -RS_EINVAL;
	caller.root = true;
	caller.descend = command->args[3] & RS_KTROP_DESCEND;
	if (caller.descend && !caller.parent)
		return -RS_ENOSYS;
	switch (command->args[0]) {
	case RS_KTROP_SET:
		return rs_ktrace_set(&caller, pid, facilities);
	case RS_KTROP_CLEAR:
		return rs_ktrace_clear(&caller, pid, facilities);
	case RS_KTROP_CLEARALL:
		return rs_ktrace_clearall(&caller);
	default:
		return -RS_EINVAL;
	}
}

void rs_ktrace_serve(struct rs_ktrace_server *server, struct rs_serve *serve,
		     const struct rs_ktrace_caller *caller)
{
	server->caller = *caller;
	server->handler.first = RS_CMD_KTRACE;
	server->handler.last = RS_CMD_KTRACE;
	server->handler.run = run;
	server->handler.gone = NULL;
	server->handler.news = NULL;
	rs_serve_add(serve, &server->handler);
}
