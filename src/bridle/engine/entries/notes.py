"""The entries of the engine's own, which other implementations pass over.

| type | data | when |
|---|---|---|
| BRIDLE_PROCESS_CODE | sha256, previous | an iteration ran a file other than the one known before |
| BRIDLE_CLOCK_READ | turn, now | `ctx.now()` was first called in a turn |
| BRIDLE_SLEEP_PASSED | stepId, iso, targetEpochMs, now | `ctx.sleep_until` was given a moment that had passed |
| BRIDLE_HOOK_REQUESTED | hookId, hookType, payloadDigest, [label] | `ctx.hook` was called; before it runs |
| BRIDLE_HOOK_RESOLVED | hookId, result | the hook has run |

PROCESS_LOG (logSeq, label, message) is the format's own; `ctx.log` writes it.
"""

from __future__ import annotations

PROCESS_CODE = "BRIDLE_PROCESS_CODE"
CLOCK_READ = "BRIDLE_CLOCK_READ"
SLEEP_PASSED = "BRIDLE_SLEEP_PASSED"
HOOK_REQUESTED = "BRIDLE_HOOK_REQUESTED"
HOOK_RESOLVED = "BRIDLE_HOOK_RESOLVED"
