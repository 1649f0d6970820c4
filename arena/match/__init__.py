"""A match: its rules, its referee, games played in parallel, and their records."""
