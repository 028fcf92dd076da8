"""`bridle-agent acp`: the Agent Client Protocol, which editors speak, in place of stream-json.

A session is a run of this process with its own inbox and output; its events and control requests are translated. May
import every other package of the agent, and only `program` imports it.
"""
