#!/bin/sh
# SPDX-License-Identifier: MIT
# clang-format accepts every source file. Only Debian 12's version does: others format differently.
cd "$1" || exit 1
case "$(clang-format --version 2>/dev/null)" in
*'version 14.'*) ;;
*) echo "clang-format 14 is not here"; exit 77 ;;
esac
files=$(git ls-files -co --exclude-standard '*.c' '*.h' 2>/dev/null)
[ -n "$files" ] || { echo "git lists no files here"; exit 77; }
printf '%s\n' "$files" | xargs clang-format --dry-run --Werror
