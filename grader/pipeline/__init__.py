"""The way of a submission: from an archive to its results and its report."""
