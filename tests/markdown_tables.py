"""Read tables in Markdown."""


def cells_of(table):
    """The cells of a table, without its ruler."""
    head, _, *body = table.strip().splitlines()
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in (head, *body)]
