"""What the model is told about the tools of files and pages: names, descriptions in our words, schemas as recorded.

Apart from what the tools do, so that a run that uses none of them does not load it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from bridle.agent.tools.contract.input_schema import LARGEST_INTEGER, input_schema


class Declaration(NamedTuple):
    """How one tool introduces itself."""

    name: str
    description: str
    schema: dict[str, Any]


_TEXT = {"type": "string"}
_NUMBER = {"type": "number"}
_FLAG = {"type": "boolean"}

READ = Declaration(
    "Read",
    """Shows a file of this machine.

- file_path: an absolute path, or one relative to the working folder. Folders are not read; list them with Bash.
- Text comes with its lines numbered: number, tab, line. offset (the first line) and limit (how many lines) pick a \
part; without limit, a file of more than 256 KB is refused.
- Pictures (png, jpg, gif, webp) and PDF files are shown as such; notebooks (.ipynb) as cells with their outputs.
- A file that you have read and that has not changed is not shown again: look at the earlier result.
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
    """Writes a file: its whole new content.

- Missing folders are made. A file that is already there must have been read in this conversation, and is replaced.
- To change parts of a file use Edit: it sends only the difference.
- Encoding, line endings, mode and owner of an existing file stay as they are.""",
    input_schema(
        {"file_path": _TEXT, "content": _TEXT},
        ["file_path", "content"],
    ),
)

EDIT = Declaration(
    "Edit",
    """Replaces a text in a file.

- The file must have been read in this conversation.
- old_string must stand in the file exactly as given, blanks and line ends included, without the line numbers \
that Read puts in front; and only once, unless replace_all is true. Give enough of what is around it to make it unique.
- new_string takes its place. An empty old_string creates a file that is not there yet.
- Encoding, line endings, mode and owner of the file stay as they are.""",
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

- edit_mode replace (the default) gives the cell named by cell_id the text new_source; a code cell loses its outputs.
- insert adds a cell after cell_id, or at the start without one; cell_type says which kind. delete takes the cell away.
- cell_id is the id that Read shows; cell-N means the cell at index N.""",
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

- pattern: a glob such as **/*.py, src/*.ts or {a,b}.md; one without a slash matches in every folder below.
- path: the folder to look in; the working folder if it is left out.
- Answers with paths, the oldest file first, 100 at most. Hidden and ignored files are found as well; inside .git only \
if the pattern or the path names it.""",
    input_schema({"pattern": _TEXT, "path": _TEXT}, ["pattern"]),
)

GREP = Declaration(
    "Grep",
    """Searches the content of files, with ripgrep.

- pattern: a regular expression in ripgrep's (Rust's) syntax; literal braces need a backslash.
- path: a file or a folder; the working folder if it is left out. glob (*.js, *.{ts,tsx}) and type (py, rust, …) \
narrow the files. What .gitignore names is left out.
- output_mode: files_with_matches (the default: paths, the latest change first), content (the lines), count.
- For content: -A, -B and -C (or context) show lines around, -n the line numbers (on by default), -o only what matched.
- -i ignores case. multiline lets a match go over line ends, and the dot match them.
- head_limit (250; 0 for no limit) and offset page through the result.""",
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
    """Fetches a page of the web and answers a question about it.

- url: an http or https address. prompt: what you want to know of the page.
- The answer is made from the page's text; a small model reads it for you. Read only, no sign-in, no scripts run.
- If the page has moved to another host, you get its new address, and call again if it suits you.
- Addresses of this machine and its network are not fetched from.
- For code, issues and pull requests prefer git and the forge's own program.""",
    input_schema(
        {"url": {"type": "string", "format": "uri"}, "prompt": _TEXT},
        ["url", "prompt"],
    ),
)
