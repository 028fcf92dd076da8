"""Audit and repair of a journal. No hook imports it."""
