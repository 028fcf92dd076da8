"""The loop: works on a plan's tasks with fresh agents until checks verify them; see docs/architecture.md.

    control/runs.drive_loop_run
      |-- Worktrees -- RunContext             one working copy: repository, plan, settings, environment, mask
      |-- DriverTime                          its time by a clock that cannot be set, recorded with each result
      |-- engine_adapter.performers           kind of effect -> LoopPerformer -> function(args, context) -> result
      `-- engine driver                       executes the requested effects, and replays the process on their results
            `-- process/ralph.Loop            decides; holds no file, clock or environment
                  |-- RunInputs               frozen plan and settings
                  |-- RunState -- TaskState   folded from the results
                  |-- AgentPool               limited and unusable agents
                  |-- Workers -- Worker       which task is in which working copy
                  |-- EffectRequests          encodes arguments, decodes results, counts ActiveTime
                  |-- RequiredChecks          which checks a task must pass
                  |-- MergeQueue              lands parallel work, one task at a time
                  |-- Verdicts                checks -> commit, another try, or failure
                  |-- Questions               wait for `bridle answer`
                  `-- Receipt                 built on request; shared by views, notices and --json

Sub-packages import downwards only: evidence, control, adoption, performers, checks, protection, working_copy,
onboarding, plan, settings, text; process imports only plan, settings and the records of inputs and effects; of the
engine only names.
"""
