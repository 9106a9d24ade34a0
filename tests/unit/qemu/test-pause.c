/* SPDX-License-Identifier: MIT */
/*
 * Pauses of a QEMU that others stop and let run at the same time. Its monitor and its gdb stub are
 * here. They do what QEMU does: to connect to the stub stops the VM, and so does a byte that comes
 * while it runs, which is lost. "D" lets it run, and both are told as events. `late`: as through
 * libvirt's daemon, events come some ms after the answers to what is asked later.
 */
#include "qemu/adopt.h"
#include "qemu/gdbstub.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define LATE_US 8000
#define CONNECT "connect" /* before it stops the VM */
#define PHYSICAL "Qqemu.PhyMemMode:1"

struct news {
	char *text; /* an event's name, or NULL: an answer */
	JsonNode *node;
	gint64 id, due;
};

static struct vm {
	struct rs_monitor monitor; /* first */
	GMutex lock;               /* for what follows: the stub has a thread */
	GCond told;
	bool runs;
	const char *status;    /* of a VM that does not run */
	const char *migration; /* NULL: none was ever */
	GQueue news;
	bool lost;                 /* the next event never comes */
	gint64 slow_us;            /* each answer takes that long */
	int deaf;                  /* the stub takes no clients */
	int hangs;                 /* it answers nothing */
	int mute;                  /* it hangs up instead of doing "D" */
	int refuses;               /* so many times "cont" does nothing */
	const char *moment;        /* before the stub answers this packet … */
	void (*act)(struct vm *v); /* … somebody does that */
	int listener;
	GThread *stub;
	char *folder;
	struct rs_target *target;
	int told_stopped; /* by others, as far as the target knows */
} vm;

/* ---- the VM, with the lock held ---- */

static void push(struct vm *v, struct news *news, gint64 delay)
{
	news->due = g_get_monotonic_time() + delay;
	g_queue_push_tail(&v->news, news);
	g_cond_signal(&v->told);
}

static void tell(struct vm *v, const char *event, const char *payload)
{
	struct news *news;

	if (v->lost) {
		v->lost = false;
		return;
	}
	news = g_new0(struct news, 1);
	news->text = g_strdup(event);
	news->node = payload ? json_from_string(payload, NULL) : NULL;
	push(v, news, v->monitor.events_late ? LATE_US : 0);
}

static void stop(struct vm *v)
{
	if (v->runs)
		tell(v, "STOP", NULL);
	v->runs = false;
}

static void cont(struct vm *v)
{
	if (!v->runs)
		tell(v, "RESUME", NULL);
	v->runs = true;
	v->status = "paused";
}

static void cont_stop(struct vm *v)
{
	cont(v);
	stop(v);
}

/* Who started this QEMU has to ask for such events. libvirt has. */
static void tell_migration(struct vm *v)
{
	g_autofree char *payload = g_strdup_printf("{\"status\": \"%s\"}", v->migration);

	if (v->monitor.events_late)
		tell(v, "MIGRATION", payload);
}

static void migrate(struct vm *v)
{
	stop(v);
	v->migration = "completed";
	v->status = "postmigrate";
	tell_migration(v);
}

/* ---- its stub ---- */

static void say(int fd, const char *body)
{
	g_autofree char *packet = NULL;
	unsigned int sum = 0;

	for (const char *c = body; *c; c++)
		sum += (unsigned char)*c;
	packet = g_strdup_printf("+$%s#%02x", body, sum & 0xff);
	send(fd, packet, strlen(packet), MSG_NOSIGNAL);
}

static void act_at(struct vm *v, const char *moment)
{
	if (!v->moment || !g_str_equal(moment, v->moment))
		return;
	v->moment = NULL;
	v->act(v);
}

static void take_packet(struct vm *v, int fd, const char *body)
{
	static char zeroes[2 * RS_GDB_READ_MAX + 1];
	const char *answer = "OK";
	unsigned int size;

	g_mutex_lock(&v->lock);
	if (sscanf(body, "m%*x,%x", &size) == 1 && size <= RS_GDB_READ_MAX) {
		memset(zeroes, '0', 2 * size);
		zeroes[2 * size] = '\0';
		answer = zeroes;
	} else if (g_str_equal(body, RS_GDB_INFO_STATUS)) {
		g_autofree char *text = g_strdup_printf("VM status: paused (%s)\n", v->status);
		g_autoptr(GString) hex = g_string_new("O");

		for (char *c = text; *c; c++)
			g_string_append_printf(hex, "%02x", (unsigned char)*c);
		say(fd, hex->str);
	} else if (g_str_equal(body, "D")) {
		cont(v);
	}
	act_at(v, body);
	g_mutex_unlock(&v->lock);
	while (g_atomic_int_get(&v->hangs))
		g_usleep(1000);
	g_mutex_lock(&v->lock);
	g_mutex_unlock(&v->lock);
	say(fd, answer);
}

static void serve(struct vm *v, int fd)
{
	struct rs_gdb_parser *parser = g_new0(struct rs_gdb_parser, 1);
	bool owed = true, lost; /* an acknowledgement of the last packet; this byte */
	uint8_t byte;

	g_mutex_lock(&v->lock);
	act_at(v, CONNECT);
	stop(v);
	g_mutex_unlock(&v->lock);
	say(fd, "T02thread:01;");
	while (read(fd, &byte, 1) == 1) {
		g_mutex_lock(&v->lock);
		lost = !owed && v->runs;
		if (lost)
			stop(v);
		g_mutex_unlock(&v->lock);
		owed = lost;
		if (v->mute && byte == 'D') {
			break;
		} else if (lost) {
			say(fd, "T02thread:01;");
		} else if (rs_gdb_parser_feed(parser, byte) == RS_GDB_PACKET) {
			take_packet(v, fd, parser->data);
			owed = true;
		}
	}
	close(fd);
	g_free(parser);
}

static void *run_stub(void *data)
{
	struct vm *v = data;
	int fd;

	for (;;) {
		while (g_atomic_int_get(&v->deaf))
			g_usleep(1000);
		fd = accept(v->listener, NULL, NULL);
		if (fd < 0)
			return NULL;
		serve(v, fd);
	}
}

static void listen_at(struct vm *v, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
	v->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	g_assert_cmpint(bind(v->listener, (struct sockaddr *)&address, sizeof(address)), ==, 0);
	g_assert_cmpint(listen(v->listener, 8), ==, 0);
	v->stub = g_thread_new("stub", run_stub, v);
}

/* ---- its monitor ---- */

static char *answer_qom(const char *property)
{
	if (!g_strcmp0(property, "memdev"))
		return g_strdup("\"/objects/x\"");
	if (!g_strcmp0(property, "mem-path"))
		return g_strdup("\"/dev/shm/x\"");
	if (!g_strcmp0(property, "size"))
		return g_strdup("1048576");
	if (!g_strcmp0(property, "share"))
		return g_strdup("true");
	return g_strdup("[]");
}

static char *answer_to(struct vm *v, const char *command, JsonObject *arguments)
{
	if (g_str_equal(command, "query-status"))
		return g_strdup_printf("{\"running\": %s, \"status\": \"%s\"}",
				       v->runs ? "true" : "false", v->runs ? "running" : v->status);
	if (g_str_equal(command, "query-migrate"))
		return v->migration ? g_strdup_printf("{\"status\": \"%s\"}", v->migration)
				    : g_strdup("{}");
	if (g_str_equal(command, "cont") && v->refuses-- <= 0)
		cont(v);
	if (g_str_equal(command, "chardev-add")) {
		JsonObject *backend = json_object_get_object_member(arguments, "backend");
		JsonObject *data = json_object_get_object_member(backend, "data");
		JsonObject *place = json_object_get_object_member(data, "addr");
		JsonObject *path = json_object_get_object_member(place, "data");

		listen_at(v, json_object_get_string_member(path, "path"));
	}
	if (g_str_equal(command, "query-cpus-fast"))
		return g_strdup("[{\"thread-id\": 0}]");
	if (g_str_equal(command, "query-kvm"))
		return g_strdup("{\"enabled\": false}");
	if (g_str_equal(command, "qom-list"))
		return g_strdup("[{\"name\": \"shmem0\", \"type\": \"child<ivshmem-plain>\"}]");
	if (g_str_equal(command, "qom-get"))
		return answer_qom(json_object_get_string_member(arguments, "property"));
	if (g_str_equal(command, "human-monitor-command"))
		return g_strdup("\"\"");
	return g_strdup(g_str_equal(command, "query-name") ? "{}" : "[]");
}

static int send_command(struct rs_monitor *monitor, const char *command, JsonObject *arguments,
			int fd, gint64 id, struct rs_patience *patience, struct rs_error *err)
{
	struct vm *v = (struct vm *)monitor;
	g_autofree char *answer = NULL, *text = NULL;
	struct news *news;

	if (fd >= 0)
		return rs_error_set(err, ENOTSUP, "no descriptors");
	if (monitor->away)
		return 0; /* libvirt's library refuses it, some time */
	g_mutex_lock(&v->lock);
	answer = answer_to(v, command, arguments);
	text = g_strdup_printf("{\"return\": %s}", answer);
	news = g_new0(struct news, 1);
	news->node = json_from_string(text, NULL);
	news->id = id;
	push(v, news, v->slow_us);
	g_mutex_unlock(&v->lock);
	return 0;
}

/* What is due first. */
static struct news *next_news(struct vm *v)
{
	struct news *first = NULL;

	for (GList *link = v->news.head; link; link = link->next) {
		struct news *news = link->data;

		if (!first || news->due < first->due)
			first = news;
	}
	return first;
}

static void deliver(struct vm *v, struct news *news)
{
	if (!news->text)
		rs_monitor_take_answer(&v->monitor, news->id, news->node);
	else if (!v->monitor.away)
		rs_monitor_take_event(&v->monitor, news->text, g_get_monotonic_time(),
				      news->node ? json_node_get_object(news->node) : NULL);
	g_clear_pointer(&news->node, json_node_unref);
	g_free(news->text);
	g_free(news);
}

static bool receive(struct rs_monitor *monitor)
{
	struct vm *v = (struct vm *)monitor;
	struct news *news;

	g_mutex_lock(&v->lock);
	news = next_news(v);
	if (news && news->due > g_get_monotonic_time())
		news = NULL;
	if (news)
		g_queue_remove(&v->news, news);
	g_mutex_unlock(&v->lock);
	if (!news)
		return false;
	rs_monitor_heard(monitor);
	deliver(v, news);
	return true;
}

static int wait_some(struct rs_monitor *monitor, struct rs_patience *patience, struct rs_error *err)
{
	struct vm *v = (struct vm *)monitor;
	bool due = false;

	g_mutex_lock(&v->lock);
	while (!due && g_get_monotonic_time() < patience->deadline) {
		struct news *news = next_news(v);
		gint64 until = news ? MIN(news->due, patience->deadline) : patience->deadline;

		due = news && news->due <= g_get_monotonic_time();
		if (!due)
			g_cond_wait_until(&v->told, &v->lock, until);
	}
	g_mutex_unlock(&v->lock);
	return due ? 0 : rs_error_set(err, ETIMEDOUT, "nothing came");
}

static void destroy(struct rs_monitor *monitor)
{
}

/* ---- what tests do ---- */

static void on_pause(void *data, enum rs_pause_step step)
{
	vm.told_stopped += step == RS_PAUSE_STOPPED;
}

static void begin(bool late)
{
	static const struct rs_monitor_ops ops = {
		.send = send_command, .wait = wait_some, .receive = receive, .destroy = destroy};
	g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
	struct rs_qemu_adopt_config config = {
		.monitor = &vm.monitor, .device = "shmem0", .via = "qmp:x", .name = "x"};
	struct rs_qemu_adopted found;
	bool can_patch;

	memset(&vm, 0, sizeof(vm));
	vm.monitor.ops = &ops;
	vm.monitor.events_late = late;
	vm.runs = true;
	vm.status = "paused";
	vm.folder = g_dir_make_tmp("rs-pause-XXXXXX", NULL);
	config.run_dir = vm.folder;
	g_assert_cmpint(rs_qemu_adopt(&config, &vm.target, &found, lines, NULL), ==, 0);
	g_assert_cmpint(rs_qemu_take_over(vm.target, &can_patch, lines, NULL), ==, 0);
	g_assert_true(can_patch);
	vm.target->events.pause = on_pause;
	g_assert_cmpint(vm.target->ops->start(vm.target, NULL), ==, 0);
}

static void end(void)
{
	struct news *news;

	vm.target->ops->destroy(vm.target);
	shutdown(vm.listener, SHUT_RDWR);
	g_thread_join(vm.stub);
	close(vm.listener);
	while ((news = g_queue_pop_head(&vm.news))) {
		g_clear_pointer(&news->node, json_node_unref);
		g_free(news->text);
		g_free(news);
	}
	g_assert_cmpint(g_rmdir(vm.folder), ==, 0);
	g_free(vm.folder);
}

/* Lets the session's loop run, to which the monitor's news come by themselves. As many turns as ms:
 * on a busy machine each thread gets a CPU meanwhile. */
static void idle(int ms)
{
	gint64 until = g_get_monotonic_time() + ms * G_TIME_SPAN_MILLISECOND;

	for (int turns = 0; turns < ms || g_get_monotonic_time() < until; turns++) {
		rs_monitor_drain(&vm.monitor);
		g_main_context_iteration(NULL, FALSE);
		g_usleep(1000);
	}
}

static void others(void (*act)(struct vm *v))
{
	g_mutex_lock(&vm.lock);
	act(&vm);
	g_mutex_unlock(&vm.lock);
}

static void others_at(const char *moment, void (*act)(struct vm *v))
{
	vm.act = act;
	vm.moment = moment;
}

static int pause_vm(void)
{
	return vm.target->ops->pause(vm.target, NULL);
}

/* Each packet stops a VM that runs. */
static void look_at_text(void)
{
	struct rs_text_patch patch = {.at_phys = {0x1000}, .size = 5};
	uint8_t now[1][RS_TEXT_MAX];

	vm.target->ops->read_text(vm.target, &patch, 1, now, NULL);
}

static void resume_vm(void)
{
	g_assert_cmpint(vm.target->ops->resume(vm.target, NULL), ==, 0);
}

#define assert_state(running)                                                                      \
	do {                                                                                       \
		g_assert_true(vm.runs == (running));                                               \
		idle(400);                                                                         \
		g_assert_true(vm.runs == (running));                                               \
		g_assert_true(vm.target->held == !(running));                                      \
	} while (0)

/* Whether somebody who finds us dead is to let it run. */
static bool is_marked(void)
{
	g_autofree char *path = g_strconcat(vm.folder, "/x.pause", NULL), *text = NULL;

	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	return *text == '1';
}

static void test_alone(gconstpointer late)
{
	begin(GPOINTER_TO_INT(late));
	for (int i = 0; i < 3; i++) {
		g_assert_cmpint(pause_vm(), ==, 0);
		g_assert_false(vm.runs || vm.target->held);
		look_at_text();
		/* What is heard is of ours, and of the pause before. */
		idle(20);
		g_assert_false(vm.target->let_run);
		resume_vm();
		g_assert_true(vm.runs);
	}
	assert_state(true);
	g_assert_cmpint(vm.told_stopped, ==, 0);
	end();
}

static void test_paused_by_its_user(gconstpointer late)
{
	begin(GPOINTER_TO_INT(late));
	others(stop);
	g_assert_cmpint(pause_vm(), ==, 0);
	g_assert_true(vm.target->held);
	look_at_text();
	resume_vm();
	assert_state(false);
	g_assert_cmpint(vm.told_stopped, ==, 1);
	others(cont);
	assert_state(true);
	end();
}

/* The packet that follows stops it again, and then nobody else lets it go. */
static void test_user_resumes_in_our_pause(gconstpointer late)
{
	begin(GPOINTER_TO_INT(late));
	others(stop);
	idle(30);
	others_at(PHYSICAL, cont);
	g_assert_cmpint(pause_vm(), ==, 0);
	look_at_text();
	g_assert_false(vm.runs);
	resume_vm();
	assert_state(true);
	/* No packet follows. */
	others(stop);
	idle(30);
	others_at(PHYSICAL, cont);
	g_assert_cmpint(pause_vm(), ==, 0);
	g_assert_true(vm.runs);
	resume_vm();
	assert_state(true);
	end();
}

/* Just before we connect, so that it is us who stop it. */
static void test_user_resumes_before(gconstpointer late)
{
	begin(GPOINTER_TO_INT(late));
	others(stop);
	idle(30);
	others_at(CONNECT, cont);
	vm.slow_us = 2 * LATE_US;
	g_assert_cmpint(pause_vm(), ==, 0);
	vm.slow_us = 0;
	look_at_text();
	resume_vm();
	assert_state(true);
	others(stop);
	idle(30);
	others(cont);
	g_assert_cmpint(pause_vm(), ==, 0);
	look_at_text();
	resume_vm();
	assert_state(true);
	end();
}

/* Just before we do. */
static void test_user_resumes_as_we_do(gconstpointer late)
{
	begin(GPOINTER_TO_INT(late));
	g_assert_cmpint(pause_vm(), ==, 0);
	others_at(RS_GDB_INFO_STATUS, cont);
	resume_vm();
	assert_state(true);
	end();
}

/* libvirt's daemon has a job for QEMU that takes a while, and refuses ours meanwhile. */
static void test_refused(gconstpointer late)
{
	begin(GPOINTER_TO_INT(late));
	g_assert_cmpint(pause_vm(), ==, 0);
	vm.refuses = 3;
	/* The stub goes, and so the monitor has to do it. */
	vm.mute = 1;
	resume_vm();
	g_assert_false(vm.runs);
	idle(3500);
	assert_state(true);
	g_assert_false(is_marked());
	end();
}

/* After what they did before our pause, in which they do nothing. */
static void test_news_of_before(gconstpointer late)
{
	begin(GPOINTER_TO_INT(late));
	others(stop);
	others(cont_stop);
	g_assert_cmpint(pause_vm(), ==, 0);
	look_at_text();
	resume_vm();
	assert_state(false);
	end();
}

/* In a pause by hand they let it run and stop it: it is theirs then. */
static void test_user_takes_it_over(gconstpointer late)
{
	begin(GPOINTER_TO_INT(late));
	g_assert_cmpint(pause_vm(), ==, 0);
	idle(100);
	others(cont_stop);
	idle(30);
	/* The guard would let it go. */
	g_assert_false(is_marked());
	resume_vm();
	assert_state(false);
	others(cont);
	idle(30);
	/* We hear that it runs, and not yet that it does no more. */
	g_assert_cmpint(pause_vm(), ==, 0);
	idle(100);
	others(cont);
	idle(12);
	others(stop);
	resume_vm();
	assert_state(false);
	end();
}

/* It goes on elsewhere. */
static void test_moved_in_our_pause(gconstpointer late)
{
	begin(GPOINTER_TO_INT(late));
	g_assert_cmpint(pause_vm(), ==, 0);
	idle(100);
	others(migrate);
	resume_vm();
	assert_state(false);
	/* Its text can be put back all the same. */
	g_assert_cmpint(pause_vm(), ==, 0);
	look_at_text();
	resume_vm();
	assert_state(false);
	end();
}

static void hang(struct vm *v)
{
	g_atomic_int_set(&v->hangs, true);
}

/* When we are about to let it go, QEMU is busy with the end of its migration. */
static void test_moved_while_it_hangs(gconstpointer late)
{
	begin(GPOINTER_TO_INT(late));
	g_assert_cmpint(pause_vm(), ==, 0);
	others(migrate);
	others_at(RS_GDB_VIRTUAL, hang);
	vm.target->ops->resume(vm.target, NULL);
	g_atomic_int_set(&vm.hangs, false);
	idle(2000);
	g_assert_false(vm.runs || is_marked());
	end();
}

static void begin_moving(struct vm *v)
{
	v->migration = "active";
	tell_migration(v);
}

static void test_moving(gconstpointer late)
{
	begin(GPOINTER_TO_INT(late));
	others(begin_moving);
	idle(30);
	g_assert_cmpint(pause_vm(), ==, -EBUSY);
	g_assert_true(vm.runs);
	/* That it is given up, nobody has told. */
	vm.migration = "cancelling";
	g_assert_cmpint(pause_vm(), ==, 0);
	resume_vm();
	assert_state(true);
	/* An image of one that its user has paused, and that stays. */
	others(begin_moving);
	others(stop);
	others(migrate);
	idle(30);
	g_assert_cmpint(pause_vm(), ==, 0);
	look_at_text();
	resume_vm();
	assert_state(false);
	others(cont);
	assert_state(true);
	g_assert_cmpint(pause_vm(), ==, 0);
	resume_vm();
	assert_state(true);
	end();
}

/* What we count and never comes is not taken for what comes later. */
static void test_lost_news(gconstpointer late)
{
	begin(GPOINTER_TO_INT(late));
	vm.lost = true;
	g_assert_cmpint(pause_vm(), ==, 0);
	resume_vm();
	idle(30);
	others(stop);
	assert_state(false);
	others(cont);
	assert_state(true);
	/* Once all is quiet we know that it will not come. */
	vm.lost = true;
	g_assert_cmpint(pause_vm(), ==, 0);
	resume_vm();
	idle(400);
	others(stop);
	for (int i = 0; i < 100 && !vm.target->held; i++)
		idle(20);
	g_assert_true(vm.target->held);
	end();
}

/* QEMU looks at the stub too late, and nobody can tell us what it did then. */
static void test_slow_while_the_daemon_is_away(void)
{
	begin(true);
	idle(30);
	vm.monitor.away = true;
	g_atomic_int_set(&vm.deaf, true);
	/* The thread sits in accept(): it takes one more client. */
	g_assert_cmpint(pause_vm(), ==, 0);
	resume_vm();
	g_assert_true(vm.runs);
	g_assert_cmpint(pause_vm(), ==, -ETIMEDOUT);
	g_atomic_int_set(&vm.deaf, false);
	idle(1200);
	g_assert_true(vm.runs);
	vm.monitor.away = false;
	end();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		GTestDataFunc test;
	} tests[] = {
		{"alone", test_alone},
		{"paused-by-its-user", test_paused_by_its_user},
		{"user-resumes-in-our-pause", test_user_resumes_in_our_pause},
		{"user-resumes-before", test_user_resumes_before},
		{"user-resumes-as-we-do", test_user_resumes_as_we_do},
		{"refused", test_refused},
		{"news-of-before", test_news_of_before},
		{"user-takes-it-over", test_user_takes_it_over},
		{"moved-in-our-pause", test_moved_in_our_pause},
		{"moved-while-it-hangs", test_moved_while_it_hangs},
		{"moving", test_moving},
		{"lost-news", test_lost_news},
	};

	g_test_init(&argc, &argv, NULL);
	for (guint i = 0; i < 2 * G_N_ELEMENTS(tests); i++) {
		g_autofree char *name = g_strdup_printf("/pause/%s/%s", i % 2 ? "late" : "direct",
							tests[i / 2].name);

		g_test_add_data_func(name, GINT_TO_POINTER(i % 2), tests[i / 2].test);
	}
	g_test_add_func("/pause/late/slow-while-the-daemon-is-away",
			test_slow_while_the_daemon_is_away);
	return g_test_run();
}
