"""The working copy after checks: what the code that they ran changed is restored, as after an agent.

`fixed_tree` restores the files of the tree. What no commit contains is restored here: git's own files, nested
repositories, branches and reflogs, and the files that programs of the user run later.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bridle.ground.git_folder import find_common_folder
from bridle.loop.checks.fixed_tree import CheckedTree, fixed_tree
from bridle.loop.effect_results import FileReport
from bridle.loop.performers import after_agent, branch
from bridle.loop.protection.git_files import nested_repositories
from bridle.loop.protection.git_files.git_metadata import Baseline, GitMetadata
from bridle.loop.protection.recorded.startup_files import StartupFiles
from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace.git_folder import git_links


@asynccontextmanager
async def unchanged_by_checks(context: RunContext, *, is_known: bool = False) -> AsyncIterator[CheckedTree]:
    """Fix everything in a working copy while checks run in it. `is_known`: the files are as at the last look."""
    with after_agent.agent_at_work(context, is_known=is_known) as baseline:
        async with fixed_tree(context, is_known=is_known) as tree:
            before, tip = after_agent.files_before(context, baseline), await context.git.head()
            startup = StartupFiles(context, before.startup)
            yield tree
            # Files that worktrees share are restored by the last agent or check that works: another one may have
            # changed them, and reports it.
            is_last = baseline.agents == 1
            with git_links.one_look():
                tree.reports += baseline.restore_links() if is_last else []
                tree.reports += after_agent.remove_special_files(context)
            now = after_agent.read_git(context, baseline)
            restored, found = await after_agent.restore_control_files(context, baseline, now, before, is_last=is_last)
            tree.reports += restored
            # Before anything moves the branch.
            tree.reports += await branch.make_plain(context, tip) if context.worker is None else []
        tree.reports += await _refs(context, baseline, now) if is_last else []
        if restored_later := startup.restore(found):
            tree.ignored = None  # it may list files that are gone now
            tree.reports += restored_later


async def _refs(context: RunContext, baseline: Baseline, now: GitMetadata) -> list[FileReport]:
    return await after_agent.restore_changed_refs(context, baseline, now) if now.folder is not None else []


@asynccontextmanager
async def unchanged_repositories(context: RunContext) -> AsyncIterator[list[FileReport]]:
    """Restore what git obeys in repositories below a checkout; yield a list to which the reports are added."""
    reports: list[FileReport] = []
    common = find_common_folder(context.folder)
    before = nested_repositories.read(context.folder, common)
    yield reports
    reports += await nested_repositories.restore(context.git, common, before)
