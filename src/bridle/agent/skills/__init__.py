"""Skills, commands and skillsets: finds them, reads them, and expands their text. Imports nothing else of the agent."""
