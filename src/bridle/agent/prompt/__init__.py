"""The system prompt and the context of a session: instructions, machine, git. Imports only `skills` of the agent."""
