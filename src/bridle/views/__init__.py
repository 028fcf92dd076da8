"""Read-only views of logs, journals and runs; imports no command and changes nothing."""
