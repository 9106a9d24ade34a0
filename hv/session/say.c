/* SPDX-License-Identifier: MIT */
/* Calls listeners, and limits how many messages a guest can cause. */
#include "session/private.h"

/* Limits of messages: so many at once, and so many a second after that. */
#define SAY_BURST 200
#define SAY_PER_SECOND 50

/* Calls one member of each listener that has it. */
#define TELL(session, member, ...)                                                                 \
	for (guint i_ = 0; i_ < (session)->listeners->len; i_++) {                                 \
		const struct rs_session_listener *l_ = (session)->listeners->pdata[i_];            \
                                                                                                   \
		if (l_->member)                                                                    \
			l_->member(l_->data, ##__VA_ARGS__);                                       \
	}

void rs_session_add_listener(struct rs_session *session, const struct rs_session_listener *listener)
{
	g_ptr_array_add(session->listeners, (gpointer)listener);
}

void rs_session_remove_listener(struct rs_session *session,
				const struct rs_session_listener *listener)
{
	g_ptr_array_remove(session->listeners, (gpointer)listener);
}

/* About a source, or about none. */
static void tell(struct rs_session *session, const struct rs_source *source, const char *text)
{
	g_autofree char *full = NULL;

	if (source && session->sources->len > 1)
		full = g_strdup_printf("%s: %s", source->name, text);
	TELL(session, message, full ? full : text)
}

static void tell_unsaid(struct rs_session *session, const struct rs_source *machine,
			struct say_credit *credit)
{
	g_autofree char *text = NULL;

	if (!credit->unsaid)
		return;
	text = g_strdup_printf("%" G_GUINT64_FORMAT " message%s left out", credit->unsaid,
			       credit->unsaid == 1 ? " was" : "s were");
	credit->unsaid = 0;
	tell(session, machine, text);
}

void rs_session_say_unsaid(struct rs_session *session)
{
	for (guint i = 0; i < session->sources->len; i++)
		tell_unsaid(session, nth_source(session, i), &nth_source(session, i)->credit);
	tell_unsaid(session, NULL, &session->credit);
}

static bool may_say(struct say_credit *credit)
{
	gint64 now = g_get_monotonic_time();
	gint64 earned;

	if (!credit->at) {
		credit->at = now;
		credit->left = SAY_BURST;
	}
	earned = (now - credit->at) * SAY_PER_SECOND / G_USEC_PER_SEC;
	if (earned > 0) {
		credit->left = (uint32_t)MIN(credit->left + earned, SAY_BURST);
		credit->at = now;
	}
	/*
	 * After the limit was reached, leave out messages for a moment. Otherwise a count of
	 * messages left out would follow each message.
	 */
	if (credit->left < (credit->unsaid ? SAY_PER_SECOND : 1)) {
		credit->unsaid++;
		return false;
	}
	credit->left--;
	return true;
}

static void say(struct rs_session *session, struct rs_source *source, const char *format,
		va_list args)
{
	struct rs_source *machine = source && source->machine ? source->machine : source;
	struct say_credit *credit = machine ? &machine->credit : &session->credit;
	g_autofree char *text = NULL;

	if (!may_say(credit))
		return;
	tell_unsaid(session, machine, credit);
	text = g_strdup_vprintf(format, args);
	tell(session, source, text);
}

void rs_session_say(struct rs_session *session, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(session, NULL, format, args);
	va_end(args);
}

void rs_source_say(struct rs_source *source, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(source->session, source, format, args);
	va_end(args);
}

int rs_source_result(const struct rs_source *source, int ret, struct rs_error *err)
{
	if (ret && err && source->session->sources->len > 1)
		rs_error_prefix(err, "%s", source->name);
	return ret;
}

void rs_session_say_failed(struct rs_session *session, const struct rs_error *err)
{
	TELL(session, failed, err)
}

void rs_session_say_engine(struct rs_session *session, const void *owner)
{
	TELL(session, engine, owner)
}

void rs_session_say_changed(struct rs_session *session)
{
	session->generation++;
	TELL(session, changed, session->generation)
}

void rs_session_say_ring_mode(struct rs_session *session, uint32_t mode)
{
	TELL(session, ring_mode, mode)
}

void rs_session_say_settled(struct rs_session *session, uint32_t request, int ret,
			    const struct rs_session_result *result, const struct rs_error *err)
{
	rs_triggers_settled(session, request, ret, result, err);
	TELL(session, settled, request, ret, result, err)
}

void rs_session_say_doorbell(struct rs_session *session)
{
	TELL(session, doorbell)
}

void rs_source_say_added(struct rs_source *source)
{
	source->session->source_changes++;
	TELL(source->session, added, source)
}

void rs_source_say_gone(struct rs_source *source)
{
	source->session->source_changes++;
	TELL(source->session, gone, source)
	rs_session_say_changed(source->session);
}

void rs_source_say_hello(struct rs_source *source)
{
	source->session->source_changes++;
	TELL(source->session, hello, source, &source->info)
}

void rs_source_say_panicked(struct rs_source *source)
{
	source->session->source_changes++;
	rs_session_say_changed(source->session);
}

void rs_source_say_ended(struct rs_source *source)
{
	source->session->source_changes++;
	rs_session_say_changed(source->session);
	TELL(source->session, ended, source, &source->end)
}
