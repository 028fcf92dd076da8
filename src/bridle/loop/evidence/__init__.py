"""What proves a run to others: its commits compared with its journal, and statements signed with the user's key."""
