"""The commands for those who run or write the course. Never in a kit."""
