/* SPDX-License-Identifier: MIT */
/* EngineRegisters and those like it: what peers see and change of stopped threads. */
#include "server/private.h"

#include "server/rows.h"
#include <errno.h>
#include <ringside/registers.h>
#include <string.h>

GVariant *rs_server_numbers(const uint8_t *bytes, uint32_t count)
{
	return g_variant_new_fixed_array(G_VARIANT_TYPE_UINT64, bytes, count, sizeof(uint64_t));
}

static void give_registers(struct rs_server *server, GDBusMethodInvocation *invocation,
			   const struct rs_engine_info *engine,
			   const struct rs_command_result *result)
{
	const uint32_t words = result->size / 8;
	const uint32_t count = MIN((uint32_t)result->result, MIN(words, RS_REGISTERS_MAX));
	GVariantBuilder more;

	g_variant_builder_init(&more, G_VARIANT_TYPE_VARDICT);
	if (result->values[1] == 1 && words >= count) {
		g_variant_builder_add(&more, "{sv}", "syscall",
				      g_variant_new_uint64(result->values[2]));
		g_variant_builder_add(
			&more, "{sv}", "arguments",
			rs_server_numbers(result->data + count * 8,
					  (uint32_t)MIN(result->values[3], words - count)));
	}
	rs_dbus_session1_complete_engine_registers(server->skeleton, invocation,
						   rs_server_numbers(result->data, count),
						   g_variant_builder_end(&more));
}

static gboolean on_registers(RsDBusSession1 *object, GDBusMethodInvocation *invocation,
			     guint engine, GVariant *options, gpointer data)
{
	const struct rs_source_command command = {.number = RS_CMD_ENGINE_REGISTERS};

	if (rs_server_refuse_options(invocation, options))
		return TRUE;
	return rs_server_send_engine(data, invocation, engine, &command, give_registers);
}

bool rs_server_take_numbers(GDBusMethodInvocation *invocation, GVariant *from, uint64_t *to,
			    gsize most, gsize *count)
{
	struct rs_error err = {0};
	gsize n;
	const guint64 *values = g_variant_get_fixed_array(from, &n, sizeof(guint64));

	if (n > most) {
		rs_error_set(&err, EINVAL, "%" G_GSIZE_FORMAT " numbers at most", most);
		return !rs_server_give_error(invocation, &err);
	}
	if (n)
		memcpy(to, values, n * sizeof(*to));
	*count = n;
	return true;
}

static gboolean on_set_registers(RsDBusSession1 *object, GDBusMethodInvocation *invocation,
				 guint engine, GVariant *registers, guint64 mask, GVariant *options,
				 gpointer data)
{
	uint64_t values[RS_REGISTERS_MAX] = {0};
	const struct rs_source_command command = {.number = RS_CMD_ENGINE_SET_REGISTERS,
						  .args = {0, mask},
						  .data = values,
						  .size = sizeof(values)};
	struct rs_error err = {0};
	gsize count;

	if (rs_server_refuse_options(invocation, options))
		return TRUE;
	if (!rs_server_take_numbers(invocation, registers, values, RS_REGISTERS_MAX, &count))
		return TRUE;
	if (!mask || (count < 64 && mask >> count)) {
		rs_error_set(&err, EINVAL, "the mask names no register, or one that is not given");
		return rs_server_give_error(invocation, &err);
	}
	return rs_server_send_engine(data, invocation, engine, &command, rs_server_give_done);
}

static gboolean on_set_syscall(RsDBusSession1 *object, GDBusMethodInvocation *invocation,
			       guint engine, guint64 number, GVariant *arguments, GVariant *options,
			       gpointer data)
{
	uint64_t values[6];
	struct rs_source_command command = {
		.number = RS_CMD_ENGINE_SET_SYSCALL, .args = {0, number}, .data = values};
	gsize count;

	if (rs_server_refuse_options(invocation, options))
		return TRUE;
	if (!rs_server_take_numbers(invocation, arguments, values, G_N_ELEMENTS(values), &count))
		return TRUE;
	command.args[2] = count;
	command.size = (uint32_t)(count * sizeof(*values));
	return rs_server_send_engine(data, invocation, engine, &command, rs_server_give_done);
}

static void give_memory(struct rs_server *server, GDBusMethodInvocation *invocation,
			const struct rs_engine_info *engine, const struct rs_command_result *result)
{
	const uint32_t size = MIN((uint32_t)result->result, result->size);

	rs_dbus_session1_complete_engine_read_memory(
		server->skeleton, invocation,
		g_variant_new_fixed_array(G_VARIANT_TYPE_BYTE, result->data, size, 1),
		rs_row_empty());
}

static gboolean on_read_memory(RsDBusSession1 *object, GDBusMethodInvocation *invocation,
			       guint engine, guint64 address, guint size, GVariant *options,
			       gpointer data)
{
	const struct rs_source_command command = {.number = RS_CMD_ENGINE_MEMORY,
						  .args = {0, address, MIN(size, RS_CMD_DATA)}};

	if (rs_server_refuse_options(invocation, options))
		return TRUE;
	return rs_server_send_engine(data, invocation, engine, &command, give_memory);
}

bool rs_server_take_bytes(GDBusMethodInvocation *invocation, GVariant *from, const void **bytes,
			  uint32_t *count)
{
	struct rs_error err = {0};
	gsize n;

	*bytes = g_variant_get_fixed_array(from, &n, 1);
	if (n > RS_CMD_DATA) {
		rs_error_set(&err, EINVAL, "%u bytes at most", (guint)RS_CMD_DATA);
		return !rs_server_give_error(invocation, &err);
	}
	*count = (uint32_t)n;
	return true;
}

static void give_written(struct rs_server *server, GDBusMethodInvocation *invocation,
			 const struct rs_engine_info *engine,
			 const struct rs_command_result *result)
{
	rs_dbus_session1_complete_engine_write_memory(server->skeleton, invocation,
						      MIN((guint)result->result, RS_CMD_DATA),
						      rs_row_empty());
}

static gboolean on_write_memory(RsDBusSession1 *object, GDBusMethodInvocation *invocation,
				guint engine, guint64 address, GVariant *bytes, GVariant *options,
				gpointer data)
{
	struct rs_source_command command = {.number = RS_CMD_ENGINE_SET_MEMORY,
					    .args = {0, address}};

	if (rs_server_refuse_options(invocation, options) ||
	    !rs_server_take_bytes(invocation, bytes, &command.data, &command.size))
		return TRUE;
	return rs_server_send_engine(data, invocation, engine, &command, give_written);
}

static gboolean on_set_signal(RsDBusSession1 *object, GDBusMethodInvocation *invocation,
			      guint engine, const char *fate, guint number, GVariant *options,
			      gpointer data)
{
	static const char *const fates[] = {"deliver", "ignore", "stop", "terminate", "core"};
	struct rs_source_command command = {.number = RS_CMD_ENGINE_SET_SIGNAL,
					    .args = {0, number, G_MAXUINT64}};
	struct rs_error err = {0};

	if (rs_server_refuse_options(invocation, options))
		return TRUE;
	for (guint i = 0; i < G_N_ELEMENTS(fates); i++)
		if (strcmp(fates[i], fate) == 0)
			command.args[2] = i * RS_UTRACE_SIGNAL_IGN;
	if (command.args[2] == G_MAXUINT64)
		rs_error_set(&err, EINVAL,
			     "what becomes of a signal is 'deliver', 'ignore', 'stop', 'terminate' "
			     "or 'core'");
	else if (number > G_MAXINT32)
		rs_error_set(&err, EINVAL, "no signal has this number");
	if (err.code)
		return rs_server_give_error(invocation, &err);
	return rs_server_send_engine(data, invocation, engine, &command, rs_server_give_done);
}

static gboolean on_set_exit_code(RsDBusSession1 *object, GDBusMethodInvocation *invocation,
				 guint engine, gint64 code, GVariant *options, gpointer data)
{
	const struct rs_source_command command = {.number = RS_CMD_ENGINE_SET_EXIT,
						  .args = {0, (uint64_t)code}};

	if (rs_server_refuse_options(invocation, options))
		return TRUE;
	return rs_server_send_engine(data, invocation, engine, &command, rs_server_give_done);
}

void rs_server_connect_examine(struct rs_server *server)
{
	static const struct {
		const char *signal;
		GCallback callback;
	} handlers[] = {
		{"handle-engine-registers", G_CALLBACK(on_registers)},
		{"handle-engine-set-registers", G_CALLBACK(on_set_registers)},
		{"handle-engine-set-syscall", G_CALLBACK(on_set_syscall)},
		{"handle-engine-read-memory", G_CALLBACK(on_read_memory)},
		{"handle-engine-write-memory", G_CALLBACK(on_write_memory)},
		{"handle-engine-set-signal", G_CALLBACK(on_set_signal)},
		{"handle-engine-set-exit-code", G_CALLBACK(on_set_exit_code)},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(handlers); i++)
		g_signal_connect(server->skeleton, handlers[i].signal, handlers[i].callback,
				 server);
}
