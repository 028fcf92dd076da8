"""Tools that need a host which can answer: AskUserQuestion, EnterPlanMode and ExitPlanMode.

May import `tools.contract`, not `conversation` or `control`.
"""
