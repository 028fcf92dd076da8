"""Names, descriptions and input schemas of the file, search and web tools, as the model reads them.

The schemas are recorded from Claude Code, the descriptions are our own. They are separate from the tools, so that a
run loads only the tools that it calls.
"""

from __future__ import annotations

from typing import NamedTuple

from bridle.agent.tools.contract.input_schema import LARGEST_INTEGER, JsonSchema, input_schema


class Declaration(NamedTuple):
    """The name, description and input schema of a tool."""

    name: str
    description: str
    schema: JsonSchema


_TEXT = {"type": "string"}
_NUMBER = {"type": "number"}
_FLAG = {"type": "boolean"}
_TEXTS = {"type": "array", "items": _TEXT}

READ = Declaration(
    "Read",
    """Reads a file from this machine.

- file_path: an absolute path, or one relative to the working directory. It must be a file; list directories with Bash.
- Text is returned with numbered lines: number, tab, line. offset (first line) and limit (number of lines) select a \
part; without limit, a file larger than 256 KB is an error.
- Images (png, jpg, gif, webp) and PDF files are shown to you; notebooks (.ipynb) are returned as cells with outputs.
- A file that has not changed since you read it is not returned again: use the earlier result.
- Read a file before you edit or overwrite it.""",
    input_schema(
        {
            "file_path": _TEXT,
            "offset": {"type": "integer", "minimum": 0, "maximum": LARGEST_INTEGER},
            "limit": {"type": "integer", "exclusiveMinimum": 0, "maximum": LARGEST_INTEGER},
            "pages": _TEXT,
        },
        ["file_path"],
    ),
)

WRITE = Declaration(
    "Write",
    """Writes the complete content of a file.

- Missing directories are created. An existing file is overwritten, and must have been read in this conversation.
- To change parts of a file use Edit, which sends only the change.
- An existing file keeps its encoding, line endings, mode and owner.""",
    input_schema(
        {"file_path": _TEXT, "content": _TEXT},
        ["file_path", "content"],
    ),
)

EDIT = Declaration(
    "Edit",
    """Replaces text in a file.

- The file must have been read in this conversation.
- old_string must match the file exactly, including whitespace and line breaks, without the line numbers that Read \
adds. It must occur once, unless replace_all is true; include enough surrounding text to make it unique.
- new_string replaces it. An empty old_string creates a new file.
- The file keeps its encoding, line endings, mode and owner.""",
    input_schema(
        {
            "file_path": _TEXT,
            "old_string": _TEXT,
            "new_string": _TEXT,
            "replace_all": {"default": False, "type": "boolean"},
        },
        ["file_path", "old_string", "new_string"],
    ),
)

NOTEBOOK_EDIT = Declaration(
    "NotebookEdit",
    """Changes one cell of a Jupyter notebook (.ipynb), which must have been read in this conversation.

- edit_mode replace (the default) sets the source of cell cell_id to new_source and clears the outputs of a code cell.
- insert adds a cell of kind cell_type after cell_id, or at the start if there is no cell_id. delete removes the cell.
- cell_id is the id that Read shows; cell-N is the cell at index N.""",
    input_schema(
        {
            "notebook_path": _TEXT,
            "cell_id": _TEXT,
            "new_source": _TEXT,
            "cell_type": {"type": "string", "enum": ["code", "markdown"]},
            "edit_mode": {"type": "string", "enum": ["replace", "insert", "delete"]},
        },
        ["notebook_path", "new_source"],
    ),
)

GLOB = Declaration(
    "Glob",
    """Finds files by name.

- pattern: a glob such as **/*.py, src/*.ts or {a,b}.md; without a slash it matches in every subdirectory.
- path: the directory to search; the working directory by default.
- Returns at most 100 paths, oldest file first. Hidden and ignored files are included; files inside .git only if the \
pattern or the path names it.""",
    input_schema({"pattern": _TEXT, "path": _TEXT}, ["pattern"]),
)

GREP = Declaration(
    "Grep",
    """Searches file contents with ripgrep.

- pattern: a regular expression in ripgrep's (Rust's) syntax; escape literal braces.
- path: a file or a directory; the working directory by default. glob (*.js, *.{ts,tsx}) and type (py, rust, …) \
filter the files. Files that .gitignore names are skipped.
- output_mode: files_with_matches (the default: paths, most recently changed first), content (matching lines), count.
- For content: -A, -B and -C (or context) add context lines, -n line numbers (on by default), -o prints only the match.
- -i ignores case. multiline lets a match span lines, and the dot match line breaks.
- head_limit (250; 0 for no limit) and offset page through the results.""",
    input_schema(
        {
            "pattern": _TEXT,
            "path": _TEXT,
            "glob": _TEXT,
            "output_mode": {"type": "string", "enum": ["content", "files_with_matches", "count"]},
            "-B": _NUMBER,
            "-A": _NUMBER,
            "-C": _NUMBER,
            "context": _NUMBER,
            "-n": _FLAG,
            "-i": _FLAG,
            "-o": _FLAG,
            "type": _TEXT,
            "head_limit": _NUMBER,
            "offset": _NUMBER,
            "multiline": _FLAG,
        },
        ["pattern"],
    ),
)

WEB_FETCH = Declaration(
    "WebFetch",
    """Fetches a web page and answers a question about it.

- url: an http or https URL. prompt: what you want to know about the page.
- A small model answers from the text of the page. Read-only: no login, no JavaScript.
- If the page redirects to another host, you get the new URL and can call again with it.
- Addresses of this machine and its network are refused.
- For code, issues and pull requests prefer git and the command-line client of the forge (such as gh).""",
    input_schema(
        {"url": {"type": "string", "format": "uri"}, "prompt": _TEXT},
        ["url", "prompt"],
    ),
)

WEB_SEARCH = Declaration(
    "WebSearch",
    """Searches the web and returns titles, URLs and a summary of what was found.

- query: what to search for. Name the current year when you look for recent information.
- allowed_domains: only results of these domains; blocked_domains: none of these. Give only one of the two.
- After an answer from results, list the URLs that you used under "Sources:", as markdown links.""",
    input_schema(
        {"query": {"type": "string", "minLength": 2}, "allowed_domains": _TEXTS, "blocked_domains": _TEXTS},
        ["query"],
    ),
)
