"""The rules of NoGo."""
