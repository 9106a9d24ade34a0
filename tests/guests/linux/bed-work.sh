#!/bin/sh
# SPDX-License-Identifier: MIT
# Real work for a traced guest: pipelines, files, loopback network, signals, exec, exits. Each
# program is named by its path, so that the shell executes it.
cd /tmp
/bin/seq 1 2000 >numbers
/bin/sort -r numbers | /bin/head -n 500 | /bin/wc -l
/bin/cat numbers numbers >twice
/bin/gzip -c twice | /bin/gunzip -c | /bin/sha256sum
for i in 1 2 3; do
	(/bin/cp twice copy$i; /bin/wc -c copy$i; exit $i)
done
/bin/rm copy1 copy2 copy3
/bin/httpd -f -p 127.0.0.1:80 -h /tmp &
server=$!
/bin/usleep 300000
/bin/wget -q -O received http://127.0.0.1/twice
kill $server
wait $server
/bin/cmp twice received && echo "the network works"
/bin/sleep 100 &
kill -TERM $!
wait $!
/bin/sh -c 'trap "/bin/true" USR1; kill -USR1 $$; kill -9 $$'
(while :; do :; done) & # a CPU for itself
busy=$!
/bin/sleep 0.3
kill -KILL $busy
wait $busy
/bin/false
/bin/timeout 0.2 /bin/sleep 5
