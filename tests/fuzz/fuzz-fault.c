/* SPDX-License-Identifier: MIT */
/*
 * The text of a fault. One that is accepted keeps all promises of its struct, and stays the same
 * with more spaces; a mistake has a place in the text, and a message for a terminal.
 */
#include "input.h"
#include "seed.h"
#include "session/fault.h"

#include <stdlib.h>
#include <string.h>

void rs_fuzz_seeds(void)
{
	static const char *const texts[] = {
		"pause cpu=0,2 for=1.5ms",
		"fail function=do_it+0x10 return=-12 for=50ms",
		"fail syscall=open error=ENOENT comm=\"a b*\" count=3",
		"fail syscall=257 error=13 pid=12",
		"flip at=0xffffffff81000000 bit=63",
		"flip phys=0x1000 mask=0xff00",
		"nmi",
		"reboot",
		"interrupt drop=32",
	};
	char name[16];

	for (unsigned int i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_snprintf(name, sizeof(name), "fault-%u", i);
		rs_fuzz_seed(name, texts[i], strlen(texts[i]));
	}
}

static void check_name(const char *name, size_t size)
{
	if (strnlen(name, size) == size)
		abort();
	for (; *name; name++)
		if (!g_ascii_isprint(*name))
			abort();
}

RS_FUZZ_NOT_SEEN static void check_fault(const struct rs_fault *fault)
{
	uint64_t ns;
	bool any = false;

	check_name(fault->place.symbol, sizeof(fault->place.symbol));
	check_name(fault->syscall, sizeof(fault->syscall));
	check_name(fault->comm, sizeof(fault->comm));
	for (uint32_t i = 0; i < RS_MAX_CPUS; i++)
		any |= rs_fault_has_cpu(fault, i);
	if (any != fault->some_cpus || fault->for_ns > RS_FAULT_NS_MAX)
		abort();
	if (fault->kind == RS_FAULT_PAUSE && !fault->for_ns)
		abort();
	if (fault->kind == RS_FAULT_FLIP && !fault->mask)
		abort();
	if (fault->kind == RS_FAULT_FAIL_SYSCALL && (fault->error < 1 || fault->error > 4095))
		abort();
	if (rs_fault_parse_time(fault->comm, &ns) && ns > RS_FAULT_NS_MAX)
		abort();
}

RS_FUZZ_NOT_SEEN static void check_mistake(const char *text, const struct rs_filter_error *why)
{
	struct rs_error err = {0};

	if (why->at > strlen(text) || !*why->message)
		abort();
	if (rs_fault_blame(text, why, &err) != -why->code || err.code != why->code)
		abort();
	for (const char *at = err.message; *at; at++)
		if (*at != '\n' && ((guchar)*at < 0x20 || *at == 0x7f))
			abort();
}

/* All words but those in quotes have two spaces between them. */
static char *widen(const char *text)
{
	GString *out = g_string_new(" ");
	bool quoted = false;

	for (; *text; text++) {
		quoted ^= *text == '"';
		g_string_append_c(out, *text);
		if (*text == ' ' && !quoted)
			g_string_append_c(out, ' ');
	}
	return g_string_free(out, FALSE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autofree char *text = g_strndup((const char *)data, size), *wide = widen(text);
	struct rs_filter_error why = {0};
	struct rs_fault fault, again;
	uint64_t ns;

	memset(&fault, 0xaa, sizeof(fault));
	rs_fault_parse_time(text, &ns);
	if (rs_fault_parse(text, &fault, &why)) {
		check_mistake(text, &why);
		return 0;
	}
	check_fault(&fault);
	memset(&again, 0xaa, sizeof(again));
	if (strlen(wide) <= RS_FAULT_TEXT_MAX &&
	    (rs_fault_parse(wide, &again, &why) || again.kind != fault.kind ||
	     again.for_ns != fault.for_ns || again.mask != fault.mask ||
	     memcmp(again.cpus, fault.cpus, sizeof(fault.cpus))))
		abort();
	return 0;
}
