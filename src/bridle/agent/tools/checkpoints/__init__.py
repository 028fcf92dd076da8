"""File checkpoints: the content of changed files at each prompt, and the way back. Imports only `tools/files`."""
