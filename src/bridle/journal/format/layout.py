"""The names in a run's folder: the format's own, and the few that are ours. Constants and nothing else.

<runId>/
  run.json  inputs.json  .gitignore
  journal/<seq>.<ULID>.json      one file for each entry
  tasks/<effectId>/              task.json, result.json, stdout.log, stderr.log, blobs/
  state/                         what can be made again from the rest: state.json, our pack; and output.json
  blobs/ orphaned/ process/      made empty
  run.lock                       another implementation's lock, while it holds it
  bridle.lock                    ours; the kernel's lock is on this file
  journal.bak.<ms>/              what a repair replaced
"""

from __future__ import annotations

RUNS_FOLDER = ".a5c/runs"
RUNS_FOLDER_VARIABLE = "BABYSITTER_RUNS_DIR"
LAYOUT_VERSION = "2026.01-storage-preview"

RUN_FILE = "run.json"
INPUTS_FILE = "inputs.json"
IGNORE_FILE = ".gitignore"
IGNORED = "state/\ntasks/*/artifacts/\nblobs/\norphaned/\n"
JOURNAL = "journal"
TASKS = "tasks"
STATE = "state"
BLOBS = "blobs"
FOLDERS = (JOURNAL, TASKS, BLOBS, STATE, "orphaned", "process")
BACKUP_PREFIX = "journal.bak."

TASK_FILE = "task.json"
RESULT_FILE = "result.json"

STATE_FILE = "state.json"
STATE_SCHEMA = "2026.01.state-cache"
OUTPUT_REF = "state/output.json"

FOREIGN_LOCK_FILE = "run.lock"
LOCK_FILE = "bridle.lock"
PACK_FILE = "bridle.pack"

DEFAULT_EXPORT = "process"
PROOF_SALT = "babysitter-completion-secret-v1"

# Fields of our own in the format's entries: the SHA-256 of the file that the entry speaks of.
TASK_DIGEST = "taskSha256"
RESULT_DIGEST = "resultSha256"
OUTPUT_DIGEST = "outputSha256"
INPUTS_DIGEST = "inputsSha256"
RUN_DIGEST = "runSha256"
# In the metadata of a result: files that prove it, as seen from the run's folder, and their SHA-256.
EVIDENCE = "evidenceSha256"
