"""Texts in Rust files that people read: doc comments and strings."""

import re
from enum import Enum


class Kind(Enum):
    """What a text is."""

    DOC = "doc comment"
    STRING = "string"


TOKEN = re.compile(
    r"""
      (?P<doc> ^[ \t]*//[/!](?!/)[^\n]*\n(?:[ \t]*//[/!](?!/)[^\n]*\n)* )
    | (?P<attribute> \#!?\[(?:doc|cfg|allow|expect|path|serde|schemars)\b[^\n]* )
    | (?P<comment> //[^\n]*|/\*.*?\*/ )
    | b?r(?P<marks>\#*)"(?P<raw>.*?)"(?P=marks)
    | "(?P<string>(?:[^"\\]|\\.)*)"
    | '(?:\\.[^']*|[^\\'])'
    """,
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
TESTS = re.compile(r"#\[cfg\(test\)\]\s*(?:pub(?:\(crate\))? )?mod \w+ \{")
# A line of a configuration or a program, in a literal that has several lines: a statement, or an end of a block.
STATEMENT = re.compile(r"^.*[;{}]\n", re.MULTILINE)
WORDS = re.compile(r"[A-Za-z]{2}[^\w\s]* [^\w\s]*\w")


def texts(source):
    """Kind, line and text of each paragraph of a doc comment, and of each string of words in the program itself.

    Statements of configurations in strings are left out.
    """
    tests = TESTS.search(source)
    program = tests.start() if tests else len(source)
    line, at = 1, 0
    for token in TOKEN.finditer(source):
        line, at = line + source.count("\n", at, token.start()), token.start()
        if token["doc"]:
            yield from paragraphs(token["doc"], line)
        elif at < program:
            text = re.sub(r"\\\n\s*", "", token["string"] or token["raw"] or "").replace('\\"', '"')
            text = STATEMENT.sub("", text)
            if WORDS.search(text):
                yield Kind.STRING, line, text


def paragraphs(comment, line):
    """Paragraphs of a doc comment that begins at a line, without blocks of code."""
    paragraph, first, code = [], line, False
    for number, marked in enumerate([*comment.splitlines(), "///"], line):
        text = re.sub(r"^\s*//[/!] ?", "", marked).strip()
        if text.startswith("```"):
            code = not code
        elif text and not code:
            first = first if paragraph else number
            paragraph.append(text)
            continue
        if paragraph:
            yield Kind.DOC, first, " ".join(paragraph)
            paragraph = []
