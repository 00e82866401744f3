"""Tables as text."""


class TRexTextTable:
    """A table of text with a title."""

    def __init__(self, title=""):
        self.title = title
        self.rows = []

    def header(self, names):
        """Sets the header."""
        self.rows.insert(0, list(names))

    def add_row(self, row):
        """Adds a row."""
        self.rows.append(list(row))

    def add_rows(self, rows, header=True):
        """Adds rows."""
        self.rows.extend(list(row) for row in rows)

    def set_cols_align(self, *_):
        """Columns are aligned to the left."""

    set_cols_width = set_cols_dtype = set_deco = set_cols_align

    def draw(self):
        """The table's text."""
        rows = [[str(cell) for cell in row] for row in self.rows]
        widths = [max(map(len, column)) for column in zip(*rows)]
        lines = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
        return "\n".join([self.title, *lines] if self.title else lines)


def print_table_with_header(table, header="", untouched_header="", buffer=None):
    """Prints a table."""
    text = f"{header}{untouched_header}\n{table.draw()}\n"
    print(text, file=buffer)


print_table_by_keys = print_table_with_header
