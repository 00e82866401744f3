"""Prose is plain English in the field's terms: no doc comment, text of a program or page has a phrase that reads as a translation."""

import re
from typing import NamedTuple

import pytest
from lab import REPO
from rust_texts import Kind, texts
from script_texts import python_texts, typescript_texts

# A clause begins here.
BEGINS = r"(?:^|(?<=[.:;!?] ))"


class Phrase(NamedTuple):
    """Phrases to avoid, their replacement, and samples: found in the first, not in the second."""

    pattern: str
    instead: str
    bad: str
    good: str


PHRASES = {
    "what": Phrase(
        BEGINS + r"What (?!if\b)(?!\w[^.]*\?)",
        "a noun phrase for what it is: 'Frames dropped by the device', 'Reason for the refusal'",
        "What was sent. And: What a trial found",
        "Shows what a trial found. What is it?",
    ),
    "who": Phrase(
        BEGINS + r"(?:Who|Whom|Whose|Whoever)\b(?![^.]*\?)",
        "a noun phrase: 'Owner of the lease', 'Sender of a frame'",
        "Whose it is. Who sent it",
        "Users who sent it, and whose it is. Who is it?",
    ),
    "how": Phrase(
        BEGINS + r"How (?:many|much|long|often|far|soon|fast|busy|evenly)\b(?!\w*[^.]*\?)",
        "a noun phrase: 'Number of …', 'Duration of …', 'Time to wait', 'Interval', 'State of …'",
        "How many there are. How long to wait",
        "Shows how many there are. How many?",
    ),
    "tell": Phrase(
        r"\b(?:tells?|told|telling)\b",
        "report, show, notify, instruct, distinguish; for a document: 'see'",
        "it is told when; telling them apart",
        "it reports when; until",
    ),
    "ask": Phrase(
        r"\b(?:asks?|asked|asking)\b",
        "request, query, poll, call, require",
        "as it asked for; packets asked",
        "as requested; tasks, masked",
    ),
    "answer": Phrase(
        r"\b(?:answers?|answered|answering)\b(?! (?:sections?|counts?|records?)\b)",
        "reply, respond, response, return, result",
        "it answers; an answer",
        "it replies; the answer section",
    ),
    "say": Phrase(
        r"\b(?:says?|said|saying)\b",
        "state, specify, report, announce, define; for a document: 'according to', 'see'",
        "the profile says so; as RFC 2544 says",
        "as the profile specifies; essay",
    ),
    "speak": Phrase(
        r"\b(?:speaks|spoke|spoken|hears?|heard|overhears?|overheard)\b",
        "use, support, run (a protocol); receive, detect, capture",
        "it speaks BGP; peers it heard of",
        "it runs BGP; a BGP speaker",
    ),
    "person": Phrase(
        r"\b(?:nobody|somebody|everybody|anybody|whoever|strangers?|she|her|his)\b",
        "the thing's name; 'no process', 'any user', 'unknown senders'; 'they'",
        "nobody sends; a stranger",
        "no host sends; others",
    ),
    "stand": Phrase(
        r"\b(?:stands?|stood)\b(?!-| (?:alone|for)\b)",
        "is, is at, applies; 'stalled' for 'stood still'; 'unmodified' for 'as it stands'",
        "as it stands; it stood still; where it stands",
        "it stalled; X stands for a digit; a stand-alone program; understand",
    ),
    "own": Phrase(
        r"\bof (?:its|their|one's|his|her|your|our|my) own\b",
        "its own X, a separate X, a dedicated X",
        "a core of its own",
        "its own core, a dedicated core",
    ),
    "those": Phrase(
        r"\b(?:those|these) of\b",
        "the noun again, or a compound: 'the stream's counters'",
        "with those of the stream",
        "with the stream's counters; those offered",
    ),
    "so many": Phrase(
        r"\bso many\b",
        "number of, at most N, as many as",
        "So many hosts; in so many turns",
        "number of hosts; so that many",
    ),
    "go on": Phrase(
        r"\b(?:goes|go|went|gone|going) on\b",
        "continue, resume, proceed",
        "it goes on; going on",
        "it continues; ongoing",
    ),
    "shall": Phrase(r"\bshall\b", "must, should, will", "it shall end", "it must end; shallow"),
    "come of": Phrase(
        r"\b(?:came|comes?) (?:of|to (?:an end|nothing|be))\b",
        "result, outcome, end",
        "what came of it; it comes to an end",
        "it came from there; comes to port 1",
    ),
}
FOUND = {name: re.compile(phrase.pattern, re.IGNORECASE if name == "so many" else 0) for name, phrase in PHRASES.items()}
ANY = re.compile("|".join(f"(?:{phrase.pattern})" for phrase in PHRASES.values()), re.IGNORECASE)
CRATES = sorted(
    manifest.parent for floor in ("core", "edge", "shell", "dev") for manifest in (REPO / floor).glob("*/Cargo.toml")
)
# Pages that a program writes.
GENERATED = {"docs/reference.md", "docs/result-fields.md", "docs/tcp-probes.md"}
PAGES = sorted(
    page for page in [*REPO.glob("*.md"), *(REPO / "docs").rglob("*.md")] if str(page.relative_to(REPO)) not in GENERATED
)


# Programs in other languages: their folder, files, reader, and the files that a program writes.
SCRIPTS = [
    ("clients/python", ("src/**/*.py", "tools/*.py"), python_texts, {"profile.py", "outcome.py", "resources.py"}),
    ("clients/trex", ("src/**/*.py",), python_texts, set()),
    ("web", ("src/**/*.ts", "src/**/*.tsx"), typescript_texts, {"types.ts"}),
]


def phrases(text):
    """Names of the phrases in a text, one for each place; quoted code, names of keys and placeholders do not count."""
    plain = re.sub(r"`[^`]*`|'[a-z_.]+'|\{\w*\}", "`x`", text)
    if not ANY.search(plain):
        return []
    return [name for name, pattern in FOUND.items() for _ in pattern.finditer(plain)]


def paragraphs(page):
    """The prose of a page: paragraphs, items, cells and headings, without code and the addresses of links."""
    text = re.sub(r"^ *```.*?^ *```", "\n\n", page, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"<!--.*?-->|(?<=\])\([^)\s]*\)", "", text, flags=re.DOTALL)
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*|#>]|\d+\.)\s?)", text):
        for cell in re.split(r"(?<!\\)\|", block) if block.lstrip().startswith("|") else [block]:
            yield re.sub(r"^[-*#>\d.\s]+", "", " ".join(cell.split()))


def places():
    """Each text with its place: of crates, programs in other languages, pages."""
    for crate in CRATES:
        for path in crate.rglob("*.rs"):
            is_program = "src" in path.parts and "tests" not in path.parts and not path.stem.endswith("tests")
            for kind, line, text in texts(path.read_text()):
                if is_program or kind is Kind.DOC:
                    yield f"{path.relative_to(REPO)}:{line}", text
    for name, patterns, read, generated in SCRIPTS:
        paths = [path for pattern in patterns for path in sorted((REPO / name).glob(pattern))]
        assert paths, f"{name} has no texts"
        for path in (path for path in paths if path.name not in generated):
            for _, line, text in read(path.read_text()):
                yield f"{path.relative_to(REPO)}:{line}", text
    for page in PAGES:
        for text in paragraphs(page.read_text()):
            yield str(page.relative_to(REPO)), text


def test_prose_is_plain():
    """Each phrase found is shown with its place and what to write instead."""
    found = [
        f"{place}: {phrase}: {text[:150]}\n    write {PHRASES[phrase].instead}"
        for place, text in places()
        for phrase in phrases(text)
    ]
    assert not found, "\n".join(found[:40])


def test_few_doc_comments_begin_with_what():
    """A doc comment says what a thing is with a noun phrase, and what it does with a verb."""
    lines = [
        line
        for crate in CRATES
        for path in crate.rglob("*.rs")
        for line in re.findall(r"^\s*//[/!] What\b.*", path.read_text(), re.MULTILINE)
    ]
    assert len(lines) < 50, "\n".join(lines[:60])


@pytest.mark.parametrize("name", PHRASES)
def test_a_phrase_is_found_and_its_replacement_is_not(name):
    """Patterns find their samples, as often as the samples have them, and nothing in better ones."""
    phrase = PHRASES[name]
    assert set(phrases(phrase.bad)) == {name}
    assert phrases(phrase.good) == []
    assert phrases(f"see `{phrase.bad}`") == []


def test_names_of_keys_are_no_prose():
    """A word in quotes is a name; several are a text, and an apostrophe quotes nothing."""
    assert phrases("can't be used with 'answers' or 'rules.ask'") == []
    assert phrases("ends with 'it answers', the client's answer isn't") == ["answer", "answer"]


def test_texts_of_a_program_are_read():
    """Doc comments by paragraph, strings of more than one word; not other comments, tests, and strings that are code."""
    source = """//! What it is:
//! a *file*.
// What does not count.

/// One.
///
/// Another
/// one.
#[doc(alias = "a b")]
fn f(name: &'static str) -> char {
    let _ = "what \\"she\\" said"; // no "text of a program"
    let _ = ("single", r#"raw "text" here"#, '"');
    let _ = "# What it shows
user nobody nogroup;
http {
  root /said here
}
";
    /* "a b c" */
    'a'
}
#[cfg(test)]
mod tests {
    /// Counted.
    fn g() { panic!("not counted here") }
}
"""
    assert list(texts(source)) == [
        (Kind.DOC, 1, "What it is: a *file*."),
        (Kind.DOC, 5, "One."),
        (Kind.DOC, 7, "Another one."),
        (Kind.STRING, 11, 'what "she" said'),
        (Kind.STRING, 12, 'raw "text" here'),
        (Kind.STRING, 13, "# What it shows\n  root /said here\n"),
        (Kind.DOC, 24, "Counted."),
    ]


def test_texts_of_scripts_are_read():
    """Docstrings, comments of declarations, strings and text of elements; not code, and not other comments."""
    python = '''"""What it is."""
NAME = "one"
"""Which one.

And more."""
raise ValueError(f"she said {NAME}, and no more")  # not told
'''
    assert sorted(python_texts(python), key=lambda found: found[1]) == [
        (Kind.DOC, 1, "What it is."),
        (Kind.DOC, 3, "Which one."),
        (Kind.DOC, 3, "And more."),
        (Kind.STRING, 6, "she said"),
        (Kind.STRING, 6, ", and no more"),
    ]
    typescript = """/** What it
 * is. */
// What does not count.
const said = (x: string): Row => ({ text: "he said", more: `what goes ${x} on` });
const f = (run: Map<string, number>) => said(run) as number;
<p class="one">What is shown: {x}. Told to all.</p>
"""
    assert list(typescript_texts(typescript)) == [
        (Kind.DOC, 1, "What it is."),
        (Kind.STRING, 4, "he said"),
        (Kind.STRING, 4, "what goes {} on"),
        (Kind.STRING, 6, "What is shown:"),
        (Kind.STRING, 6, ". Told to all."),
    ]


def test_prose_of_a_page_is_read():
    """Not code, addresses and comments."""
    page = "# Head\n\nA [link](told.md)\nand more.\n\n```sh\nsay what\n```\n- item `said`\n  goes on\n\n"
    page += "| a | b c |\n|---|---|\n<!-- said -->\n"
    prose = [text for text in paragraphs(page) if re.search(r"\w", text)]
    assert prose == ["Head", "A [link] and more.", "item `said` goes on", "a", "b c"]
