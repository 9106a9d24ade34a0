/* SPDX-License-Identifier: MIT */
#include "libvirt/qga_answer.h"

#include "base/json.h"

#include <errno.h>
#include <json-glib/json-glib.h>
#include <string.h>

#define DEPTH_MAX 8u
#define ANSWER_MAX (1u << 20)

/* What is behind "return"; NULL: there is none. *root is to be freed. */
static JsonNode *parse(const char *answer, JsonNode **root, struct rs_error *err)
{
	size_t size = strlen(answer);
	JsonNode *node = NULL;

	*root = NULL;
	if (size <= ANSWER_MAX && rs_json_is_shallow(answer, size, DEPTH_MAX))
		*root = json_from_string(answer, NULL);
	if (*root && JSON_NODE_HOLDS_OBJECT(*root))
		node = json_object_get_member(json_node_get_object(*root), "return");
	if (!node)
		rs_error_set(err, EPROTO, "the guest agent answers nonsense");
	return node;
}

static JsonNode *member_of(JsonNode *node, const char *name)
{
	return JSON_NODE_HOLDS_OBJECT(node)
		       ? json_object_get_member(json_node_get_object(node), name)
		       : NULL;
}

static bool take_value(JsonNode *node, GType type)
{
	return node && JSON_NODE_HOLDS_VALUE(node) && json_node_get_value_type(node) == type;
}

int rs_qga_take_number(const char *answer, const char *member, gint64 *out, struct rs_error *err)
{
	g_autoptr(JsonNode) root = NULL;
	JsonNode *node = parse(answer, &root, err);

	if (!node)
		return -EPROTO;
	if (member)
		node = member_of(node, member);
	if (!take_value(node, G_TYPE_INT64))
		return rs_error_set(err, EPROTO, "the guest agent answers nonsense");
	*out = json_node_get_int(node);
	return 0;
}

/* ---- guest-info ---- */

static const char *text_of(JsonNode *node)
{
	return take_value(node, G_TYPE_STRING) ? json_node_get_string(node) : "";
}

/* Those that do not say so are allowed. */
static bool is_allowed(JsonNode *command)
{
	JsonNode *enabled = member_of(command, "enabled");

	return !take_value(enabled, G_TYPE_BOOLEAN) || json_node_get_boolean(enabled);
}

static JsonNode *find_command(JsonArray *all, const char *name)
{
	for (guint i = 0; i < json_array_get_length(all); i++) {
		JsonNode *command = json_array_get_element(all, i);
		JsonNode *called = member_of(command, "name");

		if (g_str_equal(text_of(called), name))
			return command;
	}
	return NULL;
}

int rs_qga_check_commands(const char *answer, const char *const *commands, struct rs_error *err)
{
	g_autoptr(JsonNode) root = NULL;
	JsonNode *info = parse(answer, &root, err), *list, *command;

	if (!info)
		return -EPROTO;
	list = member_of(info, "supported_commands");
	if (!list || !JSON_NODE_HOLDS_ARRAY(list))
		return rs_error_set(err, EPROTO, "the guest agent does not say what it can do");
	for (; *commands; commands++) {
		command = find_command(json_node_get_array(list), *commands);
		if (!command)
			return rs_error_set(err, ENOTSUP,
					    "the guest agent (version %.32s) is too old: it has no "
					    "%s",
					    text_of(member_of(info, "version")), *commands);
		if (!is_allowed(command))
			return rs_error_set(err, ENOTSUP,
					    "the guest's administrator forbids the guest agent %s",
					    *commands);
	}
	return 0;
}

/* ---- guest-exec-status ---- */

static char *take_output(JsonNode *run, const char *name)
{
	const char *coded = text_of(member_of(run, name));
	gsize size = 0;
	g_autofree guchar *bytes = g_base64_decode(coded, &size);
	/* Up to the first NUL. */
	char *text = g_strndup((const char *)bytes, MIN(size, RS_QGA_TEXT_MAX));

	return g_strstrip(text);
}

int rs_qga_take_run(const char *answer, struct rs_qga_run *out, struct rs_error *err)
{
	g_autoptr(JsonNode) root = NULL;
	JsonNode *run = parse(answer, &root, err), *node;

	if (!run)
		return -EPROTO;
	node = member_of(run, "exited");
	if (!take_value(node, G_TYPE_BOOLEAN))
		return rs_error_set(err, EPROTO,
				    "the guest agent does not say whether a program "
				    "has ended");
	*out = (struct rs_qga_run){.exited = json_node_get_boolean(node), .code = -1};
	node = member_of(run, "exitcode");
	if (take_value(node, G_TYPE_INT64))
		out->code = (int)CLAMP(json_node_get_int(node), -1, 255);
	out->out = take_output(run, "out-data");
	out->err = take_output(run, "err-data");
	return 0;
}

void rs_qga_run_clear(struct rs_qga_run *run)
{
	g_free(run->out);
	g_free(run->err);
	*run = (struct rs_qga_run){0};
}
