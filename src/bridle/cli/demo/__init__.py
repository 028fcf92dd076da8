"""The sample repository and the scripted model of `bridle demo`. Imported by that command only."""
