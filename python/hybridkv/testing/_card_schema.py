"""Whether a document is a card, by the published schema, of which these keywords are understood."""

import json
import pathlib

_TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None), "integer": int}


def published():
    """card.schema.json, which comes with the package."""
    return json.loads((pathlib.Path(__file__).parent / "card.schema.json").read_text())


def violations(document):
    """Lines "/groups/0/takes: must be of type array", in the order of the document; none where it is a card."""
    schema = published()
    return _violations(schema, document, "", schema["$defs"])


def _violations(schema, value, place, definitions):
    if "$ref" in schema:
        schema = definitions[schema["$ref"].rsplit("/", 1)[1]]
    here = place or "/"
    if "enum" in schema and not any(value == each and type(value) is type(each) for each in schema["enum"]):
        return [f"{here}: must be one of {', '.join(map(json.dumps, schema['enum']))}, is {json.dumps(value)[:40]}"]
    if "type" in schema:
        types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        if not any(isinstance(value, _TYPES[name]) and isinstance(value, bool) == (name == "boolean")
                   for name in types):
            return [f"{here}: must be of type {' or '.join(types)}, is {json.dumps(value)[:40]}"]
    if "minimum" in schema and value is not None and value < schema["minimum"]:
        return [f"{here}: must be at least {schema['minimum']}"]
    found = []
    if isinstance(value, dict) and "properties" in schema:
        found += [f"{here}: needs {name!r}" for name in schema["required"] if name not in value]
        found += [f"{place}/{name}: unknown key" for name in value if name not in schema["properties"]]
        for name, part in schema["properties"].items():
            if name in value:
                found += _violations(part, value[name], f"{place}/{name}", definitions)
    elif isinstance(value, list) and "items" in schema:
        for number, item in enumerate(value):
            found += _violations(schema["items"], item, f"{place}/{number}", definitions)
    return found
