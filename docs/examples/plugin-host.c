/* SPDX-License-Identifier: MIT */
/* A program with events that opens plugins with events of their own: docs/programs.md. */
#define RS_CREATE_TRACE_POINTS
#include <ringside/event.h>

#include <dlfcn.h>
#include <rs_hosted.h>
#include <stdio.h>

RS_TRACE_EVENT(app, opened, TP_PROTO(const char *path), TP_ARGS(path),
	       TP_STRUCT__entry(__string(path)), TP_fast_assign(__assign_str(path, path);),
	       TP_printk("path=%s", path))

int main(int argc, char **argv)
{
	rs_hosted_init("app");
	for (int i = 1; i < argc; i++) {
		void *plugin = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);

		if (!plugin) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		trace_app_opened(argv[i]);
		dlclose(plugin);
	}
	return 0;
}
