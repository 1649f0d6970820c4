"""What a submission is judged by: checks with points, their support, and the answers that only an instructor has."""
