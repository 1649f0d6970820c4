"""The commands of whoever runs or writes the course. Never in a kit."""
