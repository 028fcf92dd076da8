"""Plans: parsed from Markdown, prd.json or a goal, drafted and ticked. Imports only settings, text and records."""
