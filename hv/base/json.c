/* SPDX-License-Identifier: MIT */
#include "base/json.h"

bool rs_json_is_shallow(const char *text, size_t size, unsigned int max)
{
	unsigned int depth = 0;
	bool in_string = false;

	for (size_t i = 0; i < size; i++) {
		char c = text[i];

		if (in_string) {
			if (c == '\\')
				i++;
			else if (c == '"')
				in_string = false;
		} else if (c == '"') {
			in_string = true;
		} else if (c == '{' || c == '[') {
			if (++depth > max)
				return false;
		} else if ((c == '}' || c == ']') && depth > 0) {
			depth--;
		}
	}
	return true;
}
