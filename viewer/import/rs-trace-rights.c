/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "rs-trace-rights.h"

#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MEMORY_MAX ((rlim_t)2 << 30)
#define NOBODY 65534u

static void limit(int what, rlim_t most)
{
	const struct rlimit to = {.rlim_cur = most, .rlim_max = most};

	setrlimit(what, &to);
}

/* FALSE: root stays root, as in a container that has no such user. */
static gboolean become_nobody(void)
{
	if (geteuid())
		return TRUE;
	if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
	    setresuid(NOBODY, NOBODY, NOBODY))
		return FALSE;
	/* LeakSanitizer looks into its own process, which is forbidden after such a change. */
	if (RS_SANITIZED)
		prctl(PR_SET_DUMPABLE, 1);
	return TRUE;
}

gboolean rs_trace_rights_reduce(void)
{
	const gboolean done = become_nobody();

	/* After that, since a change of the user undoes it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	limit(RLIMIT_CORE, 0);
	/* Not maps of the file, which may be as large as it is. A sanitizer needs any amount. */
	if (!RS_SANITIZED)
		limit(RLIMIT_DATA, MEMORY_MAX);
	limit(RLIMIT_FSIZE, 0);
	return done;
}

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#endif

/* A sanitizer reads maps of the process, and more. */
#if defined(ARCH) && !RS_SANITIZED
#define WORD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, what)
#define KILL RETURN(SECCOMP_RET_KILL_PROCESS)
#define ALLOW RETURN(SECCOMP_RET_ALLOW)
#define IS(value, then, otherwise) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, then, otherwise)
/* Of a call by this number, the next line is the answer. */
#define CALL(name, answer) IS(SYS_##name, 0, 1), answer
/* No programs in memory: the low word of the third argument, since both are little-endian. */
#define NO_CODE(name)                                                                              \
	IS(SYS_##name, 0, 4), WORD(args[2]),                                                       \
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1), KILL, ALLOW

gboolean rs_trace_rights_confine(void)
{
	static struct sock_filter filter[] = {
		WORD(arch),
		IS(ARCH, 1, 0),
		KILL,
		WORD(nr),
		CALL(read, ALLOW),
		CALL(write, ALLOW),
		CALL(close, ALLOW),
		CALL(brk, ALLOW),
		CALL(munmap, ALLOW),
		CALL(mremap, ALLOW),
		CALL(madvise, ALLOW),
		CALL(futex, ALLOW),
		CALL(exit, ALLOW),
		CALL(exit_group, ALLOW),
		CALL(rt_sigreturn, ALLOW),
		/* Of the machine, where the C library asks the kernel. */
		CALL(clock_gettime, ALLOW),
		CALL(sysinfo, ALLOW),
		CALL(getrandom, ALLOW),
		/* Streams of the C library ask these first, and go on without an answer. */
		CALL(fstat, RETURN(SECCOMP_RET_ERRNO | EPERM)),
		CALL(newfstatat, RETURN(SECCOMP_RET_ERRNO | EPERM)),
		CALL(ioctl, RETURN(SECCOMP_RET_ERRNO | ENOTTY)),
		CALL(lseek, RETURN(SECCOMP_RET_ERRNO | ESPIPE)),
		NO_CODE(mmap),
		NO_CODE(mprotect),
		KILL,
	};
	const struct sock_fprog program = {.len = G_N_ELEMENTS(filter), .filter = filter};

	return !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}
#else
gboolean rs_trace_rights_confine(void)
{
	return FALSE;
}
#endif
