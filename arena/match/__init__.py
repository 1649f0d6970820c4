"""A match: its rules, its referee, its games side by side, and their records."""
