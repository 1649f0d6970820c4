"""The error for a mistake of the person who called a program."""


class UsageError(Exception):
    """The call was wrong or the machine lacks something.

    The message is one sentence for the caller: what was expected, what came, and what to do. Programs print it and exit
    with code 2.
    """
