"""Read-only views of logs, journals and runs; imports nothing that changes them."""
