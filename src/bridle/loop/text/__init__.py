"""Small text formats: durations, path patterns and spans of JSON members. Imports no other part of the loop."""
