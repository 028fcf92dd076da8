"""The format of a journal: entries, documents, digests and names. Imports no other package of `journal`."""
