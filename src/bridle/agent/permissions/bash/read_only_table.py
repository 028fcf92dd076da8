"""Tables of read-only programs with their read-only options, and of the few that change files plainly.

A program, option or abbreviation that is not listed is unknown. Before adding an option, make sure that it neither
writes, nor runs a program, nor reads names of further files from a file.

A line starts with a program and the kind of its other words: `text` that is not opened, `paths`, a `pattern` and then
paths, or `none`; further lines of the same entry are indented. An option ends in `:` if its value is
the next word or the rest of this one, in `=` for a long one with a value, in `?` if the value is only ever behind an
equals sign, and in `@` if the value is the name of a file that is read. `-#` is a number with a dash.
"""

from __future__ import annotations

from typing import Final

READERS_TEXT: Final = """
ls paths
    -a -A -b -B -c -C -d -f -F -g -G -h -H -i -k -l -L -m -n -N -o -p -q -Q -r -R -s -S -t -u -U -v -x -X -Z
    -1 -I: -w: -T: --all --almost-all --author --escape --color? --directory --classify? --full-time
    --group-directories-first --no-group --human-readable --si --inode --ignore= --dereference
    --numeric-uid-gid --literal --indicator-style= --quote-name --reverse --recursive --size --sort= --time=
    --time-style= --width= --zero --help --version
cat paths
    -A -b -e -E -n -s -t -T -u -v --number --number-nonblank --show-all --show-ends --show-tabs
    --squeeze-blank
head paths -c: -n: -q -v -z -# --bytes= --lines= --quiet --silent --verbose
tail paths -c: -n: -f -F -q -v -z -# --bytes= --lines= --quiet --silent --verbose --follow?
wc paths -c -l -L -m -w --bytes --chars --lines --words --max-line-length
nl paths -b: -h: -f: -i: -l: -n: -p -s: -v: -w:
tac paths -b -r -s:
rev paths
fold paths -b -s -w:
expand paths -i -t:
unexpand paths -a -t:
cut paths -b: -c: -d: -f: -n -s -z --bytes= --characters= --delimiter= --fields= --only-delimited --complement
paste paths -d: -s -z
column paths -t -s: -o: -n -x -c: -N: -R:
join paths -1: -2: -a: -e: -i -j: -o: -t: -v:
comm paths -1 -2 -3 -z --nocheck-order --output-delimiter= --total
cmp paths -b -i: -l -n: -s
diff paths
    -a -b -B -c -C: -d -e -E -i -I: -n -N -p -q -r -s -t -u -U: -w -W: -x: -y -Z --brief --color? --context?
    --unified? --ignore-all-space --ignore-blank-lines --ignore-case --ignore-space-change --minimal
    --new-file --recursive --report-identical-files --side-by-side --strip-trailing-cr --suppress-common-lines
    --text --width= --exclude=
sort paths
    -b -c -C -d -f -g -h -i -k: -m -M -n -r -R -s -t: -u -V -z --check? --dictionary-order --field-separator=
    --ignore-case --key= --human-numeric-sort --numeric-sort --reverse --stable --unique --version-sort
    --zero-terminated
uniq none -c -d -D -f: -i -s: -u -w: -z --count --repeated --unique --ignore-case
tr text -c -C -d -s -t --complement --delete --squeeze-repeats --truncate-set1
od paths -A: -c -d -j: -N: -o -t: -v -w? -x -b
hexdump paths -b -c -C -d -n: -o -s: -v -x
strings paths -a -n: -o -t: -# --bytes= --radix=
base64 paths -d -i -w: --decode --ignore-garbage --wrap=
md5sum paths -b -t -z --tag
sha1sum paths -b -t -z --tag
sha256sum paths -b -t -z --tag
sha512sum paths -b -t -z --tag
cksum paths
file paths -b -i -h -L -k -N -r -s -0 --brief --mime --mime-type --mime-encoding --dereference --no-dereference
stat paths -c: -f -L -t --format= --printf= --dereference --file-system --terse
readlink paths -e -f -m -n -q -s -v -z
realpath paths -e -m -L -P -q -s -z --relative-to@ --relative-base@
du paths
    -a -b -c -d: -h -H -k -L -l -m -P -s -S -x -0 --all --apparent-size --bytes --human-readable --max-depth=
    --si --summarize --total --exclude= --threshold=
df paths -a -h -H -i -k -l -P -T -t: -x: --human-readable --inodes --local --print-type --total --type=
tree paths
    -a -d -f -h -i -L: -P: -I: -s -t -C -n -D -p -u -g -F --dirsfirst --gitignore --noreport --du --filelimit=
grep,egrep,fgrep pattern
    -a -A: -b -B: -c -C: -d: -D: -e: -E -f@ -F -G -h -H -i -I -l -L -m: -n -o -P -q -r -R -s -T -U -v -w -x -y
    -z -Z -# --text --after-context= --before-context= --binary-files= --byte-offset --color? --colour?
    --context= --count --exclude= --exclude-dir= --include= --extended-regexp --fixed-strings --basic-regexp
    --perl-regexp --regexp= --file@ --files-with-matches --files-without-match --ignore-case --invert-match
    --line-number --line-regexp --max-count= --no-filename --no-messages --only-matching --quiet --silent
    --recursive --with-filename --word-regexp --null --label=
rg pattern
    -a -A: -b -B: -c -C: -e: -E: -f@ -F -g: -h -H -i -I -j: -l -L -m: -M: -n -N -o -P -p -q -r: -s -S -t: -T:
    -u -U -v -V -w -x -0 -. --after-context= --before-context= --color= --colors= --column --context= --count
    --count-matches --crlf --debug --encoding= --files --files-with-matches --files-without-match
    --fixed-strings --follow --glob= --heading --hidden --iglob= --ignore-case --invert-match --json
    --line-number --line-regexp --max-columns= --max-count= --max-depth= --multiline --multiline-dotall
    --no-filename --no-heading --no-ignore --no-ignore-vcs --no-line-number --no-messages --null
    --only-matching --passthru --pcre2 --pretty --quiet --regexp= --replace= --smart-case --sort= --sortr=
    --stats --text --trim --type= --type-list --type-not= --unrestricted --vimgrep --with-filename
    --word-regexp --version
echo text *
basename text -a -s: -z
dirname text -z
seq text -f: -s: -w -#
sleep text
true text *
false text *
pwd none -L -P
whoami none
id text -g -G -n -r -u -z
groups text
hostname none -A -d -f -i -I -s
uname none -a -i -m -n -o -p -r -s -v --all
arch none
nproc none --all
uptime none -p -s
free none -b -g -h -k -m -s: -t -w
which text -a -s
cal text -1 -3 -j -m -s -y
tty none -s
"""

# Options of git that only choose what is shown. Git also takes abbreviations; those are not listed, and so not known.
SHOWING: Final = """
-p -u -s -U? -z -w -b -a -r -R -t -M? -C? -B? -D -l: -S: -G: -L: -n: -i -E -F -P -q -v -g -m -c -# --patch
--no-patch --unified? --raw --stat? --numstat --shortstat --dirstat? --summary --name-only --name-status
--color? --no-color --color-words? --word-diff? --word-diff-regex= --color-moved? --check --full-index
--binary --abbrev? --no-abbrev --find-renames? --find-copies? --no-renames --diff-filter= --pickaxe-all
--pickaxe-regex --text --ignore-space-at-eol --ignore-space-change --ignore-all-space --ignore-blank-lines
--function-context --exit-code --quiet --no-ext-diff --no-textconv --minimal --patience --histogram
--diff-algorithm= --inter-hunk-context= --no-prefix --src-prefix= --dst-prefix= --line-prefix=
--ignore-submodules? --submodule? --compact-summary --patch-with-stat --oneline --graph --decorate?
--no-decorate --all --branches? --tags? --remotes? --glob= --exclude= --max-count= --skip= --since=
--after= --until= --before= --author= --committer= --grep= --all-match --invert-grep --regexp-ignore-case
--extended-regexp --fixed-strings --perl-regexp --merges --no-merges --min-parents? --max-parents?
--first-parent --pretty? --format? --abbrev-commit --no-abbrev-commit --date= --relative-date --parents
--children --left-right --cherry --cherry-pick --cherry-mark --left-only --right-only --boundary
--simplify-by-decoration --full-history --ancestry-path --topo-order --date-order --author-date-order
--reverse --no-walk? --walk-reflogs --follow --source --log-size --notes? --no-notes --show-signature
--merge-base --cached --staged --relative? --no-relative --cc --combined-all-paths --reflog --objects
--count --not --no-pager --show-pulls --no-mailmap --use-mailmap --encoding= --expand-tabs?
--no-expand-tabs --no-commit-id --root --always --indent-heuristic
"""

# Subcommands of git that only read, with `names` or `bare`: whether words without a dash may follow.
GIT_TEXT: Final = """
blame names
    -b -e -f -l -L: -n -p -s -t -w -M? -C? --date= --porcelain --line-porcelain --show-email --show-name
    --root
branch bare
    -a -l -r -v -vv -q --all --list --remotes --verbose --show-current --color? --no-color --sort= --format=
    --contains= --no-contains= --merged= --no-merged= --points-at= --column? --no-column --abbrev?
cat-file names -e -p -s -t
count-objects bare -v -H
describe names
    --all --tags --long --always --dirty? --abbrev= --match= --exclude= --contains --first-parent
    --exact-match
diff names SHOWING
diff-tree names SHOWING
for-each-ref names --format= --sort= --count= --contains= --merged= --points-at=
grep names
    -a -A: -B: -C: -c -e: -E -F -G -h -H -i -I -l -L -n -o -P -p -q -v -w -W --break --cached --color? --count
    --column --files-with-matches --files-without-match --heading --ignore-case --line-number --max-depth=
    --name-only --untracked --no-color --show-function --word-regexp --and --or --not --all-match --threads=
    --only-matching --full-name
log names SHOWING
ls-files names
    -c -d -i -k -m -o -s -t -u -v -z -x: --cached --deleted --modified --others --ignored --stage --unmerged
    --killed --exclude= --exclude-standard --error-unmatch --full-name --abbrev? --eol --deduplicate
    --directory
ls-tree names -d -l -r -t -z --abbrev? --full-name --full-tree --long --name-only --name-status --object-only
merge-base names -a --all --is-ancestor --independent --octopus --fork-point
name-rev names --tags --all --always --name-only --refs=
reflog bare SHOWING
rev-list names SHOWING
rev-parse names
    --abbrev-ref? --short? --verify --quiet -q --show-toplevel --git-dir --git-common-dir
    --is-inside-work-tree --is-bare-repository --show-prefix --show-cdup --symbolic-full-name --symbolic
    --absolute-git-dir --all
shortlog names SHOWING -e -s -n
show names SHOWING
show-ref names -d -q -s --abbrev? --dereference --hash? --head --heads --quiet --tags --verify --branches
status names
    -b -s -u? -v -z --ahead-behind --no-ahead-behind --branch --column? --find-renames? --ignored?
    --ignore-submodules? --long --no-renames --porcelain? --short --show-stash --untracked-files? --verbose
tag bare
    -l -n? --list --sort= --format= --contains= --no-contains= --merged= --no-merged= --points-at= --column?
    --color?
version bare --build-options
whatchanged names SHOWING
"""

# Subcommands that are read-only with one of these words after them.
GIT_WITH: Final = {
    "config": ("--get",),
    "remote": ("-v", "--verbose", "get-url", ""),
    "stash": ("list", "show"),
    "worktree": ("list",),
}

# `program --version` and nothing else.
VERSIONS: Final = {
    "bash": ("--version",),
    "gcc": ("--version",),
    "git": ("--version", "version"),
    "make": ("--version", "-v"),
    "node": ("--version", "-v"),
    "python": ("--version", "-V"),
    "python3": ("--version", "-V"),
    "ruby": ("--version", "-v"),
}

FIND_TEXT: Final = """
! ( ) , -H -L -P -a -and -d -daystart -depth -empty -executable -false -follow -ignore_readdir_race -ls
-mount -nogroup -noleaf -not -nouser -nowarn -o -or -print -print0 -prune -quit -readable -true -warn
-writable -xdev
"""
FIND_WITH_TEXT: Final = """
-amin -atime -cmin -ctime -fstype -gid -group -ilname -iname -inum -ipath -iregex -iwholename -links
-lname -maxdepth -mindepth -mmin -mtime -name -path -perm -printf -regex -regextype -size -type -uid -used
-user -wholename -xtype
"""
# Options with which a program follows links; `diff` does so in every folder.
FOLLOWING: Final = {
    "egrep": frozenset({"-R"}),
    "fgrep": frozenset({"-R"}),
    "find": frozenset({"-L", "-follow"}),
    "grep": frozenset({"-R"}),
    "rg": frozenset({"-L", "--follow"}),
}
FIND_WITH_PATH: Final = frozenset({"-newer", "-anewer", "-cnewer", "-samefile"})

# Programs that only change the files they name: allowed in modes that accept edits. Options of cp and mv can swap
# source and target, and are not listed.
CHANGERS_TEXT: Final = """
touch paths -a -c -m -d: -t: -r@ --no-create --date= --reference@
mkdir paths -p -v -m: --parents --verbose --mode=
rmdir paths -p -v --parents --verbose --ignore-fail-on-non-empty
rm paths -d -f -i -I -r -R -v --dir --force --recursive --verbose --interactive?
cp paths
mv paths
"""


def entries(text: str) -> dict[str, tuple[str, str]]:
    """Parse a table: for each name its kind and its options."""
    parsed: dict[str, tuple[str, str]] = {}
    for line in text.strip().replace("\n    ", " ").splitlines():
        names, kind, *options = line.split()
        for name in names.split(","):
            parsed[name] = (kind, " ".join(options).replace("SHOWING", SHOWING))
    return parsed
