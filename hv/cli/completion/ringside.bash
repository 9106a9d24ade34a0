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

# Triggers of the session: their numbers.
_ringside_triggers()
{
	local session
	session=$(_ringside_session)
	ringside trigger ${session:+-s "$session"} 2>/dev/null | awk '$1 ~ /^[0-9]+$/ { print $1 }'
}

# COMPREPLY: those of the words $1 that begin with $2. They may have colons.
_ringside_words()
{
	COMPREPLY=($(compgen -W "$1" -- "$2"))
	declare -F __ltrim_colon_completions >/dev/null && __ltrim_colon_completions "$2"
}

# COMPREPLY: also the files that begin with $1 and are no programs.
_ringside_texts()
{
	local file
	compopt -o filenames 2>/dev/null
	while IFS= read -r file; do
		[ -d "$file" ] || [ ! -x "$file" ] && COMPREPLY+=("$file")
	done < <(compgen -f -- "$1")
}

# Sessions, if none is named yet.
_ringside_names()
{
	[ -n "$(_ringside_session)" ] || ringside ps -q 2>/dev/null
}

# What follows "--do ACTION=". The shell takes that for three words, and for two if nothing follows.
# Uses cur, words and cword. False: that is not what is typed.
_ringside_argument()
{
	local equals=$((cword - 1)) value=$cur
	if [ "$cur" = = ]; then
		equals=$cword
		value=
	fi
	[ "$equals" -ge 4 ] && [ "${words[equals]}" = = ] || return 1
	case ${words[equals - 2]} in
	-d | --do) ;;
	*) return 1 ;;
	esac
	case ${words[equals - 1]} in
	enable | disable) _ringside_words "$(_ringside_events)" "$value" ;;
	snapshot) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$value")) ;;
	esac
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
	[ "$verb" != trigger ] || ! _ringside_argument || return
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
	--profile) _ringside_texts "$cur"; return ;;
	--mode) COMPREPLY=($(compgen -W "overwrite drop" -- "$cur")); return ;;
	--owner) COMPREPLY=($(compgen -W "host guest" -- "$cur")); return ;;
	-d | --do) COMPREPLY=($(compgen -W "pause freeze snapshot snapshot= stack stack= enable= disable=" -- "$cur")); return ;;
	-r | --remove)
		if [ "$verb" = trigger ]; then
			_ringside_words "all $(_ringside_triggers)" "$cur"
			return
		fi
		;;
	--size)
		# That of a ring is a number.
		[ "$verb" != ring ] || return
		;;
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
	view | bench)
		compopt -o filenames 2>/dev/null
		COMPREPLY=($(compgen -f -- "$cur") $(compgen -W "$(ringside ps -q 2>/dev/null)" -- "$cur"))
		;;
	apply)
		COMPREPLY=($(compgen -W "$(_ringside_names)" -- "$cur"))
		_ringside_texts "$cur"
		;;
	run | report | diff | export | test) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$cur")) ;;
	enable | disable | filter | format | hist | list | trigger)
		_ringside_words "$(_ringside_events) $(_ringside_names)" "$cur"
		;;
	prepare) COMPREPLY=($(compgen -W "$(_ringside_domains)" -- "$cur")) ;;
	attach)
		COMPREPLY=($(compgen -W "$(ringside ps 2>/dev/null | awk '$2 == "lost" || $2 == "detached" { print $1 }')
			$(_ringside_domains)" -- "$cur"))
		;;
	trace | top | record | snapshot | ktrace | kdump | engine | stat | ring | inject | stop | pause | resume)
		COMPREPLY=($(compgen -W "$(_ringside_names)" -- "$cur"))
		;;
	esac
}

complete -F _ringside ringside
