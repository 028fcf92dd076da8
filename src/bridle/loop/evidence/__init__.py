"""What proves a run to others: its commits compared with its journal, and signed statements.

No other package of the loop imports it.
"""
