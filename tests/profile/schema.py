# SPDX-License-Identifier: MIT
"""Whether a value keeps to a JSON Schema, as far as ours go."""

import json
import pathlib

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None), "integer": int,
         "number": (int, float)}


def problems(value, schema, where="$"):
    """What of the schema's words that ours use a value does not keep."""
    if "enum" in schema:
        return [] if value in schema["enum"] else [f"{where}: {value!r}"]
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool)) for name in types):
        return [f"{where}: {value!r} is no {types}"]
    found = []
    if "minimum" in schema and value < schema["minimum"]:
        found.append(f"{where}: {value}")
    if isinstance(value, dict):
        known = schema.get("properties", {})
        found += [f"{where}: no {name}" for name in schema.get("required", []) if name not in value]
        for name, part in value.items():
            other = schema.get("additionalProperties", True)
            if name in known:
                found += problems(part, known[name], f"{where}.{name}")
            elif other is False:
                found.append(f"{where}: {name} is not described")
            elif other is not True:
                found += problems(part, other, f"{where}.{name}")
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            found.append(f"{where}: {len(value)} items")
        for number, part in enumerate(value):
            found += problems(part, schema["items"], f"{where}[{number}]")
    return found


def problems_of_file(path, schemas, name):
    """Of a file that is called like its schema in docs/formats."""
    schema = json.loads(pathlib.Path(schemas, name + ".schema.json").read_text(encoding="ascii"))
    return problems(json.loads(pathlib.Path(path, name + ".json").read_text(encoding="ascii")), schema)
