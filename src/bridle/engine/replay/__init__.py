"""One deterministic execution of a process against its journal. May import `process` and `entries`; never writes."""
