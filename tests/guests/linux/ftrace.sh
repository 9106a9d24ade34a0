# SPDX-License-Identifier: MIT
# Functions for guests of tests: the kernel's own ftrace, in an instance, with our clock.
#   ftrace_begin SYSTEM/EVENT…    events that this kernel lacks are left out, and what the threads
#                                 of FTRACE_EXCEPT do
#   ftrace_end DIRECTORY          puts cpuN, formats/SYSTEM.EVENT and stats there
FTRACE=/sys/kernel/tracing/instances/ringside-test

ftrace_begin() {
	mkdir $FTRACE
	echo 0 >$FTRACE/tracing_on
	echo x86-tsc >$FTRACE/trace_clock
	echo 16384 >$FTRACE/buffer_size_kb
	echo $FTRACE_EXCEPT >$FTRACE/set_event_notrace_pid
	events=''
	for event; do
		[ ! -d $FTRACE/events/$event ] || events="$events $event"
	done
	for event in $events; do
		echo 1 >$FTRACE/events/$event/enable
	done
	sleep 0.5
	echo 1 >$FTRACE/tracing_on
	sleep 0.2
}

ftrace_end() {
	sleep 0.2
	echo 0 >$FTRACE/tracing_on
	mkdir -p $1/formats
	for event in $events; do
		echo 0 >$FTRACE/events/$event/enable
		cp $FTRACE/events/$event/format $1/formats/${event%/*}.${event#*/}
	done
	# A read of an empty buffer waits.
	for cpu in $FTRACE/per_cpu/cpu*; do
		timeout 1 cat $cpu/trace_pipe_raw >$1/${cpu##*/} &
	done
	wait
	cat $FTRACE/per_cpu/cpu*/stats >$1/stats
	rmdir $FTRACE
}
