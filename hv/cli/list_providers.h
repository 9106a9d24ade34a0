/* SPDX-License-Identifier: MIT */
/* How `ringside list --providers` prints the rows of ListProviders, aa{sv}. Nothing is trusted. */
#ifndef RS_HV_CLI_LIST_PROVIDERS_H
#define RS_HV_CLI_LIST_PROVIDERS_H

#include "cli/verb.h"

void rs_cli_print_providers(GVariant *providers);
void rs_cli_print_providers_json(GVariant *providers);
void rs_cli_print_provider_names(GVariant *providers);

#endif
