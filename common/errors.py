"""The exception for mistakes made by the user of one of our programs."""


class UsageError(Exception):
    """The call was wrong or the machine lacks something.

    The message is one sentence for the user: what was expected, what was given instead, and what to do. Programs print it
    and exit with code 2.
    """
