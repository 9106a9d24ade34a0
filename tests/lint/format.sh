#!/bin/sh
# SPDX-License-Identifier: MIT
# clang-format agrees with every source file. Another version than Debian 12's would not.
cd "$1" || exit 1
case "$(clang-format --version 2>/dev/null)" in
*'version 14.'*) ;;
*) echo "clang-format 14 is not here"; exit 77 ;;
esac
git ls-files '*.c' '*.h' | xargs clang-format --dry-run --Werror
