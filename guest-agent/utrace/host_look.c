/* SPDX-License-Identifier: MIT */
/* Engines of the host, in the task that serves: what a stopped thread has is looked at, changed. */
#include "host-private.h"

static int32_t registers(struct rs_utrace_host_engine *e, struct rs_command_reply *reply)
{
	uint64_t values[RS_REGISTERS_MAX];
	struct rs_utrace_syscall call;
	int32_t count;
	int at;

	if (rs_load(&e->stays))
		rs_utrace_wait_for_stop(e);
	count = rs_utrace_get_registers(&e->engine, values);
	if (count < 0)
		return count;
	at = rs_utrace_stopped_at(&e->engine);
	if (at < 0)
		return at;
	reply->values[0] = (uint64_t)at;
	reply->size = (uint32_t)count * 8;
	__builtin_memcpy(reply->data, values, reply->size);
	if (rs_utrace_get_syscall(&e->engine, &call))
		return count;
	reply->values[1] = 1;
	reply->values[2] = call.number;
	reply->values[3] = call.count;
	__builtin_memcpy(reply->data + reply->size, call.args, call.count * 8);
	reply->size += call.count * 8;
	return count;
}

static int32_t set_registers(struct rs_utrace_host_engine *e, const struct rs_command *command)
{
	uint64_t values[RS_REGISTERS_MAX];

	if (command->size != sizeof(values))
		return -RS_EINVAL;
	__builtin_memcpy(values, command->data, sizeof(values));
	return rs_utrace_set_registers(&e->engine, values, command->args[1]);
}

static int32_t set_syscall(struct rs_utrace_host_engine *e, const struct rs_command *command)
{
	struct rs_utrace_syscall call;

	if (command->args[2] > RS_UTRACE_ARGS_MAX || command->size != command->args[2] * 8)
		return -RS_EINVAL;
	__builtin_memset(&call, 0, sizeof(call));
	call.number = command->args[1];
	call.count = (uint32_t)command->args[2];
	__builtin_memcpy(call.args, command->data, command->size);
	return rs_utrace_set_syscall(&e->engine, &call);
}

static int32_t read_memory(struct rs_utrace_host_engine *e, const struct rs_command *command,
			   struct rs_command_reply *reply)
{
	uint64_t size = command->args[2] < RS_CMD_DATA ? command->args[2] : RS_CMD_DATA;
	int32_t got =
		rs_utrace_read_memory(&e->engine, command->args[1], reply->data, (uint32_t)size);

	if (got > 0)
		reply->size = (uint32_t)got;
	return got;
}

static int32_t write_memory(struct rs_utrace_host_engine *e, const struct rs_command *command)
{
	return rs_utrace_write_memory(&e->engine, command->args[1], command->data, command->size);
}

static int32_t set_signal(struct rs_utrace_host_engine *e, uint64_t number, uint64_t fate)
{
	if (number > INT32_MAX || fate > RS_UTRACE_SIGNAL_CORE)
		return -RS_EINVAL;
	return rs_utrace_set_signal(&e->engine, (int32_t)number, (uint32_t)fate);
}

/* utrace's -RS_EINVAL for a thread that we have not stopped. */
static int32_t error_of_thread(int32_t err)
{
	return err == -RS_EINVAL ? -RS_EAGAIN : err;
}

static int32_t change_now(struct rs_utrace_host_engine *e, const struct rs_command *command)
{
	switch (command->number) {
	case RS_CMD_ENGINE_SET_REGISTERS:
		return set_registers(e, command);
	case RS_CMD_ENGINE_SET_SYSCALL:
		return set_syscall(e, command);
	case RS_CMD_ENGINE_SET_MEMORY:
		return write_memory(e, command);
	case RS_CMD_ENGINE_SET_SIGNAL:
		return set_signal(e, command->args[1], command->args[2]);
	case RS_CMD_ENGINE_SET_EXIT:
		return rs_utrace_set_exit(&e->engine, (int64_t)command->args[1]);
	default:
		return -RS_ENOSYS;
	}
}

static int32_t change(struct rs_utrace_host_engine *e, const struct rs_command *command)
{
	int32_t err;

	if (rs_load(&e->stays))
		rs_utrace_wait_for_stop(e);
	err = rs_utrace_stopped_at(&e->engine);
	if (err < 0)
		return error_of_thread(err);
	err = change_now(e, command);
	/* An argument is wrong, unless the thread was killed meanwhile. */
	return rs_utrace_stopped_at(&e->engine) < 0 ? error_of_thread(err) : err;
}

int32_t rs_utrace_host_look(struct rs_utrace_host_engine *e, const struct rs_command *command,
			    struct rs_command_reply *reply)
{
	switch (command->number) {
	case RS_CMD_ENGINE_REGISTERS:
		return error_of_thread(registers(e, reply));
	case RS_CMD_ENGINE_MEMORY:
		return error_of_thread(read_memory(e, command, reply));
	default:
		return change(e, command);
	}
}
