#!/bin/sh
# SPDX-License-Identifier: MIT
# Real work for procwatch: a process tree, pipes, files, a failure and a signal. It uses whole
# paths, since busybox's shell would otherwise run its own applets without exec, under the
# name "exe".
cd /tmp
/bin/seq 1 2000 >numbers
/bin/sort -r numbers | /bin/head -n 500 | /bin/wc -l
/bin/cat numbers numbers >twice
/bin/sha256sum twice
for i in 1 2 3; do
	(/bin/cp twice copy$i; /bin/wc -c copy$i; exit $i)
done
/bin/grep -c 99 twice
/bin/false
/bin/sh -c 'kill -9 $$'
/bin/ls -l /tmp
