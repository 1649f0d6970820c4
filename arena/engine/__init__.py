"""The processes of a match: how an engine is started, spoken to, timed and ended."""
