/* SPDX-License-Identifier: MIT */
#include "made.h"

#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static struct random_record record;

static int check(const void *bytes, uint32_t size, uint32_t kind, struct rs_error *err)
{
	static struct rs_native native;

	memset(&native, RS_NATIVE_UNUSED, sizeof(native));
	native.kind = kind;
	native.entry_size = RANDOM_ENTRY;
	native.dyn_count = RANDOM_DYNS;
	native.text = native.size = size;
	memcpy(native.bytes, bytes, size);
	return rs_native_check(RS_ARCH_X86_64, &native, err);
}

struct bad {
	const char *what, *why;
	uint8_t bytes[40];
	uint8_t size;
};

/* One instruction between a begin and an end that are good. */
static const struct bad bad[] = {
	{"call", "an instruction", {0xe8, 0, 0, 0, 0}, 5},
	{"call *%rax", "an instruction", {0xff, 0xd0}, 2},
	{"jmp *%rax", "an instruction", {0xff, 0xe0}, 2},
	{"jmp *(%rdi)", "an instruction", {0xff, 0x27}, 2},
	{"push", "an instruction", {0x50}, 1},
	{"pop", "an instruction", {0x5b}, 1},
	{"syscall", "an instruction", {0x0f, 0x05}, 2},
	{"int3", "an instruction", {0xcc}, 1},
	{"hlt", "an instruction", {0xf4}, 1},
	{"out", "an instruction", {0xee}, 1},
	{"wrmsr", "an instruction", {0x0f, 0x30}, 2},
	{"rdtsc", "an instruction", {0x0f, 0x31}, 2},
	{"cpuid", "an instruction", {0x0f, 0xa2}, 2},
	{"rep movsb", "prefix", {0xf3, 0xa4}, 2},
	{"lock add", "prefix", {0xf0, 0x48, 0x83, 0x07, 1}, 5},
	{"xchg", "an instruction", {0x48, 0x87, 0x07}, 3},
	{"movaps", "an instruction", {0x0f, 0x28, 0x07}, 3},
	{"ret $8", "return", {0xc2, 8, 0}, 3},
	{"mov %eax,(%rdi)", "a write", {0x89, 0x07}, 2},
	{"mov %rax,(%rsi)", "a write", {0x48, 0x89, 0x06}, 3},
	{"add $1,(%rdi)", "a write", {0x83, 0x07, 1}, 3},
	{"mov %eax,%ebx", "a write", {0x89, 0xc3}, 2},
	{"mov %rax,%rsp", "a write", {0x48, 0x89, 0xc4}, 3},
	{"mov %rax,%rdi", "a write", {0x48, 0x89, 0xc7}, 3},
	{"mov $1,%r12d", "a write", {0x41, 0xbc, 1, 0, 0, 0}, 6},
	{"mov $1,%r8d", "a write", {0x41, 0xb8, 1, 0, 0, 0}, 6},
	{"mov %rax,%r9", "a write", {0x49, 0x89, 0xc1}, 3},
	{"add $2,%r8", "a write", {0x49, 0x83, 0xc0, 2}, 4},
	{"mov (%rdi),%r8", "a write", {0x4c, 0x8b, 0x07}, 3},
	{"mov (%rsp),%eax", "a load", {0x8b, 0x04, 0x24}, 3},
	{"mov (%rax),%eax", "a load", {0x8b, 0x00}, 2},
	{"mov 69(%rdi),%eax", "a load", {0x8b, 0x47, 69}, 3},
	{"mov -1(%rdi),%eax", "a load", {0x8b, 0x47, 0xff}, 3},
	{"mov (%rdi,%rax),%eax", "a load", {0x8b, 0x04, 0x07}, 3},
	{"mov (%rsi),%rax", "a load", {0x48, 0x8b, 0x06}, 3},
	{"mov 44(%rsi),%eax", "a load", {0x8b, 0x46, 44}, 3},
	{"mov 0(%rip),%eax", "a load", {0x8b, 0x05, 0, 0, 0, 0}, 6},
	{"mov %gs:0,%eax", "prefix", {0x65, 0x8b, 0x04, 0x25, 0, 0, 0, 0}, 8},
	{"cmp (%rbx),%eax", "a load", {0x3b, 0x03}, 2},
	{"bt %eax,(%rdi)", "a bit", {0x0f, 0xa3, 0x07}, 3},
	{"lea 8(%rip),%r8", "the address", {0x4c, 0x8d, 0x05, 8, 0, 0, 0}, 7},
	{"lea 999(%rip),%r11", "the address", {0x4c, 0x8d, 0x1d, 0xe7, 3, 0, 0}, 7},
	{"lea (%rdi),%r8", "the address", {0x4c, 0x8d, 0x07}, 3},
	{"jmp back", "a jump back", {0xeb, 0xfe}, 2},
	{"jmp into", "a jump to somewhere", {0xeb, 0x01}, 2},
	{"jne out", "a jump to somewhere", {0x75, 0x40}, 2},
	{"endbr64", "an instruction", {0xf3, 0x0f, 0x1e, 0xfa}, 4},
};

#define SET_COMM 0x4c, 0x8b, 0x46, 0x18        /* mov 24(%rsi),%r8 */
#define SET_DYNS 0x4c, 0x8b, 0x46, 0x10        /* mov 16(%rsi),%r8 */
#define READ_R8 0x41, 0x0f, 0xb6, 0x00         /* movzbl (%r8),%eax */
#define READ_R9 0x41, 0x0f, 0xb6, 0x01         /* movzbl (%r9),%eax */
#define COUNT(reg) 0xb8 | (reg), 8, 0, 0, 0    /* mov $8,%reg: 1 is ecx, 2 is edx */
#define START 0x31, 0xd2, COUNT(1), 0x3b, 0xd1 /* edx = 0, ecx = 8, at 7: cmp %ecx,%edx */

/* Good instructions that are none together. */
static const struct bad ways[] = {
	{"r8 that nobody set", "a load", {READ_R8}, 4},
	{"what a name holds as a pointer", "a load", {SET_COMM, 0x4d, 0x8b, 0x08, READ_R9}, 11},
	{"r8 that is set on one way", "a load", {0x83, 0x3f, 0, 0x74, 4, SET_COMM, READ_R8}, 13},
	{"r8 that is one thing or another",
	 "a load",
	 {0x83, 0x3f, 0, 0x74, 6, SET_COMM, 0xeb, 4, SET_DYNS, READ_R8},
	 19},
	{"a pointer's bytes", "a load", {SET_DYNS, READ_R8}, 8},
	{"half a pointer", "a load", {SET_DYNS, 0x41, 0x8b, 0x00}, 7},
	{"a size as a pointer", "a load", {SET_DYNS, 0x4d, 0x8b, 0x48, 8}, 8},
	{"a field that is not there", "a load", {SET_DYNS, 0x4d, 0x8b, 0x48, 16 * RANDOM_DYNS}, 8},
	{"a field by a number", "a load", {SET_DYNS, 0x41, 0x8b, 0x44, 0x00, 8}, 9},
	{"the end of a string", "a load", {SET_COMM, 0x4d, 0x8d, 0x0c, 0x08, READ_R9}, 12},
	{"fields and a number", "the address", {SET_DYNS, 0x4d, 0x8d, 0x04, 0x00}, 8},
	{"fields, moved on", "the address", {SET_DYNS, 0x49, 0x83, 0xc0, 4}, 8},
	{"a number and an argument", "the address", {0x8d, 0x04, 0x07}, 3},
	{"another pointer the second time",
	 "another pointer",
	 {SET_COMM, COUNT(1), READ_R8, SET_DYNS, 0x83, 0xe9, 1, 0x75, 0xf3},
	 22},
	{"a jump to what else is never run",
	 "another pointer",
	 {0xeb, 2, 0x31, 0xc0, 0x75, 0xfc},
	 6},
	/* cmp %ecx,%edx; je; test; je; movzbl %dl,%edx; jmp */
	{"an endless loop",
	 "a jump back",
	 {0x31, 0xc0, COUNT(1), COUNT(2), 0x3b, 0xd1, 0x74, 9, 0x85, 0xc9, 0x74, 5, 0x0f, 0xb6,
	  0xd2, 0xeb, 0xf3},
	 25},
	/* jae; cmp (%rdi); je back; add; jmp back */
	{"a way past the count",
	 "a jump back",
	 {START, 0x73, 10, 0x83, 0x3f, 0, 0x74, 0xf7, 0x83, 0xc2, 1, 0xeb, 0xf2},
	 21},
	{"an end that moves on",
	 "a jump back",
	 {START, 0x73, 8, 0x83, 0xc2, 1, 0x83, 0xc1, 1, 0xeb, 0xf4},
	 19},
	{"the lower byte of an end that moves on",
	 "a jump back",
	 {0x31, 0xc0, COUNT(1), 0x3a, 0xc1, 0x73, 7, 0x04, 1, 0x83, 0xc1, 1, 0xeb, 0xf5},
	 18},
	{"a count that is set back",
	 "a jump back",
	 {START, 0x73, 7, 0x31, 0xd2, 0x83, 0xc2, 1, 0xeb, 0xf5},
	 18},
	{"a count that an inner loop may let pass its end",
	 "a jump back",
	 {START, 0x73, 11, 0x83, 0xc2, 1, 0x41, 0x83, 0xea, 1, 0x75, 0xf7, 0xeb, 0xf1},
	 22},
	{"a count that may pass its end",
	 "a jump back",
	 {START, 0x73, 5, 0x83, 0xc2, 2, 0xeb, 0xf7},
	 16},
	{"an exit that is none", "a jump back", {START, 0x73, 0, 0x83, 0xc2, 1, 0xeb, 0xf7}, 16},
	{"a count of the lower half",
	 "a jump back",
	 {0x31, 0xd2, COUNT(1), 0x48, 0x3b, 0xd1, 0x73, 5, 0x83, 0xc2, 1, 0xeb, 0xf6},
	 17},
	{"a way around the count down",
	 "a jump back",
	 {COUNT(1), 0x85, 0xc0, 0x74, 3, 0x83, 0xe9, 1, 0x75, 0xf7},
	 14},
	{"a count by two", "a jump back", {COUNT(1), 0x83, 0xe9, 2, 0x75, 0xfb}, 10},
	/* cmp %edx,%ecx; jae; mov %ecx,%edx; jmp: without the jump it may be the same for ever */
	{"a descent without an end", "a jump back", {COUNT(1), 0x89, 0xca, 0xeb, 0xfc}, 9},
	/*
	 * Each loop would end, were it not for the other one: at 7 the outer one, which sets r10d;
	 * at 25 the inner one, which begins with a jump to 7 and counts r10d down behind it.
	 */
	{"loops that overlap",
	 "a jump back",
	 {START, 0x73, 22,   0x41, 0xba, 8,    0,    0,    0,    0x83, 0x3f, 0,   0x75,
	  5,     0x83, 0xc2, 1,    0xeb, 0xec, 0x41, 0x83, 0xea, 1,    0x75, 0xf8},
	 33},
};

/* Loops as good as those. */
static const struct bad loops[] = {
	{"advancing", NULL, {START, 0x73, 5, 0x83, 0xc2, 1, 0xeb, 0xf7}, 16},
	{"counted down", NULL, {COUNT(1), 0x83, 0xe9, 1, 0x75, 0xfb}, 10},
	{"counted up", NULL, {0x31, 0xc0, 0x83, 0xc0, 1, 0x83, 0xf8, 9, 0x72, 0xf8}, 10},
	/* at 5: cmp %edx,%ecx; jae; mov %ecx,%edx; jmp */
	{"descending", NULL, {COUNT(2), 0x3b, 0xca, 0x73, 4, 0x8b, 0xd1, 0xeb, 0xf8}, 13},
	{"the same on two ways",
	 NULL,
	 {0x83, 0x3f, 0, 0x74, 6, SET_COMM, 0xeb, 4, SET_COMM, READ_R8},
	 19},
};

static uint32_t wrap(const uint8_t *bytes, uint32_t size, uint8_t *out)
{
	static const uint8_t begin[] = {0xf3, 0x0f, 0x1e, 0xfa}, end[] = {0xb8, 1, 0, 0, 0, 0xc3};

	memcpy(out, begin, sizeof(begin));
	if (size)
		memcpy(out + sizeof(begin), bytes, size);
	memcpy(out + sizeof(begin) + size, end, sizeof(end));
	return (uint32_t)sizeof(begin) + size + (uint32_t)sizeof(end);
}

static void refuse_all(const struct bad *list, unsigned int count)
{
	uint8_t code[64];

	for (unsigned int i = 0; i < count; i++) {
		struct rs_error err = {0};
		uint32_t size = wrap(list[i].bytes, list[i].size, code);

		if (check(code, size, RS_NATIVE_INPUT, &err) != -EILSEQ ||
		    !strstr(err.message, list[i].why))
			g_error("%s: '%s'", list[i].what, err.message);
	}
}

static void test_forbidden(void)
{
	uint8_t code[64];

	refuse_all(bad, G_N_ELEMENTS(bad));
	g_assert_cmpint(check(code, wrap(NULL, 0, code), RS_NATIVE_INPUT, NULL), ==, 0);
}

static void test_ways(void)
{
	uint8_t code[64];

	refuse_all(ways, G_N_ELEMENTS(ways));
	for (unsigned int i = 0; i < G_N_ELEMENTS(loops); i++) {
		struct rs_error err = {0};
		uint32_t size = wrap(loops[i].bytes, loops[i].size, code);

		if (check(code, size, RS_NATIVE_INPUT, &err))
			g_error("%s: '%s'", loops[i].what, err.message);
	}
}

/* What lies behind the code may be read as far as it goes. */
static void test_table(void)
{
	/* lea 10(%rip),%r11: behind what follows; movzbl n(%r11,%rax),%eax */
	static const uint8_t read[] = {0x4c, 0x8d, 0x1d, 12,   0,    0, 0,
				       0x41, 0x0f, 0xb6, 0x44, 0x03, 0};
	static struct rs_native native = {.kind = RS_NATIVE_FIELDS};

	native.text = wrap(read, sizeof(read), native.bytes);
	native.size = native.text + 8;
	for (uint8_t i = 0; i < 16; i++) {
		native.bytes[4 + sizeof(read) - 1] = i;
		g_assert_cmpint(rs_native_check(RS_ARCH_X86_64, &native, NULL), ==,
				i < 8 ? 0 : -EILSEQ);
	}
	native.bytes[4 + sizeof(read) - 1] = 0xff;
	g_assert_cmpint(rs_native_check(RS_ARCH_X86_64, &native, NULL), ==, -EILSEQ);
}

/* What is good for a filter that has the input is not for one that has only the entry. */
static void test_kind(void)
{
	static const uint8_t pid[] = {0x8b, 0x46, 32}; /* mov 32(%rsi),%eax */
	uint8_t code[64];
	uint32_t size = wrap(pid, sizeof(pid), code);

	g_assert_cmpint(check(code, size, RS_NATIVE_INPUT, NULL), ==, 0);
	g_assert_cmpint(check(code, size, RS_NATIVE_FIELDS, NULL), ==, -EILSEQ);
}

static void test_form(void)
{
	static const uint8_t no_begin[] = {0xb8, 1, 0, 0, 0, 0xc3},
			     no_end[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x31, 0xc0};
	static const uint8_t cut[] = {0xf3, 0x0f, 0x1e, 0xfa, 0xc3, 0xb8, 1};

	g_assert_cmpint(check(no_begin, sizeof(no_begin), RS_NATIVE_FIELDS, NULL), ==, -EILSEQ);
	g_assert_cmpint(check(no_end, sizeof(no_end), RS_NATIVE_FIELDS, NULL), ==, -EILSEQ);
	g_assert_cmpint(check(cut, sizeof(cut), RS_NATIVE_FIELDS, NULL), ==, -EILSEQ);
	g_assert_cmpint(check(cut, 0, RS_NATIVE_FIELDS, NULL), ==, -EILSEQ);
}

#ifdef __x86_64__
/*
 * int keeps(code, entry, input): calls the code with known values in the registers that it must
 * keep, and returns whether it has kept them, and the stack.
 */
int keeps(const uint8_t *code, const void *entry, const void *input);
__asm__(".text\n"
	".type keeps, @function\n"
	"keeps: push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
	"mov %rdi, %rax; mov %rsi, %rdi; mov %rdx, %rsi\n"
	"mov $0xb, %ebx; mov $0x5, %ebp; mov $0xc, %r12d; mov $0xd, %r13d; mov $0xe, %r14d\n"
	"push $0x77; mov %rsp, %r15\n"
	"call *%rax\n"
	"xor %eax, %eax\n"
	"cmp %rsp, %r15; jne 1f; cmp $0xb, %rbx; jne 1f; cmp $0x5, %rbp; jne 1f\n"
	"cmp $0xc, %r12; jne 1f; cmp $0xd, %r13; jne 1f; cmp $0xe, %r14; jne 1f\n"
	"cmpq $0x77, (%rsp); jne 1f; mov $1, %eax\n"
	"1: lea 8(%r15), %rsp\n"
	"pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx; ret\n"
	".size keeps, . - keeps\n");

/* In a process of its own: 0 if it has changed nothing; a fault or a long loop is a signal. */
static int run_apart(const uint8_t *page)
{
	static uint8_t copy[RANDOM_ENTRY];
	struct rs_filter_input input = record.input;
	pid_t pid = fork();
	int status;

	if (!pid) {
		struct itimerval limit = {.it_value = {5, 0}};

		setitimer(ITIMER_PROF, &limit, NULL);
		signal(SIGSEGV, SIG_DFL); /* a sanitizer's handler exits */
		memcpy(copy, input.entry, sizeof(copy));
		if (!keeps(page, record.input.entry, &record.input))
			_exit(1);
		if (memcmp(copy, input.entry, sizeof(copy)) ||
		    memcmp(&input, &record.input, sizeof(input)))
			_exit(2);
		_exit(0);
	}
	g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
	return status;
}

/*
 * Good code with one bit changed is refused, or it comes back and has changed nothing. It may read
 * at a wrong place: where a string ends is a number, and the checker does not know which.
 */
static void test_mutated(void)
{
	unsigned int accepted = 0, refused = 0, faults = 0;
	static struct rs_native native, changed;

	for (uint32_t i = 0; i < 12; i++) {
		struct choices c = choices_of((const uint8_t *)&i, sizeof(i));
		g_autoptr(GByteArray) program = random_program(&c);

		made_code(program->data, &native);
		random_record(&c, &record);
		for (uint32_t bit = 0; bit < 8 * MIN(native.text, 250); bit++) {
			int status;

			changed = native;
			changed.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
			if (rs_native_check(RS_ARCH_X86_64, &changed, NULL)) {
				refused++;
				continue;
			}
			accepted++;
			memcpy(made_page(), changed.bytes, changed.size);
			status = run_apart(made_page());
			if (status && WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV)
				faults++;
			else if (status)
				g_error("filter %u, bit %u: status %#x", i, bit,
					(unsigned int)status);
		}
	}
	g_test_message("%u refused, %u accepted, of which %u read elsewhere", refused, accepted,
		       faults);
	g_assert_cmpuint(refused, >, accepted / 2);
	g_assert_cmpuint(faults, <, accepted / 20);
}
#endif

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	random_record_init(&record);
	g_test_add_func("/native/check/forbidden", test_forbidden);
	g_test_add_func("/native/check/ways", test_ways);
	g_test_add_func("/native/check/table", test_table);
	g_test_add_func("/native/check/kind", test_kind);
	g_test_add_func("/native/check/form", test_form);
#ifdef __x86_64__
	g_test_add_func("/native/check/mutated", test_mutated);
#endif
	return g_test_run();
}
