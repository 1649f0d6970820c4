"""The path of a submission, from archive to report."""
