"""Rust source without what is not code: comments, texts, and tests."""

import re

# In the order in which they must be tried at each place.
TOKEN = re.compile(
    r"""
      (?P<line>//[^\n]*)
    | (?P<block>/\*)
    | (?P<raw>\bb?r(?P<hashes>\#*)".*?"(?P=hashes))
    | (?P<text>b?"(?:\\.|[^"\\])*")
    | (?P<char>b?'(?:\\(?:x[0-9a-fA-F]{2}|u\{[^}]*\}|.)|[^'\\\n])')
    """,
    re.VERBOSE | re.DOTALL,
)
TEST_ITEM = re.compile(r"#\[cfg\((?:all\()?test\b[^\]]*\]\s*")


def code(source):
    """`source` with comments gone and texts empty; lines stay where they are."""
    out, at = [], 0
    while found := TOKEN.search(source, at):
        out.append(source[at : found.start()])
        end = end_of_block_comment(source, found.start()) if found["block"] else found.end()
        gone = source[found.start() : end]
        is_comment = found["line"] or found["block"]
        out.append("" if is_comment else '""')
        out.append("\n" * gone.count("\n"))
        at = end
    return "".join(out) + source[at:]


def end_of_block_comment(source, at):
    depth = 0
    for found in re.compile(r"/\*|\*/").finditer(source, at):
        depth += 1 if found[0] == "/*" else -1
        if depth == 0:
            return found.end()
    return len(source)


def without_tests(clean):
    """`clean`, the output of `code`, without items that are compiled for tests only."""
    while found := TEST_ITEM.search(clean):
        end = end_of_item(clean, found.end())
        clean = clean[: found.start()] + "\n" * clean.count("\n", found.start(), end) + clean[end:]
    return clean


def end_of_item(clean, at):
    """Where the item that begins at `at` ends: at its semicolon, or behind its outermost braces."""
    depth = 0
    for index in range(at, len(clean)):
        character = clean[index]
        depth += (character in "{([") - (character in "})]")
        if depth == 0 and (character == ";" or character == "}"):
            return index + 1
    return len(clean)


def library_code(path):
    """The code of a file that ends up in the program."""
    return without_tests(code(path.read_text()))
