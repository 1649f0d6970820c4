"""`python -m grader rehearse`: a made-up class whose grades are known, to try the whole course on before students hand in."""
