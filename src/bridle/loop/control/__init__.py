"""Creating, driving, pausing and cleaning runs of the loop. No other package of the loop imports it."""
