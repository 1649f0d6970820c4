"""The exception for mistakes made by the user of one of our programs, and the reason that a system call failed."""


class UsageError(Exception):
    """The call was wrong or the machine lacks something.

    The message is one sentence for the user: what was expected, what was given instead, and what to do. Programs print it
    and exit with code 2.
    """


def reason_of(error: Exception) -> str:
    """Return why a file could not be read, without the file's name, which the sentence around it has already."""
    if isinstance(error, UnicodeDecodeError):
        return "it is not in UTF-8 (in Excel, save it as CSV UTF-8)"
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
