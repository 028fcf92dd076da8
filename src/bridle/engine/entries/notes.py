"""The entry types of the engine, which other implementations of the format ignore.

| type | data | when |
|---|---|---|
| BRIDLE_PROCESS_CODE | sha256, previous | the process file has changed since the last iteration |
| BRIDLE_CLOCK_READ | turn, [after], now | `ctx.now()` was first called in a turn: after that step's or hook's result |
| BRIDLE_RUN_CONTINUED | – | a run that had failed waits for effects again |
| BRIDLE_SLEEP_PASSED | stepId, iso, targetEpochMs, now | `ctx.sleep_until` got a time in the past |
| BRIDLE_HOOK_REQUESTED | hookId, hookType, payloadDigest, [label] | `ctx.hook` was called, before the hook runs |
| BRIDLE_HOOK_RESOLVED | hookId, result | the hook has finished |

PROCESS_LOG (logSeq, label, message) is a type of the format; `ctx.log` writes it.
"""

from __future__ import annotations

PROCESS_CODE = "BRIDLE_PROCESS_CODE"
CLOCK_READ = "BRIDLE_CLOCK_READ"
SLEEP_PASSED = "BRIDLE_SLEEP_PASSED"
HOOK_REQUESTED = "BRIDLE_HOOK_REQUESTED"
HOOK_RESOLVED = "BRIDLE_HOOK_RESOLVED"
