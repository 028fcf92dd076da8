"""An OpenAI-compatible chat endpoint in place of the Messages API; imported only where one is selected.

Requests are translated before they are sent, and chunks are translated into frames of the Messages API as they come:
the rest of the agent knows only those. May import `model.api` and `model.http`.
"""
