"""As much of JSON Schema (draft 2020-12) as the program's schemas use; an unknown keyword is an error, not a pass."""

import re

PLAIN = {"$schema", "title", "description", "default", "format", "examples", "$defs", "deprecated", "readOnly"}
KNOWN = {
    "$ref", "type", "const", "enum", "anyOf", "oneOf", "properties", "required", "additionalProperties", "items",
    "minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties",
    "propertyNames", "pattern",
}  # fmt: skip
TYPES = {
    "object": dict, "array": list, "string": str, "boolean": bool, "null": type(None),
}  # fmt: skip


def errors(value, schema, root=None, path="$"):
    """What in `value` does not fit `schema`."""
    root = root if root is not None else schema
    if schema is True:
        return []
    if schema is False:
        return [f"{path}: nothing is allowed here"]
    unknown = {key for key in schema if key not in KNOWN | PLAIN and not key.startswith("x-")}
    assert not unknown, f"{path}: this checker does not know {unknown}"
    found = []
    if "$ref" in schema:
        target = root
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        found += errors(value, target, root, path)
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            each = [errors(value, branch, root, path) for branch in schema[keyword]]
            fitting = sum(not one for one in each)
            if fitting == 0 or (keyword == "oneOf" and fitting > 1):
                found.append(f"{path}: fits {fitting} of {keyword}: {[one[0] for one in each if one]}")
    if "type" in schema and not any(is_of_type(value, name) for name in listed(schema["type"])):
        return [*found, f"{path}: {value!r} is not {schema['type']}"]
    if "const" in schema and value != schema["const"]:
        found.append(f"{path}: {value!r} is not {schema['const']!r}")
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{path}: {value!r} is not among {schema['enum']}")
    if isinstance(value, dict):
        found += object_errors(value, schema, root, path)
    if isinstance(value, list):
        found += [
            e for i, item in enumerate(value) for e in errors(item, schema.get("items", True), root, f"{path}[{i}]")
        ]
        found += limits(len(value), schema, "minItems", "maxItems", path)
    if isinstance(value, str):
        found += limits(len(value), schema, "minLength", "maxLength", path)
        if "pattern" in schema and not re.search(schema["pattern"], value):
            found.append(f"{path}: {value!r} does not match {schema['pattern']}")
    if is_of_type(value, "number"):
        found += limits(value, schema, "minimum", "maximum", path)
    return found


def object_errors(value, schema, root, path):
    properties, rest = schema.get("properties", {}), schema.get("additionalProperties", True)
    found = [f"{path}: '{key}' is missing" for key in schema.get("required", []) if key not in value]
    for key, member in value.items():
        found += errors(member, properties.get(key, rest), root, f"{path}.{key}")
    return found + limits(len(value), schema, "minProperties", "maxProperties", path)


def limits(number, schema, least, most, path):
    low, high = schema.get(least), schema.get(most)
    found = [f"{path}: {number} is less than {low}"] if low is not None and number < low else []
    return found + ([f"{path}: {number} is more than {high}"] if high is not None and number > high else [])


def listed(value):
    return value if isinstance(value, list) else [value]


def is_of_type(value, name):
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool) or isinstance(value, float) and value.is_integer()
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])
