"""An iteration that stops before each change to the disk and says where it is, so that another process can kill it.

`python -m tests.engine.gated RUN` prints one line before each change and waits for one on stdin; `done` at the end.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from bridle.engine.hooks.find_hooks import repository_of
from bridle.engine.hooks.run_hooks import Hooks
from bridle.engine.iterate.iterate import iterate
from bridle.journal.stores.file_store import FileStore
from tests.journal.gated import stop
from tests.journal.recorder import watch

if __name__ == "__main__":
    run = Path(sys.argv[1])
    with watch(stop):
        iterate(FileStore(run), run, Hooks(repository_of(run), os.environ))
    sys.stdout.write("done\n")
