"""WebFetch, what it may fetch, and WebSearch. Imports `tools.contract` and `model.http` of the agent, nothing else."""
