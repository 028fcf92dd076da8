"""bridle-agent: a drop-in for the `claude` binary on any Messages API endpoint."""
