"""Read, Write, Edit and NotebookEdit, and the file formats they know. Imports only `tools.contract` of the agent."""
