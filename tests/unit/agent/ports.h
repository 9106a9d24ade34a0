/* SPDX-License-Identifier: MIT */
/*
 * Catches what the agent writes to x86 ports: the processor refuses that to a process, and the
 * kernel says so by a signal. Defined where it is included, once in a program.
 */
#ifndef PORTS_H
#define PORTS_H

#include <glib.h>
#include <signal.h>
#include <stdint.h>
#include <ucontext.h>

static struct {
	uint32_t writes;
	uint16_t port; /* of the last one */
	uint32_t value;
	void (*then)(void); /* is called after each; may be NULL */
} ports;

static void on_port(int number, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	const uint8_t *code = (const uint8_t *)regs[REG_RIP];

	g_assert_cmphex(*code, ==, 0xef); /* outl %eax, (%dx) */
	regs[REG_RIP]++;
	ports.writes++;
	ports.port = (uint16_t)regs[REG_RDX];
	ports.value = (uint32_t)regs[REG_RAX];
	if (ports.then)
		ports.then();
}

static void catch_ports(void)
{
	struct sigaction action = {.sa_sigaction = on_port, .sa_flags = SA_SIGINFO};

	sigaction(SIGSEGV, &action, NULL);
}

static void let_ports_be(void)
{
	signal(SIGSEGV, SIG_DFL);
}

#endif
