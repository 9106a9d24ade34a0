/* SPDX-License-Identifier: MIT */
/* The pipe of rs-trace-expand.h. */
#include "rs-trace-expand.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* FALSE: the pipe has ended or failed. */
static gboolean read_all(int fd, gpointer bytes, gsize size)
{
	guint8 *to = bytes;

	while (size) {
		gssize n = read(fd, to, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return FALSE;
		to += n;
		size -= (gsize)n;
	}
	return TRUE;
}

static gboolean write_all(int fd, gconstpointer bytes, gsize size)
{
	const guint8 *from = bytes;

	while (size) {
		gssize n = write(fd, from, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return FALSE;
		from += n;
		size -= (gsize)n;
	}
	return TRUE;
}

/* The answer with its head. */
static void answer_request(RsTraceExpand *expand, const RsTraceExpandRequest *request,
			   const GByteArray *bytes, GByteArray *out)
{
	RsTraceExpandAnswer answer = {0};

	g_byte_array_set_size(out, 0);
	g_byte_array_append(out, (const guint8 *)&answer, sizeof(answer));
	if (request->kind == RS_TRACE_EXPAND_PROVIDER)
		rs_trace_expand_provider(expand, request->arg, bytes->data, bytes->len, out);
	else if (request->kind == RS_TRACE_EXPAND_PAGE)
		rs_trace_expand_page(expand, request, bytes->data, bytes->len, out,
				     &answer.records);
	answer.size = out->len - (guint)sizeof(answer);
	memcpy(out->data, &answer, sizeof(answer));
}

gboolean rs_trace_expand_serve(int in, int out)
{
	g_autoptr(RsTraceExpand) expand = rs_trace_expand_new();
	g_autoptr(GByteArray) bytes = g_byte_array_new(), answer = g_byte_array_new();
	RsTraceExpandRequest request;

	while (read_all(in, &request, sizeof(request))) {
		if (request.size > RS_TRACE_EXPAND_MAX)
			return FALSE;
		g_byte_array_set_size(bytes, request.size);
		if (!read_all(in, bytes->data, request.size))
			return FALSE;
		answer_request(expand, &request, bytes, answer);
		if (!write_all(out, answer->data, answer->len))
			return FALSE;
	}
	return TRUE;
}
