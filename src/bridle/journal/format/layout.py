"""The file names in a run's folder, by the format and our own. Constants only.

<runId>/
  run.json  inputs.json  .gitignore
  journal/<seq>.<ULID>.json      one file for each entry
  tasks/<effectId>/              task.json, result.json, stdout.log, stderr.log, blobs/
  state/                         caches (state.json, our pack) and output.json
  blobs/ orphaned/ process/      created empty
  run.lock                       the lock of another implementation
  bridle.lock                    our lock, held by flock
  bridle.chain                   the digest of each entry and all before it
  journal.bak.<ms>/              the backup of a repair
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
CHAIN_FILE = "bridle.chain"

DEFAULT_EXPORT = "process"
PROOF_SALT = "babysitter-completion-secret-v1"

# Our own fields in entries of the format: the SHA-256 of the file that the entry refers to.
TASK_DIGEST = "taskSha256"
RESULT_DIGEST = "resultSha256"
OUTPUT_DIGEST = "outputSha256"
INPUTS_DIGEST = "inputsSha256"
RUN_DIGEST = "runSha256"
STDOUT_DIGEST = "stdoutSha256"
STDERR_DIGEST = "stderrSha256"
# Our own field of a request: the references of the blobs that its definition refers to, whose names have their SHA-256.
BLOB_REFS = "blobRefs"
# Our own field of RUN_CREATED: the version of the chain that the run has.
CHAIN_VERSION = "chainVersion"
# In the metadata of a result: the files of its evidence, relative to the run, and their SHA-256.
EVIDENCE = "evidenceSha256"
