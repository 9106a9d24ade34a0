/* SPDX-License-Identifier: MIT */
/*
 * Enable, Disable, SetFilter, ClearFilter, ListKept, SaveWishes and RestoreWishes: what peers want,
 * for whom, and for how long.
 */
#include "server/private.h"

#include "server/rows.h"
#include "session/saved.h"
#include "session/triggers.h"
#include <errno.h>
#include <rs-trace-session-error.h>
#include <string.h>

/* ---- wishes that end with a connection ---- */

struct bond {
	GDBusConnection *connection; /* not a reference: a bond ends before it */
	char *owner;
};

static void bond_clear(gpointer data)
{
	g_free(((struct bond *)data)->owner);
}

GArray *rs_server_bonds_new(void)
{
	GArray *bonds = g_array_new(FALSE, FALSE, sizeof(struct bond));

	g_array_set_clear_func(bonds, bond_clear);
	return bonds;
}

/* `connection` NULL: any. */
static bool is_bound(const struct rs_server *server, GDBusConnection *connection, const char *owner)
{
	for (guint i = 0; i < server->bonds->len; i++) {
		const struct bond *bond = &g_array_index(server->bonds, struct bond, i);

		if ((!connection || bond->connection == connection) &&
		    strcmp(bond->owner, owner) == 0)
			return true;
	}
	return false;
}

/*
 * Drops bonds of owners that were forgotten because they took back their last wish. So there are
 * few bonds.
 */
static void drop_idle_bonds(struct rs_server *server)
{
	for (guint i = server->bonds->len; i-- > 0;) {
		const struct bond *bond = &g_array_index(server->bonds, struct bond, i);

		if (!rs_session_knows_owner(server->session, bond->owner))
			g_array_remove_index_fast(server->bonds, i);
	}
}

static void bind(struct rs_server *server, GDBusConnection *connection, const char *owner)
{
	struct bond bond = {.connection = connection};

	drop_idle_bonds(server);
	if (!rs_session_knows_owner(server->session, owner) || is_bound(server, connection, owner))
		return;
	bond.owner = g_strdup(owner);
	g_array_append_val(server->bonds, bond);
}

static void end_bonds(struct rs_server *server, GDBusConnection *connection)
{
	for (guint i = server->bonds->len; i-- > 0;) {
		const struct bond *bond = &g_array_index(server->bonds, struct bond, i);
		g_autofree char *owner = NULL;

		if (bond->connection != connection)
			continue;
		owner = g_strdup(bond->owner);
		g_array_remove_index(server->bonds, i);
		if (!is_bound(server, NULL, owner))
			rs_session_forget_owner(server->session, owner);
	}
}

/* ---- options ---- */

struct asks {
	const char *owner; /* the invocation's */
	gboolean until_disconnect, ahead;
	guint32 stack;
};

/* Whether the peer may ask for this. False: it got an error. */
/* For whom a peer may speak. */
static int check_owner(const char *owner, struct rs_error *err)
{
	if (g_str_has_prefix(owner, RS_TRIGGER_OWNER))
		return rs_error_set(err, EINVAL, "'%s' is a trigger's", owner);
	return rs_owner_check_name(owner, err);
}

static bool take_options(struct rs_server *server, GDBusMethodInvocation *invocation,
			 GVariant *options, bool enables, struct asks *asks)
{
	const struct rs_server_option known[] = {
		{"owner", "s", &asks->owner, NULL},
		{"until-disconnect", "b", &asks->until_disconnect, NULL},
		{"ahead", "b", &asks->ahead, NULL},
		{"stack", "u", &asks->stack, NULL},
	};
	struct rs_error err = {0};

	*asks = (struct asks){.owner = RS_OWNER_HOST};
	if (!rs_server_take_options(invocation, options, known,
				    G_N_ELEMENTS(known) - (enables ? 0 : 1)))
		return false;
	if (check_owner(asks->owner, &err))
		return !rs_server_give_error(invocation, &err);
	if (asks->until_disconnect &&
	    (strcmp(asks->owner, RS_OWNER_HOST) == 0 || strcmp(asks->owner, RS_OWNER_GUEST) == 0)) {
		rs_error_set(&err, EINVAL,
			     "what '%s' wants does not end with a connection: give another owner",
			     asks->owner);
		return !rs_server_give_error(invocation, &err);
	}
	return rs_server_is_free(server, invocation);
}

static void keep_promise(struct rs_server *server, GDBusMethodInvocation *invocation,
			 const struct asks *asks)
{
	if (asks->until_disconnect)
		bind(server, g_dbus_method_invocation_get_connection(invocation), asks->owner);
}

char **rs_server_problems(const struct rs_session_result *result)
{
	guint count = result->problems ? result->problems->len : 0;
	char **list = g_new0(char *, count + 1);

	for (guint i = 0; i < count; i++)
		list[i] = g_utf8_make_valid(result->problems->pdata[i], -1);
	return list;
}

/* ---- answers ---- */

/* A request that the session has not done yet. */
struct late {
	struct rs_server_call call;
	uint32_t request, number;
	rs_server_give_result give;
};

/* Tells them from other calls that wait. There is nothing to clear. */
static void late_fini(struct rs_server_call *call)
{
}

void rs_server_answer(struct rs_server *server, GDBusMethodInvocation *invocation,
		      const struct rs_session_result *result, rs_server_give_result give,
		      uint32_t number)
{
	struct late *late;

	if (!result->later) {
		give(invocation, result, number);
		return;
	}
	late = g_new0(struct late, 1);
	late->request = result->later;
	late->number = number;
	late->give = give;
	rs_server_call_begin(&late->call, server, invocation, late_fini);
}

static struct late *find_late(struct rs_server *server, uint32_t request)
{
	for (GList *l = server->waiting.head; l; l = l->next) {
		struct rs_server_call *call = l->data;

		if (call->fini == late_fini && ((struct late *)call)->request == request)
			return (struct late *)call;
	}
	return NULL;
}

void rs_server_settle(struct rs_server *server, uint32_t request, int ret,
		      const struct rs_session_result *result, const struct rs_error *err)
{
	struct late *late = find_late(server, request);

	if (!late)
		return;
	if (ret)
		rs_server_give_error(late->call.invocation, err);
	else
		late->give(late->call.invocation, result, late->number);
	rs_server_call_end(&late->call);
}

void rs_server_drop_peer(struct rs_server *server, GDBusConnection *connection)
{
	rs_session_drop_asks(server->session, connection);
	g_hash_table_remove(server->saved, connection);
	end_bonds(server, connection);
}

/* ---- methods ---- */

/* What all of them answer with that change wishes. */
static void give(GDBusMethodInvocation *invocation, const struct rs_session_result *result,
		 uint32_t number)
{
	g_auto(GStrv) problems = rs_server_problems(result);

	g_dbus_method_invocation_return_value(
		invocation, g_variant_new("(ub^as@a{sv})", result->touched, result->pending,
					  problems, rs_row_result(result)));
}

/* What all four do, once their options are known. */
static gboolean ask(struct rs_server *server, GDBusMethodInvocation *invocation, GVariant *options,
		    struct rs_session_ask *ask)
{
	struct rs_session_result result = {0};
	struct rs_error err = {0};
	struct asks asks;
	int ret;

	if (!take_options(server, invocation, options, ask->kind == RS_ASK_ENABLE, &asks))
		return TRUE;
	ask->from = g_dbus_method_invocation_get_connection(invocation);
	ask->owner = asks.owner;
	ask->ahead = asks.ahead;
	ask->stack = asks.stack;
	ret = rs_session_ask(server->session, ask, &result, &err);
	if (ret)
		return rs_server_give_error(invocation, &err);
	keep_promise(server, invocation, &asks);
	rs_server_answer(server, invocation, &result, give, 0);
	rs_session_result_clear(&result);
	return TRUE;
}

static gboolean on_enable(RsDBusSession1 *object, GDBusMethodInvocation *invocation,
			  const char *glob, GVariant *options, gpointer data)
{
	struct rs_session_ask enable = {.kind = RS_ASK_ENABLE, .glob = glob};

	return ask(data, invocation, options, &enable);
}

static gboolean on_disable(RsDBusSession1 *object, GDBusMethodInvocation *invocation,
			   const char *glob, GVariant *options, gpointer data)
{
	struct rs_session_ask disable = {.kind = RS_ASK_DISABLE, .glob = glob};

	return ask(data, invocation, options, &disable);
}

static gboolean on_set_filter(RsDBusSession1 *object, GDBusMethodInvocation *invocation,
			      const char *glob, const char *expression, GVariant *options,
			      gpointer data)
{
	struct rs_session_ask filter = {
		.kind = RS_ASK_FILTER, .glob = glob, .expression = expression};

	return ask(data, invocation, options, &filter);
}

static gboolean on_clear_filter(RsDBusSession1 *object, GDBusMethodInvocation *invocation,
				const char *glob, GVariant *options, gpointer data)
{
	struct rs_session_ask clear = {.kind = RS_ASK_FILTER, .glob = glob};

	return ask(data, invocation, options, &clear);
}

/* ---- what was wished before ---- */

static void drop_saved(gpointer saved)
{
	rs_saved_unref(saved);
}

/* A connection is no reference: what it has saved ends before it. */
GHashTable *rs_server_saved_new(void)
{
	return g_hash_table_new_full(NULL, NULL, NULL, drop_saved);
}

static gboolean on_save_wishes(RsDBusSession1 *object, GDBusMethodInvocation *invocation,
			       const char *owner, GVariant *options, gpointer data)
{
	struct rs_server *server = data;
	struct rs_error err = {0};

	if (rs_server_refuse_options(invocation, options))
		return TRUE;
	if (check_owner(owner, &err))
		return rs_server_give_error(invocation, &err);
	g_hash_table_replace(server->saved, g_dbus_method_invocation_get_connection(invocation),
			     rs_session_save(server->session, owner));
	rs_dbus_session1_complete_save_wishes(object, invocation, rs_row_empty());
	return TRUE;
}

static gboolean on_restore_wishes(RsDBusSession1 *object, GDBusMethodInvocation *invocation,
				  GVariant *options, gpointer data)
{
	GDBusConnection *peer = g_dbus_method_invocation_get_connection(invocation);
	struct rs_session_result result = {0};
	struct rs_server *server = data;
	struct rs_saved *saved = g_hash_table_lookup(server->saved, peer);
	struct rs_error err = {0};
	int ret;

	if (!rs_server_may_control(server, invocation, options))
		return TRUE;
	ret = saved ? rs_session_restore(server->session, peer, saved, &result, &err)
		    : rs_error_set(&err, EINVAL, "nothing was saved");
	g_hash_table_remove(server->saved, peer);
	if (ret)
		return rs_server_give_error(invocation, &err);
	rs_server_answer(server, invocation, &result, give, 0);
	rs_session_result_clear(&result);
	return TRUE;
}

/* ---- the list ---- */

/* A part of ListKept's answer ends with the rule that makes it this long. */
#define KEPT_PART 65536u

static gboolean on_list_kept(RsDBusSession1 *object, GDBusMethodInvocation *invocation,
			     GVariant *options, gpointer data)
{
	struct rs_server *server = data;
	g_autoptr(GArray) list = NULL;
	GVariantBuilder rows, more;
	uint64_t after = 0, size = 0;

	if (!rs_server_take_option(invocation, options, "after", "t", &after))
		return TRUE;
	list = rs_session_list_rules(server->session);
	g_variant_builder_init(&rows, G_VARIANT_TYPE("aa{sv}"));
	for (; after < list->len && size < KEPT_PART; after++) {
		const struct rs_session_rule *rule =
			&g_array_index(list, struct rs_session_rule, after);
		GVariant *row = rs_row_rule(rule);

		size += g_variant_get_size(row);
		g_variant_builder_add_value(&rows, row);
	}
	g_variant_builder_init(&more, G_VARIANT_TYPE_VARDICT);
	if (after < list->len)
		g_variant_builder_add(&more, "{sv}", "next", g_variant_new_uint64(after));
	rs_dbus_session1_complete_list_kept(object, invocation, g_variant_builder_end(&rows),
					    g_variant_builder_end(&more));
	return TRUE;
}

void rs_server_connect_wishes(struct rs_server *server)
{
	g_signal_connect(server->skeleton, "handle-enable", G_CALLBACK(on_enable), server);
	g_signal_connect(server->skeleton, "handle-disable", G_CALLBACK(on_disable), server);
	g_signal_connect(server->skeleton, "handle-set-filter", G_CALLBACK(on_set_filter), server);
	g_signal_connect(server->skeleton, "handle-clear-filter", G_CALLBACK(on_clear_filter),
			 server);
	g_signal_connect(server->skeleton, "handle-list-kept", G_CALLBACK(on_list_kept), server);
	g_signal_connect(server->skeleton, "handle-save-wishes", G_CALLBACK(on_save_wishes),
			 server);
	g_signal_connect(server->skeleton, "handle-restore-wishes", G_CALLBACK(on_restore_wishes),
			 server);
}
