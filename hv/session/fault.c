/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* strerrorname_np */
#include "session/fault.h"

#include <errno.h>
#include <string.h>

#define ERRNO_MAX 4095 /* what a system call can return as an error, on Linux */
#define WORDS_MAX 16u

/* A word of the text, which is a key and its value but for the first. */
struct word {
	const char *key, *value;
	size_t key_size, size; /* size: of the value */
	bool taken;
};

struct parser {
	const char *text;
	struct rs_filter_error *why;
	struct word words[WORDS_MAX];
	size_t n;
};

static int blame(const struct parser *p, int code, const char *at, size_t length,
		 const char *format, ...) G_GNUC_PRINTF(5, 6);

static int blame(const struct parser *p, int code, const char *at, size_t length,
		 const char *format, ...)
{
	va_list args;

	p->why->code = code;
	p->why->at = (unsigned int)(at - p->text);
	p->why->length = (unsigned int)MAX(length, 1);
	va_start(args, format);
	g_vsnprintf(p->why->message, sizeof(p->why->message), format, args);
	va_end(args);
	return -code;
}

static int blame_value(const struct parser *p, const struct word *word, const char *what)
{
	return blame(p, EINVAL, word->value, word->size, "%s", what);
}

/* ---- words ---- */

/* What is in quotes may have spaces: comm="a b". */
static size_t word_size(const char *at)
{
	bool quoted = false;
	size_t size = 0;

	for (; at[size] && (quoted || at[size] != ' '); size++)
		quoted ^= at[size] == '"';
	return size;
}

static void set_word(struct word *word, const char *at, size_t size)
{
	const char *equals = memchr(at, '=', size);

	*word = (struct word){.key = at, .key_size = equals ? (size_t)(equals - at) : size};
	word->value = equals ? equals + 1 : at + size;
	word->size = size - (size_t)(word->value - at);
	if (word->size >= 2 && *word->value == '"' && word->value[word->size - 1] == '"') {
		word->value++;
		word->size -= 2;
	}
}

static int split(struct parser *p)
{
	const char *at = p->text;

	if (strlen(p->text) > RS_FAULT_TEXT_MAX)
		return blame(p, EINVAL, p->text + RS_FAULT_TEXT_MAX, 1,
			     "a fault has at most %u bytes", RS_FAULT_TEXT_MAX);
	for (; *at; at++)
		if (!g_ascii_isprint(*at))
			return blame(p, EINVAL, at, 1, "only printable ASCII may stand here");
	for (at = p->text + strspn(p->text, " "); *at; at += strspn(at, " ")) {
		size_t size = word_size(at);

		if (p->n == WORDS_MAX)
			return blame(p, EINVAL, at, size, "these are too many words");
		set_word(&p->words[p->n++], at, size);
		at += size;
	}
	if (!p->n)
		return blame(p, EINVAL, at, 1,
			     "a fault is due: pause, fail, flip, nmi, reboot or kill");
	return 0;
}

static bool is(const struct word *word, const char *key)
{
	return word->key_size == strlen(key) && !memcmp(word->key, key, word->key_size);
}

/* The value of a key, at most once; NULL: it is not there. */
static struct word *find(struct parser *p, const char *key)
{
	for (size_t i = 1; i < p->n; i++) {
		if (!p->words[i].taken && is(&p->words[i], key)) {
			p->words[i].taken = true;
			return &p->words[i];
		}
	}
	return NULL;
}

static int need(struct parser *p, const char *key, const char *what, struct word **out)
{
	const struct word *kind = &p->words[0];

	*out = find(p, key);
	if (*out)
		return 0;
	return blame(p, EINVAL, kind->key, kind->key_size, "%s is missing: %s", key, what);
}

/* What nobody has asked for. */
static int refuse_rest(struct parser *p, const char *keys)
{
	for (size_t i = 1; i < p->n; i++) {
		const struct word *word = &p->words[i];

		if (word->taken)
			continue;
		for (size_t k = 1; k < i; k++)
			if (p->words[k].key_size == word->key_size &&
			    !memcmp(p->words[k].key, word->key, word->key_size))
				return blame(p, EINVAL, word->key, word->key_size,
					     "this key is there twice");
		return blame(p, EINVAL, word->key, word->key_size,
			     *keys ? "there is no such key here; there is %s" : "%sthis takes none",
			     keys);
	}
	return 0;
}

/* ---- values ---- */

/* All of it, decimal or 0x…, as an unsigned number. */
static bool number_of(const char *text, size_t size, uint64_t *out)
{
	const bool hex = size > 2 && text[0] == '0' && (text[1] | 0x20) == 'x';
	const unsigned int base = hex ? 16 : 10;
	uint64_t value = 0;

	for (size_t i = hex ? 2 : 0; i < size; i++) {
		int digit = g_ascii_xdigit_value(text[i]);

		if (digit < 0 || digit >= (int)base ||
		    value > (UINT64_MAX - (uint64_t)digit) / base)
			return false;
		value = value * base + (uint64_t)digit;
	}
	*out = value;
	return size > 0;
}

static int take_number(const struct parser *p, const struct word *word, uint64_t least,
		       uint64_t most, uint64_t *out)
{
	if (!number_of(word->value, word->size, out) || *out < least || *out > most)
		return blame(p, EINVAL, word->value, word->size,
			     "a number from %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT " is due",
			     least, most);
	return 0;
}

/* Digits, perhaps a point and more of them, then a unit. */
static bool time_of(const char *text, size_t size, uint64_t *ns)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
	size_t digits = 0, more = 0;
	uint64_t whole, part = 0;

	while (digits < size && g_ascii_isdigit(text[digits]))
		digits++;
	if (!digits || digits > 12 || !number_of(text, digits, &whole))
		return false;
	text += digits;
	size -= digits;
	if (size && *text == '.') {
		while (1 + more < size && g_ascii_isdigit(text[1 + more]))
			more++;
		if (!more || more > 9 || !number_of(text + 1, more, &part))
			return false;
		text += 1 + more;
		size -= 1 + more;
	}
	for (size_t i = 0; i < G_N_ELEMENTS(units); i++) {
		uint64_t scale = 1;

		if (strlen(units[i].name) != size || memcmp(units[i].name, text, size))
			continue;
		while (more--)
			scale *= 10;
		if (whole > RS_FAULT_NS_MAX / units[i].ns)
			return false;
		*ns = whole * units[i].ns + part * units[i].ns / scale;
		return *ns <= RS_FAULT_NS_MAX;
	}
	return false;
}

static int take_time(const struct parser *p, const struct word *word, uint64_t *ns)
{
	if (!time_of(word->value, word->size, ns) || !*ns)
		return blame_value(p, word, "a time is due, such as 10ms, up to 600s");
	return 0;
}

static int take_name(const struct parser *p, const struct word *word, const char *what,
		     char out[RS_FAULT_NAME_MAX + 1])
{
	if (!word->size || word->size > RS_FAULT_NAME_MAX)
		return blame_value(p, word, what);
	memcpy(out, word->value, word->size);
	out[word->size] = '\0';
	return 0;
}

static bool may_be_symbol(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (!g_ascii_isalnum(text[i]) && !strchr("_.$@", text[i]))
			return false;
	return size && !g_ascii_isdigit(*text);
}

/* SYMBOL, SYMBOL+N or an address. */
static int take_place(const struct parser *p, const struct word *word, struct rs_fault_place *out)
{
	const char *plus = memchr(word->value, '+', word->size);
	size_t size = plus ? (size_t)(plus - word->value) : word->size;

	if (g_ascii_isdigit(*word->value)) {
		if (!number_of(word->value, word->size, &out->at))
			return blame_value(p, word, "this is no address");
		return 0;
	}
	if (!may_be_symbol(word->value, size) || size > RS_FAULT_NAME_MAX)
		return blame(p, EINVAL, word->value, size,
			     "a symbol or an address such as 0x1000 is due");
	if (plus && !number_of(plus + 1, word->size - size - 1, &out->at))
		return blame(p, EINVAL, plus + 1, word->size - size - 1,
			     "a number of bytes behind the symbol is due");
	memcpy(out->symbol, word->value, size);
	out->symbol[size] = '\0';
	return 0;
}

/* ---- kinds ---- */

static int parse_cpus(const struct parser *p, const struct word *word, struct rs_fault *out)
{
	const char *at = word->value, *end = at + word->size;

	out->some_cpus = true;
	for (;;) {
		const char *comma = memchr(at, ',', (size_t)(end - at));
		size_t size = (size_t)((comma ? comma : end) - at);
		uint64_t cpu;

		if (!number_of(at, size, &cpu) || cpu >= RS_MAX_CPUS)
			return blame(p, EINVAL, at, size, "a vCPU's number is due");
		out->cpus[cpu / 64] |= 1ull << cpu % 64;
		if (!comma)
			return 0;
		at = comma + 1;
	}
}

static int parse_pause(struct parser *p, struct rs_fault *out)
{
	struct word *word, *cpus = find(p, "cpu");
	int ret = cpus ? parse_cpus(p, cpus, out) : 0;

	if (!ret)
		ret = need(p, "for", "how long, such as for=10ms", &word);
	if (!ret)
		ret = take_time(p, word, &out->for_ns);
	return ret ? ret : refuse_rest(p, "for, cpu");
}

static int parse_return(const struct parser *p, const struct word *word, int64_t *out)
{
	const bool minus = word->size && *word->value == '-';
	uint64_t value;

	if (!number_of(word->value + minus, word->size - minus, &value) ||
	    (minus && value > 1ull << 63))
		return blame_value(p, word, "a number of 64 bits is due");
	*out = (int64_t)(minus ? -value : value);
	return 0;
}

static int parse_function(struct parser *p, const struct word *function, struct rs_fault *out)
{
	struct word *word, *span = find(p, "for");
	int ret = take_place(p, function, &out->place);

	out->kind = RS_FAULT_FAIL_FUNCTION;
	if (!ret)
		ret = need(p, "return", "what the function returns, such as return=-12", &word);
	if (!ret)
		ret = parse_return(p, word, &out->value);
	if (!ret && span)
		ret = take_time(p, span, &out->for_ns);
	return ret ? ret : refuse_rest(p, "function, return, for");
}

/* Its name, as Linux calls it, or its number. */
static int take_error(const struct parser *p, const struct word *word, int *out)
{
	uint64_t number;

	if (number_of(word->value, word->size, &number) && number && number <= ERRNO_MAX) {
		*out = (int)number;
		return 0;
	}
	for (int i = 1; i <= ERRNO_MAX; i++) {
		const char *name = strerrorname_np(i);

		if (name && strlen(name) == word->size && !memcmp(name, word->value, word->size)) {
			*out = i;
			return 0;
		}
	}
	return blame_value(p, word, "an error is due, such as ENOENT, or its number");
}

static int parse_syscall(struct parser *p, const struct word *call, struct rs_fault *out)
{
	struct word *word, *pid = find(p, "pid"), *comm = find(p, "comm"),
			   *count = find(p, "count");
	uint64_t number = 0;
	int ret = 0;

	out->kind = RS_FAULT_FAIL_SYSCALL;
	if (!number_of(call->value, call->size, &out->number))
		ret = take_name(p, call, "a system call's name or number is due", out->syscall);
	if (!ret)
		ret = need(p, "error", "what the call fails with, such as error=ENOENT", &word);
	if (!ret)
		ret = take_error(p, word, &out->error);
	if (!ret && pid && comm)
		ret = blame(p, EINVAL, comm->key, comm->key_size, "pid says already which thread");
	if (!ret && pid)
		ret = take_number(p, pid, 1, UINT32_MAX, &number);
	out->pid = (uint32_t)number;
	if (!ret && comm)
		ret = take_name(p, comm, "a glob of commands is due", out->comm);
	if (!ret && count)
		ret = take_number(p, count, 1, UINT32_MAX, &out->count);
	return ret ? ret : refuse_rest(p, "syscall, error, pid, comm, count");
}

static int parse_fail(struct parser *p, struct rs_fault *out)
{
	const struct word *kind = &p->words[0], *function = find(p, "function");
	const struct word *call = function ? NULL : find(p, "syscall");

	if (function)
		return parse_function(p, function, out);
	if (call)
		return parse_syscall(p, call, out);
	return blame(p, EINVAL, kind->key, kind->key_size,
		     "what is to fail? function=SYMBOL or syscall=NAME");
}

static int parse_flip(struct parser *p, struct rs_fault *out)
{
	struct word *bit = find(p, "bit"), *mask = find(p, "mask"), *at = find(p, "at"),
		    *phys = find(p, "phys");
	const struct word *kind = &p->words[0];
	uint64_t number = 0;
	int ret;

	out->place.physical = phys != NULL;
	if (!at == !phys)
		return blame(p, EINVAL, kind->key, kind->key_size,
			     "where? either at=SYMBOL or phys=0x…");
	if (!bit == !mask)
		return blame(p, EINVAL, kind->key, kind->key_size,
			     "what? either bit=N or mask=0x…");
	ret = phys ? take_number(p, phys, 0, UINT64_MAX, &out->place.at)
		   : take_place(p, at, &out->place);
	if (!ret && bit)
		ret = take_number(p, bit, 0, 63, &number);
	if (!ret)
		out->mask = 1ull << number;
	if (!ret && mask)
		ret = take_number(p, mask, 1, UINT64_MAX, &out->mask);
	return ret ? ret : refuse_rest(p, "at, phys, bit, mask");
}

static int parse_plain(struct parser *p, struct rs_fault *out)
{
	return refuse_rest(p, "");
}

/* KVM delivers them, and so does QEMU: nobody hands them to us on their way. */
static int parse_interrupt(struct parser *p, struct rs_fault *out)
{
	const struct word *kind = &p->words[0];

	return blame(p, ENOTSUP, kind->key, kind->key_size,
		     "interrupts go from KVM or QEMU to the guest, and do not pass through us");
}

static const struct {
	const char *name;
	enum rs_fault_kind kind;
	int (*parse)(struct parser *p, struct rs_fault *out);
} kinds[] = {
	{"pause", RS_FAULT_PAUSE, parse_pause},       {"fail", RS_FAULT_FAIL_FUNCTION, parse_fail},
	{"flip", RS_FAULT_FLIP, parse_flip},          {"nmi", RS_FAULT_NMI, parse_plain},
	{"reboot", RS_FAULT_REBOOT, parse_plain},     {"kill", RS_FAULT_KILL, parse_plain},
	{"interrupt", RS_FAULT_NMI, parse_interrupt},
};

int rs_fault_parse(const char *text, struct rs_fault *out, struct rs_filter_error *why)
{
	struct parser p = {.text = text, .why = why};
	const struct word *kind = &p.words[0];
	int ret = split(&p);

	for (size_t i = 0; i < G_N_ELEMENTS(kinds) && !ret; i++) {
		struct rs_fault fault = {.kind = kinds[i].kind};

		if (!is(kind, kinds[i].name))
			continue;
		if (kind->key[kind->key_size] == '=')
			break;
		ret = kinds[i].parse(&p, &fault);
		if (!ret)
			*out = fault;
		return ret;
	}
	return ret ? ret
		   : blame(&p, EINVAL, kind->key, kind->key_size,
			   "there is no such fault; there is pause, fail, flip, nmi, reboot, kill");
}

int rs_fault_blame(const char *text, const struct rs_filter_error *why, struct rs_error *err)
{
	g_autofree char *shown = rs_filter_error_render(why, text);

	return rs_error_set(err, why->code, "bad fault\n%s", shown);
}

bool rs_fault_parse_time(const char *text, uint64_t *ns)
{
	uint64_t value;

	if (!time_of(text, strlen(text), &value))
		return false;
	*ns = value;
	return true;
}

bool rs_fault_lasts(const struct rs_fault *fault)
{
	return fault->kind == RS_FAULT_PAUSE || fault->kind == RS_FAULT_FAIL_FUNCTION ||
	       fault->kind == RS_FAULT_FAIL_SYSCALL;
}
