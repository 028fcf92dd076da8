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
        bridle_has_no_run "$BABYSITTER_STATE_DIR/$bridle_id.md"
        return
    fi
    bridle_has_no_run @PLUGIN@/skills/babysit/state/"$bridle_id.md" || return 1
    for bridle_folder in "$PWD" "${CLAUDE_PROJECT_DIR:-$PWD}"; do
        while :; do
            bridle_has_no_run "$bridle_folder/.a5c/state/$bridle_id.md" || return 1
            [ -n "$bridle_folder" ] && [ "$bridle_folder" != "${bridle_folder%/*}" ] || break
            bridle_folder=${bridle_folder%/*}
        done
    done
}

if bridle_is_unbound; then
    echo '{}'
    exit 0
fi
