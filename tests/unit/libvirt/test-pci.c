/* SPDX-License-Identifier: MIT */
#include "libvirt/pci.h"

#include <errno.h>

/* A monitor that has one answer. */
struct sham {
	struct rs_monitor monitor;
	const char *answer;
	gint64 asked;
};

static int send(struct rs_monitor *monitor, const char *command, JsonObject *arguments, int fd,
		gint64 id, struct rs_patience *patience, struct rs_error *err)
{
	g_assert_cmpstr(command, ==, "query-pci");
	((struct sham *)monitor)->asked = id;
	return 0;
}

static bool receive(struct rs_monitor *monitor)
{
	struct sham *sham = (struct sham *)monitor;
	g_autofree char *text = g_strdup_printf("{\"return\": %s}", sham->answer);
	g_autoptr(JsonNode) root = json_from_string(text, NULL);

	if (!sham->asked)
		return false;
	g_assert_nonnull(root);
	rs_monitor_take_answer(monitor, sham->asked, root);
	sham->asked = 0;
	return true;
}

static int wait_some(struct rs_monitor *monitor, struct rs_patience *patience, struct rs_error *err)
{
	return 0;
}

static void destroy(struct rs_monitor *monitor)
{
}

static const struct rs_monitor_ops ops = {
	.send = send, .wait = wait_some, .receive = receive, .destroy = destroy};

#define DEVICE(id, bar)                                                                            \
	"{\"qdev_id\": \"" id "\", \"regions\": [{\"bar\": 0, \"address\": 5}, " bar "]}"
#define BEHIND(devices)                                                                            \
	"[{\"bus\": 0, \"devices\": [{\"qdev_id\": \"pci.1\", \"pci_bridge\": {\"bus\": "          \
	"{\"prefetchable_range\": {\"base\": 4269801472, \"limit\": 4271898623}}, "                \
	"\"devices\": [" devices "]}}]}]"

static int is_placed(const char *answer, bool *placed)
{
	struct sham sham = {.monitor.ops = &ops, .answer = answer};

	return rs_pci_is_placed(&sham.monitor, "shmem0", placed, NULL);
}

static int room(const char *answer, uint64_t *bytes)
{
	struct sham sham = {.monitor.ops = &ops, .answer = answer};

	return rs_pci_room(&sham.monitor, "pci.1", bytes, NULL);
}

static void test_a_device_behind_a_bridge(void)
{
	bool placed = false;

	g_assert_cmpint(
		is_placed(BEHIND(DEVICE("shmem0", "{\"bar\": 2, \"address\": 4096}")), &placed), ==,
		0);
	g_assert_true(placed);
	g_assert_cmpint(
		is_placed(BEHIND(DEVICE("shmem0", "{\"bar\": 2, \"address\": -1}")), &placed), ==,
		0);
	g_assert_false(placed);
	g_assert_cmpint(is_placed(BEHIND(DEVICE("shmem1", "{}")), &placed), ==, -ENODEV);
}

static void test_the_room_behind_a_port(void)
{
	uint64_t bytes = 1;

	g_assert_cmpint(room(BEHIND(""), &bytes), ==, 0);
	g_assert_cmpuint(bytes, ==, 2u << 20);
	g_assert_cmpint(room("[{\"devices\": [{\"qdev_id\": \"pci.1\"}]}]", &bytes), ==, 0);
	g_assert_cmpuint(bytes, ==, 0);
	/* It is closed: its limit lies before its base. */
	g_assert_cmpint(
		room("[{\"devices\": [{\"qdev_id\": \"pci.1\", \"pci_bridge\": {\"bus\": "
		     "{\"prefetchable_range\": {\"base\": 1048576, \"limit\": 1048575}}}}]}]",
		     &bytes),
		==, 0);
	g_assert_cmpuint(bytes, ==, 0);
}

static void test_odd_answers_name_no_device(void)
{
	static const char *const cases[] = {
		"{}",
		"[]",
		"[1, null, \"x\", []]",
		"[{\"devices\": 1}]",
		"[{\"devices\": [1, null]}]",
		"[{\"devices\": [{\"qdev_id\": 1}]}]",
		"[{\"devices\": [{\"pci_bridge\": []}]}]",
	};
	bool placed;
	uint64_t bytes;

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_assert_cmpint(is_placed(cases[i], &placed), ==, -ENODEV);
		g_assert_cmpint(room(cases[i], &bytes), ==, -ENODEV);
	}
	g_assert_cmpint(
		is_placed("[{\"devices\": [{\"qdev_id\": \"shmem0\", \"regions\": 1}]}]", &placed),
		==, 0);
	g_assert_false(placed);
}

static void test_bridges_behind_bridges_are_bounded(void)
{
	GString *text = g_string_new("[{\"devices\": [");
	bool placed;

	for (int i = 0; i < 40; i++)
		g_string_append(text, "{\"pci_bridge\": {\"devices\": [");
	g_string_append(text, "{\"qdev_id\": \"shmem0\"}");
	for (int i = 0; i < 40; i++)
		g_string_append(text, "]}}");
	g_string_append(text, "]}]");
	g_assert_cmpint(is_placed(text->str, &placed), ==, -ENODEV);
	g_string_free(text, TRUE);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/pci/placed", test_a_device_behind_a_bridge);
	g_test_add_func("/pci/room", test_the_room_behind_a_port);
	g_test_add_func("/pci/odd", test_odd_answers_name_no_device);
	g_test_add_func("/pci/bridges", test_bridges_behind_bridges_are_bounded);
	return g_test_run();
}
