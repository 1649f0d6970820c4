"""What every part of the arena tells whoever called it wrongly."""


class UsageError(ValueError):
    """The call was wrong: what was expected, what came and what to do. One sentence, exit code 2."""
