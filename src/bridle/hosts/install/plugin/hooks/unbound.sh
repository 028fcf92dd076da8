# The command of the Stop hook reads this file first. Where no session is bound to a run, it approves the stop without
# starting Python. Where it cannot tell, the hook decides. Only built-in commands of the shell are used.

bridle_has_no_run() { # FILE: it does not exist, or is the file of a session without a run
    [ -e "$1" ] || [ -L "$1" ] || return 0
    [ -f "$1" ] && [ ! -L "$1" ] && [ -r "$1" ] || return 1
    {
        IFS= read -r bridle_line && [ "$bridle_line" = --- ] || return 1
        bridle_found=
        while IFS= read -r bridle_line; do
            case $bridle_line in
            'run_id: ""') bridle_found=yes ;;
            run_id*) return 1 ;;
            ---) [ -n "$bridle_found" ] && return 0 || return 1 ;;
            esac
        done
    } <"$1"
    return 1
}

bridle_has_marks() { # FOLDER: a session whose file is in it may be bound; the variable may name another session
    [ ! -e "$1" ] && [ ! -L "$1" ] && return 1
    [ -r "$1" ] && [ -x "$1" ] || return 0
    for bridle_mark in "$1"/.*.bound; do
        [ ! -e "$bridle_mark" ] && [ ! -L "$bridle_mark" ] || return 0
    done
    return 1
}

bridle_may_stop() { # FOLDER of session files: no session of it is bound
    ! bridle_has_marks "$1" && bridle_has_no_run "$1/$bridle_id.md"
}

bridle_is_unbound() {
    bridle_id=${CLAUDE_CODE_SESSION_ID-}
    case $bridle_id in '' | *[!A-Za-z0-9_-]*) return 1 ;; esac
    bridle_home=${BRIDLE_HOME:-${HOME:+$HOME/.bridle}}
    [ -n "$bridle_home" ] || return 1
    [ ! -e "$bridle_home/sessions" ] || [ -r "$bridle_home/sessions" ] || return 1
    for bridle_record in "$bridle_home"/sessions/*; do
        [ ! -e "$bridle_record" ] && [ ! -L "$bridle_record" ] || return 1
    done
    if [ -n "${BABYSITTER_STATE_DIR-}" ]; then
        bridle_may_stop "$BABYSITTER_STATE_DIR"
        return
    fi
    bridle_may_stop @PLUGIN@/skills/babysit/state || return 1
    for bridle_folder in "$PWD" "${CLAUDE_PROJECT_DIR:-$PWD}"; do
        while :; do
            bridle_may_stop "$bridle_folder/.a5c/state" || return 1
            [ -n "$bridle_folder" ] && [ "$bridle_folder" != "${bridle_folder%/*}" ] || break
            bridle_folder=${bridle_folder%/*}
        done
    done
}

if bridle_is_unbound; then
    echo '{}'
    exit 0
fi
