/* SPDX-License-Identifier: MIT */
/*
 * What a QEMU that is not ours says about itself and its guest's memory. Each line of the input is
 * one answer: JSON, or text for people.
 */
#include "qemu/cmdline.h"
#include "qemu/facts.h"
#include "qemu/guestmem.h"
#include "seed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* json-glib 1.6 does not free all of what it made of a line that is no JSON: see qmp.c. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return 1;
}

static const char machine[] =
	"{\"running\": true, \"status\": \"running\"}\n{\"enabled\": false, \"present\": true}\n"
	"{\"name\": \"vm\"}\n[{\"thread-id\": 12, \"cpu-index\": 0}]\n[{\"vcpus-count\": 2}]\n";
static const char device[] =
	"[{\"name\": \"trace\", \"type\": \"child<ivshmem-plain>\"}, {\"name\": \"type\", "
	"\"type\": "
	"\"string\"}]\n[{\"name\": \"device[0]\", \"type\": \"child<ivshmem-plain>\"}]\n";
static const char memory[] =
	"\"/objects/m\"\n\"/dev/shm/m\"\n4194304\ntrue\n[{\"bus\": 0, \"devices\": [{\"qdev_id\": "
	"\"\", \"id\": {\"vendor\": 6900, \"device\": 4368}, \"regions\": [{\"bar\": 2}]}, "
	"{\"pci_bridge\": {\"devices\": [{\"qdev_id\": \"trace\", \"regions\": []}]}}]}]\n"
	"[{\"label\": \"gdb\"}, {\"label\": \"ringside-gdb\"}]\n";
static const char words[] =
	"t0000000000001000: 0x0011223344556677 0x8899aabbccddeeff\r\n0000000000001010: 0x01 0x02\n"
	"tHost virtual address for 0x200000 (pc.ram) is 0x7f0000200000\ntCannot access memory\n";

static void rs_fuzz_seeds(void)
{
	g_autofree char *all = g_strconcat("a", machine, device, memory, words, NULL);
	g_autofree char *one =
		g_strconcat("b", machine, "[]\n", strchr(device, '\n') + 1, memory, words, NULL);
	static const char args[] = "cqemu\0-mon\0chardev=m,mode=control\0-chardev\0socket,id=m,,n,"
				   "path=/x\0-qmp\0unix:/y,,z,server";

	rs_fuzz_seed("named", all, strlen(all));
	rs_fuzz_seed("anonymous", one, strlen(one));
	rs_fuzz_seed("arguments", args, sizeof(args));
}

struct peer {
	struct rs_monitor monitor; /* first */
	const char *at, *end;
	gint64 asked; /* 0: nothing */
};

static struct peer *peer_of(struct rs_monitor *monitor)
{
	return (struct peer *)monitor;
}

static int peer_send(struct rs_monitor *monitor, const char *command, JsonObject *arguments, int fd,
		     gint64 id, struct rs_patience *patience, struct rs_error *err)
{
	peer_of(monitor)->asked = id;
	return 0;
}

static int peer_wait(struct rs_monitor *monitor, struct rs_patience *patience, struct rs_error *err)
{
	struct peer *peer = peer_of(monitor);

	return peer->at < peer->end ? 0 : rs_error_set(err, ETIMEDOUT, "it says no more");
}

/* The node of the next line; NULL: it is no JSON. */
static JsonNode *next_answer(struct peer *peer)
{
	const char *stop = memchr(peer->at, '\n', (size_t)(peer->end - peer->at));
	size_t size = (size_t)((stop ? stop : peer->end) - peer->at);
	g_autofree char *line = g_strndup(peer->at, size);
	JsonNode *node = json_node_new(JSON_NODE_VALUE);
	g_autoptr(JsonParser) parser = json_parser_new_immutable();

	peer->at += size + (stop != NULL);
	if (*line == 't') {
		/* As QEMU's lines come: several in one text. */
		g_strdelimit(line, "\r", '\n');
		json_node_set_string(node, line + 1);
		return node;
	}
	json_node_unref(node);
	if (size > 4096 || !json_parser_load_from_data(parser, line, (gssize)strlen(line), NULL) ||
	    !json_parser_get_root(parser))
		return NULL;
	return json_node_copy(json_parser_get_root(parser));
}

static bool peer_receive(struct rs_monitor *monitor)
{
	struct peer *peer = peer_of(monitor);
	g_autoptr(JsonNode) root = json_node_new(JSON_NODE_OBJECT);
	JsonObject *object;
	JsonNode *answer;

	if (!peer->asked || peer->at >= peer->end)
		return false;
	object = json_object_new();
	answer = next_answer(peer);
	if (answer)
		json_object_set_member(object, "return", answer);
	json_node_take_object(root, object);
	rs_monitor_take_answer(monitor, peer->asked, root);
	peer->asked = 0;
	return true;
}

static void peer_destroy(struct rs_monitor *monitor)
{
}

static const struct rs_monitor_ops ops = {
	.send = peer_send, .wait = peer_wait, .receive = peer_receive, .destroy = peer_destroy};

static void read_some(struct peer *peer, bool direct)
{
	uint64_t questions = 0;
	struct rs_guestmem *mem =
		rs_guestmem_create(&peer->monitor, direct ? getpid() : 0, &questions);
	uint8_t bytes[64];

	for (uint64_t i = 0; i < 16 && peer->at < peer->end; i++) {
		rs_guestmem_read(mem, NULL, i * 0x1ffff8, bytes, 1 + i * 4, NULL);
		rs_guestmem_read(mem, NULL, UINT64_MAX - i, bytes, 16, NULL);
	}
	rs_guestmem_forget(mem);
	rs_guestmem_destroy(mem);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct peer peer = {.monitor.ops = &ops};
	struct rs_qemu_facts facts;
	struct rs_error err = {0};
	bool ours, other;

	if (!size)
		return 0;
	peer.at = (const char *)data + 1;
	peer.end = (const char *)data + size;
	if (data[0] == 'c') {
		gboolean passed;

		g_free(rs_qemu_cmdline_qmp(peer.at, size - 1, &passed));
		return 0;
	}
	if (!rs_qemu_facts_find(&peer.monitor, data[0] == 'a' ? "trace" : NULL, &facts, &err)) {
		if (!facts.vcpus || facts.vcpus > RS_MAX_CPUS || !facts.memory || !facts.size)
			abort();
		rs_qemu_facts_clear(&facts);
	} else if (err.code <= 0 || !*err.message) {
		abort();
	}
	rs_qemu_facts_stub(&peer.monitor, &ours, &other, NULL);
	read_some(&peer, data[0] & 1);
	rs_monitor_destroy(&peer.monitor);
	return 0;
}
