"""Which modules of a crate use which: imports and paths, followed through re-exports to the file that has the item."""

import re

PATH = re.compile(r"\b(?:crate|super|self)(?:::\w+)+")


def library_code(source):
    """`source` without comments and without the tests at its end."""
    return re.sub(r"//[^\n]*", "", source).split("#[cfg(test)]")[0]


def module_of(src, path):
    """`trial/rig.rs` is ("trial", "rig"); `lib.rs` is ()."""
    parts = path.relative_to(src).with_suffix("").parts
    return parts[:-1] if parts[-1] in {"mod", "lib", "main"} else parts


def flat(tree):
    """The paths of a use declaration without braces: `a::{b, c::d as e}` is [("a", "b"), ("a", "c", "d")]."""
    tree = tree.strip()
    if "{" not in tree:
        return [tuple(part.strip() for part in re.sub(r"\s+as\s+\w+$", "", tree).split("::") if part.strip())]
    head, inner = tree.split("{", 1)
    paths, depth, start = [], 0, 0
    inner = inner[: inner.rindex("}")] + ","
    for index, character in enumerate(inner):
        depth += (character == "{") - (character == "}")
        if character == "," and depth == 0:
            if inner[start:index].strip():
                paths += flat(inner[start:index])
            start = index + 1
    prefix = tuple(part.strip() for part in head.split("::") if part.strip())
    return [prefix + path for path in paths]


class Crate:
    """The modules of a crate and what they import."""

    def __init__(self, src):
        files = [path for path in sorted(src.rglob("*.rs")) if path.stem != "tests"]
        self.code = {module_of(src, path): library_code(path.read_text()) for path in files}
        declaration = re.compile(r"^\s*(?:pub(?:\([\w ]+\))? )?use ([\w:{},*\s]+);", re.MULTILINE)
        self.imports = {
            module: [path for tree in declaration.findall(code) for path in flat(tree)]
            for module, code in self.code.items()
        }

    def absolute(self, module, path):
        """A path as written in `module` from the crate's root on; None if it leads out of the crate."""
        base = module
        if path[0] == "crate":
            return path[1:]
        if path[0] not in {"self", "super"}:
            return module + path if module + path[:1] in self.code else None
        while path and path[0] in {"self", "super"}:
            base = base[:-1] if path[0] == "super" else base
            path = path[1:]
        return base + path

    def owner(self, path, depth=0):
        """The module that has what `path`, from the root on, names."""
        length = max(n for n in range(len(path) + 1) if path[:n] in self.code)
        module, rest = path[:length], path[length:]
        if rest and depth < 8:
            for imported in self.imports[module]:
                target = self.absolute(module, imported)
                if target and imported[-1] == rest[0]:
                    return self.owner(target + rest[1:], depth + 1)
        return module

    def uses(self):
        """The modules that each module uses, without itself."""
        used = {}
        for module, code in self.code.items():
            inline = [tuple(path.split("::")) for path in PATH.findall(code)]
            children = [child for child in self.code if child[:-1] == module and child]
            spoken = [(child[-1], "*") for child in children if re.search(rf"(?<![:\w]){child[-1]}::", code)]
            paths = [self.absolute(module, path) for path in self.imports[module] + inline + spoken if path]
            used[module] = {self.owner(path) for path in paths if path is not None} - {module}
        return used


def circles(used):
    """Groups of modules each of which uses, perhaps by way of others, all of its group (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in used[node]:
            if other not in index:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            group = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(group) > 1:
                found.append(sorted("::".join(module) or "crate" for module in group))

    for node in used:
        if node not in index:
            visit(node)
    return found
