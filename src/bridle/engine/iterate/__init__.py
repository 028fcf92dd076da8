"""One iteration of a run, and the comparison of a run with its process. Imports neither `drive` nor performers."""
