"""Commands put together at random from pieces of the shell's grammar: most are nonsense, and some are traps."""

from __future__ import annotations

from hypothesis import strategies as st

WHOLE = (
    "git status",
    "git log && ls",
    "echo a; git log",
    "if true; then git status; fi",
    "cat <<'E'\nhi\nE",
    "cat <<E\nhi\nE\ngit log",
    "cat <<-E\n\thi\n\tE\n",
    "cat <<'E' | head\nhi\nE",
    "git <<E log\nx\nE",
    "for i in a b; do git log; done",
    "f() { git status; }; f",
    "git commit -m \"$(cat <<'EOF'\nmsg\nEOF\n)\"",
    "(git log)",
    "{ ls; }",
    "git log | head",
    "timeout 5 git log",
    "sh -c 'git log; ls'",
    "case a in a) git log;; esac",
    "[[ -n a ]] && git log",
    "echo 'a b' \"c\" > /dev/null",
    "git log # x",
    "ls 2>&1 | wc -l",
    "! git log",
    "while false; do ls; done",
    "env LANG=C git log",
    "git log \\\n  -p",
    "git log\nls\n",
    "[ -f notes.txt ] && ls",
    "cd src && ls",
    "a=1; git log",
)
PIECES = (
    *("evil", "rm x", "touch y", "e\\\nvil", "r\\m x", "r'm' x", "git $(evil)", "git `evil`", '"$(evil)"', "{git,rm}"),
    *(" ", "\t", "\n", ";", "&", "|", "&&", "||", "|&", "(", ")", "{ ", "; }", "}", " ()", ";;", "!", "#", " # "),
    *("'", '"', "\\", "\\\n", "\\ ", "$'", "$'\\n'", '$"', "\\'", '\\"', "`", "$(", "$((", "((", "))", "<(", ">("),
    *(
        "<<E\n",
        "\nE\n",
        "<<'E'\n",
        '<<"E"\n',
        "<<-E\n",
        "\n\tE\n",
        "<<\\E\n",
        '<<E"F"\n',
        "\nEF\n",
        "EOF\n",
        "\nEOF\nevil\n",
        "\n\tEOF\nevil\n",
        "\nEOF\nevil\n",
        "\n\tEOF\nevil\n",
        "<<<",
    ),
    *(" > out", "> ", "< notes.txt", ">&", "&>", "&>>", ">|", "<>", "2>&1", "1>&", "<&"),
    *(" -o2>out", " a1<notes.txt", "evil2>> out", " 2x>&1", " -1>out", "日本", "🐎 ", "<<'é'\n", "\né\n", "\n日\n"),
    *(
        "if true; then ",
        "; fi",
        "else ",
        "elif ",
        "for i in a b; do ",
        "; done",
        "until true; do ",
        "select i in a; do ",
    ),
    *(
        "case a in a) ",
        " ;; esac",
        "in",
        "do",
        "then",
        "esac",
        "fi",
        "done",
        "function f ",
        "f() ",
        "f",
        "[[ a =~ ",
        "]] ",
    ),
    *(
        "time ",
        "env ",
        "env -i ",
        "command ",
        "builtin ",
        "sh -c '",
        'bash -c "',
        "nohup ",
        "nice -n 5 ",
        "stdbuf -oL ",
    ),
    *("timeout 5 ", "xargs ", "eval ", "exec ", "source ", "coproc ", "trap 'evil' EXIT", "git -c alias.x=!evil x"),
    *("A=1 ", "A=", "a[0]=", "LANG=C ", "$", "$x", "${", "${x:-", "$#", "$*", "$@", "$?", "{a,b}", "*", "~", "=", "?("),
    *(
        "[",
        "]",
        "{",
        "%",
        "@(a|b)",
        "\r",
        "\x0b",
        "\u00a0",
        "é",
        "-",
        "--",
        "0",
        ".",
        "/",
        ":",
        "cd src",
        "cd ..",
        "let x=",
    ),
    *("declare ", "export ", "printf %s ", "read x", "test ", "return", "exit", "break"),
)


@st.composite
def _damaged(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(WHOLE))
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(text)))
        removed = draw(st.integers(0, 1))
        text = text[:place] + draw(st.sampled_from(PIECES)) + text[place + removed :]
    return text


_MIXED = st.lists(st.sampled_from((*PIECES, *WHOLE)), min_size=1, max_size=8).map("".join)
COMMANDS = st.one_of(_damaged(), _MIXED)
