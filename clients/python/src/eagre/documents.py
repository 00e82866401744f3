"""JSON documents as data classes: written by `Written.document`, read by `decode`.

Not here: the documents themselves (`profile`, `outcome`, `resources`), HTTP. A document can have more keys than its class
has fields, because a newer server can send more; a missing required key is an error with its path.
"""

import dataclasses
import functools
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar, Union

from eagre.errors import DocumentError

T = TypeVar("T")


class Written:
    """A part of a document that users write. A field that is None is left out; `from_` is written `from`."""

    def document(self) -> dict[str, Any]:
        """The part as plain dictionaries, lists, texts and numbers."""
        return {
            word(field.name): plain(value)
            for field in dataclasses.fields(self)  # type: ignore[arg-type]
            if (value := getattr(self, field.name)) is not None
        }


def word(name: str) -> str:
    """The key of a field, without the underscore of Python keywords."""
    return name.removesuffix("_")


def plain(value: Any) -> Any:
    """A value as JSON; mappings keep their order."""
    if isinstance(value, Written):
        return value.document()
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray):
        return [plain(inner) for inner in value]
    if value is None or isinstance(value, str | int | float):
        return value
    return str(value)


def decode(kind: type[T], document: Any, path: str = "") -> T:
    """A document as `kind`: a data class or the type of a field. Raises `DocumentError`."""
    return typing.cast(T, _decode(kind, document, path))


@functools.cache
def _fields(kind: type) -> list[tuple[str, str, Any, bool]]:
    """Name, key and type of each field, and whether it is required."""
    hints = typing.get_type_hints(kind)
    return [
        (
            field.name,
            word(field.name),
            hints[field.name],
            field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING,
        )
        for field in dataclasses.fields(kind)
        if field.init
    ]


def _decode(kind: Any, value: Any, path: str) -> Any:
    if kind is Any:
        return value
    if dataclasses.is_dataclass(kind):
        return _decode_fields(typing.cast(type, kind), value, path)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (Union, types.UnionType):
        return _decode_union(arguments, value, path)
    if origin is Literal:
        # A word that is not known here is one of a newer server: it is kept as it is.
        return _expect(str, value, path)
    if origin in (list, tuple):
        return origin(_decode(arguments[0], item, f"{path}[{n}]") for n, item in enumerate(_expect(list, value, path)))
    if origin in (dict, Mapping):
        mapping = _expect(dict, value, path)
        return {key: _decode(arguments[1], item, f"{path}.{key}".lstrip(".")) for key, item in mapping.items()}
    if kind is float:
        return float(_expect((int, float), value, path))
    return _expect(kind, value, path)


def _decode_fields(kind: type, value: Any, path: str) -> Any:
    mapping = _expect(dict, value, path)
    found = {}
    for name, key, inner, required in _fields(kind):
        if key in mapping:
            found[name] = _decode(inner, mapping[key], f"{path}.{key}".lstrip("."))
        elif required:
            raise DocumentError(f"{path}.{key}".lstrip("."), "is missing")
    return kind(**found)


def _decode_union(kinds: tuple[Any, ...], value: Any, path: str) -> Any:
    if value is None and type(None) in kinds:
        return None
    inner = [kind for kind in kinds if kind is not type(None)]
    if len(inner) == 1:
        return _decode(inner[0], value, path)
    return value


def _expect(kind: Any, value: Any, path: str) -> Any:
    if (isinstance(value, bool) and kind is not bool) or not isinstance(value, kind):
        names = [k.__name__ for k in kind] if isinstance(kind, tuple) else [kind.__name__]
        raise DocumentError(path or "the document", f"is {type(value).__name__}, expected {' or '.join(names)}")
    return value
