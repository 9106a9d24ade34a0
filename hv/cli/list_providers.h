/* SPDX-License-Identifier: MIT */
/* Prints the rows of ListProviders, aa{sv}, for `ringside list --providers`. Rows are hostile. */
#ifndef RS_HV_CLI_LIST_PROVIDERS_H
#define RS_HV_CLI_LIST_PROVIDERS_H

#include "cli/verb.h"

void rs_cli_print_providers(GVariant *providers);
void rs_cli_print_providers_json(GVariant *providers);
void rs_cli_print_provider_names(GVariant *providers);

#endif
