"""Makes src/eagre/profile.py and src/eagre/outcome.py from the schemas that `eagre schema` prints.

python tools/generate.py EAGRE            writes them
python tools/generate.py EAGRE --check    fails if they are not what it would write
"""

import json
import keyword
import subprocess
import sys
import textwrap
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "src/eagre"
WIDTH = 116
FLAT = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}

PROFILE = '''\
"""The profile document as data classes. Made by tools/generate.py from `eagre schema profile`; not to be edited.

Every part can also be given as a plain dictionary. Texts with a meaning ('1Mpps', '64B', '10s') are checked by the server,
which names the path of each error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from eagre.documents import Written
'''

OUTCOME = '''\
"""Result, interval and campaign documents. Made by tools/generate.py from `eagre schema`; not to be edited.

None means not measured; zero means measured and zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
'''


def schema(program, what):
    done = subprocess.run([program, "schema", what], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def doc(text, indent="    "):
    """A docstring."""
    text = " ".join(text.split()).replace("\\", "\\\\")
    lines = textwrap.wrap(f'"""{text}', WIDTH - len(indent), break_long_words=False, break_on_hyphens=False)
    joined = f"\n{indent}".join(lines)
    end = '"""' if len(lines) == 1 else f'\n{indent}"""'
    return f"{indent}{joined}{end}\n"


def field_name(key):
    return f"{key}_" if keyword.iskeyword(key) else key


class Writer:
    """Python types of schemas."""

    def __init__(self, root):
        self.definitions = root.get("$defs", {})

    def is_class(self, name):
        """Whether a definition is written as a class: it is, or may be, a mapping with known keys."""
        return name != "PacketElement" and self.mapping(self.definitions[name]) is not None

    def mapping(self, node):
        """The branch of a definition that is a mapping with known keys."""
        branches = [node, *node.get("anyOf", []), *node.get("oneOf", [])]
        found = [branch for branch in branches if branch.get("properties")]
        return found[0] if len(found) == 1 else None

    def of(self, node, owner=None):
        """The type of a node, as a list of alternatives."""
        if "$ref" in node:
            return self.of_reference(node["$ref"].rsplit("/", 1)[1])
        if "const" in node:
            return [f"Literal[{json.dumps(node['const'])}]"]
        if "enum" in node:
            return ["Literal[" + ", ".join(json.dumps(word) for word in node["enum"]) + "]"]
        for key in ("anyOf", "oneOf"):
            if key in node:
                return unique([kind for branch in node[key] for kind in self.of(branch, owner)])
        kinds = node.get("type")
        if isinstance(kinds, list):
            return unique([kind for one in kinds for kind in self.of({**node, "type": one}, owner)])
        if kinds == "array":
            return [self.sequence(" | ".join(merged(self.of(node.get("items", {}))))) if "items" in node else "Any"]
        if kinds == "object":
            if node.get("properties"):
                return [owner, self.loose] if owner else [self.loose]
            inner = node.get("additionalProperties")
            return [self.keyed(" | ".join(merged(self.of(inner)))) if isinstance(inner, dict) else self.loose]
        return [FLAT.get(kinds, "Any")]


class ProfileWriter(Writer):
    """What people write: parts, or plain mappings in their place."""

    loose = "Mapping[str, Any]"

    def sequence(self, inner):
        return f"Sequence[{inner}]"

    def keyed(self, inner):
        return f"Mapping[str, {inner}]"

    def of_reference(self, name):
        return [f"{name}Or" if self.alias(name) else name] + ([self.loose] if not self.alias(name) else [])

    def alias(self, name):
        """Whether a definition has shapes other than a mapping with known keys."""
        node = self.definitions[name]
        return not (node.get("type") == "object" and self.is_class(name))

    def define(self, name, node):
        text = ""
        if self.is_class(name):
            text += self.klass(name, self.mapping(node), node["description"])
        if self.alias(name):
            kinds = merged(self.of(node, name if self.is_class(name) else None))
            text += f"\n\n{name}Or: TypeAlias = {quoted(kinds)}\n"
            text += doc(node["description"], "")
        return text

    def klass(self, name, node, description):
        text = f"\n\n@dataclass(kw_only=True)\nclass {name}(Written):\n{doc(description)}\n"
        required = node.get("required", [])
        for key, inner in sorted(node["properties"].items(), key=lambda item: item[0] not in required):
            kind = " | ".join(merged(self.of(inner)))
            text += f"    {field_name(key)}: {kind}" + ("\n" if key in required else " | None = None\n")
            about = inner.get("description") or self.definitions[inner["$ref"].rsplit("/", 1)[1]]["description"]
            text += doc(about + default(inner))
        return text


class OutcomeWriter(Writer):
    """What is read."""

    loose = "dict[str, Any]"

    def sequence(self, inner):
        return f"list[{inner}]"

    def keyed(self, inner):
        return f"dict[str, {inner}]"

    def of_reference(self, name):
        return [name] if self.is_class(name) else self.of(self.definitions[name])

    def define(self, name, node):
        return self.klass(name, node, node.get("description", "")) if self.is_class(name) else ""

    def klass(self, name, node, description):
        text = f"\n\n@dataclass(frozen=True, kw_only=True)\nclass {name}:\n{doc(description)}\n"
        required = node.get("required", [])
        for key, inner in sorted(node["properties"].items(), key=lambda item: item[0] not in required):
            kinds = [kind for kind in merged(self.of(inner)) if kind != "None"]
            text += f"    {field_name(key)}: {' | '.join(kinds)}" + rest(key in required, kinds) + "\n"
            if inner.get("description"):
                text += doc(inner["description"])
        return text


def rest(required, kinds):
    """What stands behind a field's type."""
    if required:
        return ""
    for container in ("list", "dict"):
        if len(kinds) == 1 and kinds[0].startswith(f"{container}["):
            return f" = field(default_factory={container})"
    return "" if kinds == ["Any"] else " | None = None"


def default(node):
    value = node.get("default")
    return f" Default: {value}." if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def unique(kinds):
    return list(dict.fromkeys(kinds))


def merged(kinds):
    """Alternatives with all words in one Literal, and none beside a plain text of any kind."""
    words = [kind[len("Literal[") : -1] for kind in kinds if kind.startswith("Literal[")]
    others = unique([kind for kind in kinds if not kind.startswith("Literal[")])
    return ([f"Literal[{', '.join(unique(words))}]"] if words else []) + others


def quoted(kinds):
    """An alias's value: a text, for it may speak of what comes later."""
    text = " | ".join(kinds)
    pieces = textwrap.wrap(text, WIDTH - 10, break_long_words=False, drop_whitespace=False)
    if len(pieces) == 1:
        return repr(text)
    return "(\n" + "".join(f"    {piece!r}\n" for piece in pieces) + ")"


def profile(program):
    root = schema(program, "profile")
    writer = ProfileWriter(root)
    text = PROFILE
    text += writer.klass("Profile", root, root["description"])
    for name, node in root["$defs"].items():
        text += writer.define(name, node)
    return text


def outcome(program):
    text, seen = OUTCOME, {}
    for what, title in (("result", "ResultDocument"), ("interval", "IntervalDocument")):
        root = schema(program, what)
        writer = OutcomeWriter(root)
        for name, node in [*root["$defs"].items(), (title, root)]:
            made = writer.define(name, node) if name != title else writer.klass(title, root, root["description"])
            if seen.setdefault(name, made) != made:
                sys.exit(f"{name} differs between the schemas")
            if f"class {name}:" not in text:
                text += made
    # Only where something can be anything.
    return text if ": Any" in text or ", Any]" in text else text.replace("from typing import Any\n", "")


def formatted(text, path):
    """As ruff would have it."""
    ruff = ["ruff", "format", "--stdin-filename", str(path), "-"]
    return subprocess.run(ruff, input=text, capture_output=True, text=True, check=True, cwd=PACKAGE).stdout


def main():
    program, check = sys.argv[1], sys.argv[2:] == ["--check"]
    for name, make in (("profile.py", profile), ("outcome.py", outcome)):
        path = PACKAGE / name
        text = formatted(make(program), path)
        if check and path.read_text() != text:
            sys.exit(f"{name} is not what the schemas say; run tools/generate.py")
        path.write_text(text)


if __name__ == "__main__":
    main()
