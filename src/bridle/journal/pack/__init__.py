"""The pack, a cache of a journal in one file. May import `format`; hooks import it."""
