"""Builds a run from the command line and the settings: session, tools, prompt, model requests, conversation.

Each module returns values; only `run_agent` joins them. May import every other package of the agent.
"""
