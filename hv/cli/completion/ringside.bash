# SPDX-License-Identifier: MIT
# Completion for ringside: verbs, options, names of sessions and events.
# Options are asked of the command itself, so that they are always those that it has.

_ringside_options()
{
	ringside "$1" --help 2>/dev/null |
		sed -n 's/^  \(-[a-zA-Z], \)\?\(--[a-z][a-z-]*\).*/\2/p' | sort -u
}

_ringside_session()
{
	local i
	for ((i = 2; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-s | --session) echo "${COMP_WORDS[i + 1]}"; return ;;
		esac
	done
	# A first argument that is a session.
	for ((i = 2; i < COMP_CWORD; i++)); do
		if ringside ps -q 2>/dev/null | grep -qxF -e "${COMP_WORDS[i]}"; then
			echo "${COMP_WORDS[i]}"
			return
		fi
	done
}

_ringside_events()
{
	local session
	session=$(_ringside_session)
	ringside list -q ${session:+-s "$session"} 2>/dev/null
}

# Domains, of libvirt's daemon that the command would ask.
_ringside_domains()
{
	local i uri
	for ((i = 2; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-c | --connect) uri=${COMP_WORDS[i + 1]} ;;
		esac
	done
	timeout 2 virsh ${uri:+-c "$uri"} list --all --name 2>/dev/null </dev/null
}

_ringside()
{
	local cur prev words cword verb
	# A colon is part of an event's name.
	_get_comp_words_by_ref -n : cur prev words cword 2>/dev/null || {
		cur=${COMP_WORDS[COMP_CWORD]}
		prev=${COMP_WORDS[COMP_CWORD - 1]}
		words=("${COMP_WORDS[@]}")
		cword=$COMP_CWORD
	}
	COMPREPLY=()
	if [ "$cword" -eq 1 ]; then
		COMPREPLY=($(compgen -W "$(ringside --help | sed -n 's/^  \([a-z]*\)  .*/\1/p') --help --version" -- "$cur"))
		return
	fi
	verb=${words[1]}
	case $prev in
	-s | --session) COMPREPLY=($(compgen -W "$(ringside ps -q 2>/dev/null)" -- "$cur")); return ;;
	-e | --events)
		# Only engine has these; those of others are globs.
		if [ "$verb" = engine ]; then
			local last=${cur##*,}
			COMPREPLY=($(compgen -P "${cur%"$last"}" -W "clone exec exit syscall_entry
				syscall_exit syscall signal signal_ign signal_stop signal_term signal_core
				signal_all jctl" -- "$last"))
			return
		fi
		;;
	--color) COMPREPLY=($(compgen -W "auto always never" -- "$cur")); return ;;
	--format) COMPREPLY=($(compgen -W "human tap junit github" -- "$cur")); return ;;
	--profile) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$cur")); return ;;
	--mode) COMPREPLY=($(compgen -W "overwrite drop" -- "$cur")); return ;;
	--owner) COMPREPLY=($(compgen -W "host guest" -- "$cur")); return ;;
	-d | --do) COMPREPLY=($(compgen -W "pause freeze snapshot snapshot= stack stack= enable= disable=" -- "$cur")); return ;;
	--on) COMPREPLY=($(compgen -W "panic reset signal event=" -- "$cur")); return ;;
	-b | --by)
		# That of report is a field.
		if [ "$verb" = top ]; then
			COMPREPLY=($(compgen -W "event source cpu task" -- "$cur"))
			return
		fi
		;;
	-c | --connect)
		case $verb in
		attach | prepare | run)
			COMPREPLY=($(compgen -W "qemu:///system qemu:///session" -- "$cur"))
			declare -F __ltrim_colon_completions >/dev/null && __ltrim_colon_completions "$cur"
			return
			;;
		esac
		;;
	--level) COMPREPLY=($(compgen -W "1 2 3 4 5" -- "$cur")); return ;;
	--accel) COMPREPLY=($(compgen -W "auto kvm tcg" -- "$cur")); return ;;
	--serial | --initrd | --shm | --qmp | -o | --output | --text | --calls | --report | --result | --core | --log) COMPREPLY=($(compgen -f -- "$cur")); return ;;
	--domain) COMPREPLY=($(compgen -f -X '!*.xml' -- "$cur") $(compgen -W "$(_ringside_domains)" -- "$cur")); return ;;
	--to) COMPREPLY=($(compgen -W "$(ringside export --to list 2>/dev/null | sed 's/ .*//')" -- "$cur")); return ;;
	--hosted) COMPREPLY=($(compgen -c -f -- "$cur")); return ;;
	esac
	case $cur in
	-*) COMPREPLY=($(compgen -W "$(_ringside_options "$verb")" -- "$cur")); return ;;
	esac
	case $verb in
	view)
		compopt -o filenames 2>/dev/null
		COMPREPLY=($(compgen -f -- "$cur") $(compgen -W "$(ringside ps -q 2>/dev/null)" -- "$cur"))
		;;
	apply) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$cur") $(compgen -W "$(ringside ps -q 2>/dev/null)" -- "$cur")) ;;
	run | report | diff | export | test) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$cur")) ;;
	enable | disable | filter | format | hist | list | trigger)
		COMPREPLY=($(compgen -W "$(_ringside_events) $(ringside ps -q 2>/dev/null)" -- "$cur"))
		declare -F __ltrim_colon_completions >/dev/null && __ltrim_colon_completions "$cur"
		;;
	prepare) COMPREPLY=($(compgen -W "$(_ringside_domains)" -- "$cur")) ;;
	attach)
		COMPREPLY=($(compgen -W "$(ringside ps 2>/dev/null | awk '$2 == "lost" || $2 == "detached" { print $1 }')
			$(_ringside_domains)" -- "$cur"))
		;;
	trace | top | record | snapshot | ktrace | kdump | engine | stat | ring | inject | stop | pause | resume)
		COMPREPLY=($(compgen -W "$(ringside ps -q 2>/dev/null)" -- "$cur"))
		;;
	esac
}

complete -F _ringside ringside
