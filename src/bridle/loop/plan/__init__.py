"""Plans: parsed from Markdown, prd.json or a goal, drafted and ticked. Imports only `loop.settings` and `loop.text`."""
