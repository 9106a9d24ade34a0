/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLE_H
#define EXAMPLE_H

void example_tick(unsigned int number, const char *where);
void example_many(void);

#endif
