"""The documents, and the programs that make their pictures, their computed examples and their pages."""
