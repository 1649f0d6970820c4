"""Everything used to judge a submission: checks with points, their support, and the answers that only an instructor has."""
