/* SPDX-License-Identifier: MIT */
/*
 * A component with providers of its own. The same file is a bare-metal guest and a program.
 *
 * First it serves three requests. What is recorded of them is what somebody asked for before it was
 * started. Then it waits until somebody listens to `steered`, writes one event of each level and
 * keyword, and waits until nobody does. At last it registers `parting`, of which nobody could know
 * before, and writes its event.
 */
#include "providers.h"

#ifdef PROVIDER_HOSTED
#include <rs_hosted.h>
#include <stdio.h>
#include <unistd.h>
#define say(...) printf(__VA_ARGS__)
#else
#include "rs_baremetal.h"
#define say(...) rs_printf(__VA_ARGS__)
#endif

RS_PROVIDER_DEFINE(net, "acme.net")
RS_PROVIDER_DEFINE(steered, "steered")
RS_PROVIDER_DEFINE(parting, "parting")

static unsigned int evaluated;

static uint32_t evaluate(uint32_t value)
{
	evaluated++;
	return value;
}

static int serve(uint32_t number, const char *path)
{
	struct rs_activity_id id;
	int err;

	rs_activity_create(&id);
	err = RS_PROVIDER_WRITE(net, "request", RS_LEVEL_INFO, KEYWORD_REQUESTS,
				__opcode(RS_OPCODE_START), __activity(&id),
				__field(u32, number, evaluate(number)), __string(path, path));
	read_block(number * 0x10, &id);
	if (number == 2)
		RS_PROVIDER_WRITE(net, "fault", RS_LEVEL_ERROR, KEYWORD_FAULTS, __activity(&id),
				  __tag(0xbad), __enum(u8, why, 1, {0, "timeout"}, {1, "reset"}));
	RS_PROVIDER_WRITE(net, "answer", RS_LEVEL_INFO, KEYWORD_REQUESTS, __opcode(RS_OPCODE_STOP),
			  __activity(&id));
	return err;
}

static int serve_all(void)
{
	int err = serve(0, "/unregistered");

	say("before it is registered: %d\n", err);
	err = rs_provider_register(&net);
	if (!err)
		err = rs_provider_register(&disk);
	if (err)
		return err;
	say("net %s, disk %s\n", RS_PROVIDER_ENABLED(net) ? "on" : "off",
	    RS_PROVIDER_ENABLED(disk) ? "on" : "off");
	say("served: %d", serve(1, "/index"));
	say(" %d", serve(2, "/style"));
	rs_provider_unregister(&net);
	say(" %d", serve(3, "/gone"));
	err = rs_provider_register(&net);
	say(" %d", serve(4, "/back"));
	say(", evaluated %u times\n", evaluated);
	return err;
}

static void write_each(unsigned int round)
{
	int err[6];

	err[0] = RS_PROVIDER_WRITE(steered, "critical", 1, 0x1, __field(u32, round, round));
	err[1] = RS_PROVIDER_WRITE(steered, "error", 2, 0x2, __field(u32, round, round));
	err[2] = RS_PROVIDER_WRITE(steered, "warning", 3, 0x4, __field(u32, round, round));
	err[3] = RS_PROVIDER_WRITE(steered, "info", 4, 0x8, __field(u32, round, round));
	err[4] = RS_PROVIDER_WRITE(steered, "verbose", 5, 0x10, __field(u32, round, round));
	err[5] = RS_PROVIDER_WRITE(steered, "both", 3, 0x1000000000000006u,
				   __field(u32, round, round));
	say("round %u:", round);
	for (int i = 0; i < 6; i++)
		say(" %d", err[i]);
	say("\n");
}

static void nap(void)
{
#ifdef PROVIDER_HOSTED
	usleep(1000);
#else
	__builtin_ia32_pause();
#endif
}

static int be_steered(void)
{
	int err = rs_provider_register(&steered);

	if (err)
		return err;
	say("waiting\n");
	while (!RS_PROVIDER_ENABLED(steered))
		nap();
	write_each(1);
	while (RS_PROVIDER_ENABLED(steered))
		nap();
	write_each(2);
	rs_provider_unregister(&steered);
	return 0;
}

static int part(void)
{
	int err = rs_provider_register(&parting);

	if (err)
		return err;
	say("parting: %d", RS_PROVIDER_WRITE(parting, "bye", RS_LEVEL_INFO, 0x1));
	say(" %d\n", RS_PROVIDER_WRITE(parting, "noise", RS_LEVEL_VERBOSE, 0x1));
	rs_provider_unregister(&parting);
	return 0;
}

static int use(void)
{
	int err = serve_all();

	if (!err)
		err = be_steered();
	if (!err)
		err = part();
	if (err)
		say("%s\n", rs_agent_strerror(err));
	return err;
}

#ifdef PROVIDER_HOSTED
int main(void)
{
	int err = rs_hosted_init("example");

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!err)
		err = use();
	rs_hosted_fini();
	return err != 0;
}
#else
const char rs_guest_name[] = "example";

void rs_main(uint32_t cpu)
{
	if (cpu == 0)
		rs_exit(use() != 0);
}
#endif
