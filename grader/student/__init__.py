"""The commands of a student's kit: check the folder and pack it."""
