/* SPDX-License-Identifier: MIT */
/* Where the symbols of what runs in a source lie. */
#include "session/private.h"

#include <errno.h>
#include <rs-trace-symbol-file.h>
#include <unistd.h>

struct rs_source_symbols {
	RsTraceSymbolFile *file; /* NULL: not read yet */
};

/* The file is read when a name is asked for the first time, and kept. NULL: `err` says why. */
static RsTraceSymbolFile *symbols_of(const struct rs_source *source, struct rs_error *err)
{
	struct rs_source_symbols *symbols = source->symbols;
	GError *error = NULL;
	int fd, ret;

	if (symbols->file)
		return symbols->file;
	ret = rs_source_open_program(source, &fd, err);
	if (ret) {
		rs_error_prefix(err, "names of places are not known, and an address is due");
		return NULL;
	}
	symbols->file = rs_trace_symbol_file_read(fd, rs_source_program(source), &error);
	close(fd);
	if (!symbols->file)
		rs_error_take(err, ENOTSUP, error);
	return symbols->file;
}

/* Where the file's image lies: what must be added to its addresses. */
static int find_bias(const struct rs_source *source, RsTraceSymbolFile *file, uint64_t *bias,
		     struct rs_error *err)
{
	for (uint32_t i = 0; i < source->provider_slots; i++) {
		RsTraceSymbolPlace place;

		if (source->providers[i].state != RS_PROVIDER_LIVE ||
		    !rs_trace_symbol_file_fits(file, &source->providers[i], &place))
			continue;
		*bias = place.bias;
		return 0;
	}
	return rs_error_set(err, EAGAIN,
			    "where '%s' lies is not known: none of its providers is "
			    "registered",
			    rs_source_program(source));
}

int rs_source_find_symbol(const struct rs_source *source, const char *name, uint64_t *at,
			  uint64_t *size, struct rs_error *err)
{
	RsTraceSymbolFile *file = symbols_of(source, err);
	uint64_t start = 0, length = 0, bias = 0;
	guint found;
	int ret;

	if (!file)
		return -err->code;
	found = rs_trace_symbol_file_find(file, name, &start, &length);
	if (found != 1)
		return rs_error_set(err, EINVAL,
				    found ? "%u symbols are called '%s': an address "
					    "is due"
					  : "%.0u'%s' is no symbol of what runs there",
				    found, name);
	ret = find_bias(source, file, &bias, err);
	if (ret)
		return ret;
	*at = start + bias;
	*size = length;
	return 0;
}

struct rs_source_symbols *rs_source_symbols_new(void)
{
	return g_new0(struct rs_source_symbols, 1);
}

void rs_source_symbols_free(struct rs_source_symbols *symbols)
{
	rs_trace_symbol_file_unref(symbols->file);
	g_free(symbols);
}
