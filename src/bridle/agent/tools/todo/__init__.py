"""The task list that a model keeps for itself, and its tools. Imports only `tools.contract` of the agent."""
