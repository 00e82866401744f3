"""Texts in Python and TypeScript files that people read: docstrings, comments on declarations, strings."""

import ast
import re

from rust_texts import WORDS, Kind

TOKEN = re.compile(
    r"""
      /\*\*(?P<doc>.*?)\*/
    | (?P<comment> (?<!:)//[^\n]*|/\*.*?\*/ )
    | "(?P<string>(?:[^"\\\n]|\\.)*)"
    | `(?P<template>(?:[^`\\]|\\.)*)`
    | [>}](?P<element>[^<>{}"`]*)(?=[<{])
    """,
    re.DOTALL | re.VERBOSE,
)
# Code between two brackets that belong to no element.
CODE = re.compile(
    r"[=&|]|\w\(|\)\s*:|;\s*$|\b(?:catch|const|else|export|finally|for|function|if|import|interface|let|return)\b"
)


def python_texts(source):
    """Kind, line and text of each docstring, also one after an attribute, and of each string of words."""
    tree = ast.parse(source)
    docs = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and WORDS.search(node.value):
            yield from paragraphs(Kind.DOC if node in docs else Kind.STRING, node.lineno, node.value)


def typescript_texts(source):
    """The same of comments that begin with two stars, of strings, and of the text of elements."""
    for token in TOKEN.finditer(source):
        line = source.count("\n", 0, token.start()) + 1
        if token["doc"]:
            yield from paragraphs(Kind.DOC, line, re.sub(r"^\s*\* ?", "", token["doc"], flags=re.MULTILINE))
            continue
        text = token["string"] or re.sub(r"\$\{[^}]*\}", "{}", token["template"] or "") or token["element"] or ""
        if WORDS.search(text) and not (token["element"] and CODE.search(text)):
            yield from paragraphs(Kind.STRING, line, text)


def paragraphs(kind, line, text):
    """Paragraphs of a text, each on one line; all have the line where the text begins."""
    for paragraph in re.split(r"\n\s*\n", text):
        if paragraph.strip():
            yield kind, line, " ".join(paragraph.split())
