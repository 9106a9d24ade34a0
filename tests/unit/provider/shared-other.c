/* SPDX-License-Identifier: MIT */
#include "shared.h"

int others(void)
{
	return each(2) + (RS_PROVIDER_WRITE(shared, "plain", RS_LEVEL_INFO, 1) == 0);
}
