"""WebFetch and what it may fetch. Imports `tools.contract` and `model.http` of the agent, nothing else of it."""
