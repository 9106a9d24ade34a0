/* SPDX-License-Identifier: MIT */
/* A library with a provider, one event of which has a name that cannot be registered. */
#include <ringside/provider.h>

RS_PROVIDER_DEFINE(unload, "unload")

int unload_enter(int come);
int unload_write(unsigned int round);

int unload_enter(int come)
{
	return come ? rs_provider_register(&unload) : rs_provider_unregister(&unload);
}

int unload_write(unsigned int round)
{
	RS_PROVIDER_WRITE(unload, "not a name", RS_LEVEL_INFO, 1, __field(u32, round, round));
	return RS_PROVIDER_WRITE(unload, "ping", RS_LEVEL_INFO, 1, __field(u32, round, round),
				 __string(what, "still here"));
}
