"""The generated parts of docs/handout.md and docs/theory.md, which `python docs/generate.py` writes into the texts."""
