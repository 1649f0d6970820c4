"""What goes back to the class: a folder for each student, a page about all, and an autograder to upload to Gradescope."""
