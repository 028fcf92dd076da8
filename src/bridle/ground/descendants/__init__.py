"""Find and end everything that a child started, also if Bridle is killed. Must not import children."""
