"""Writes hybridkv/__init__.pyi: classes from report/plan.schema.json, keywords from scenarios/scenario.schema.json.

    python3 python/make_stubs.py            # writes it
    python3 python/make_stubs.py --check    # says whether it is as it would be written
"""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent

# Class of the records of each definition; fields of others are Record.
CLASSES = {"plan": "Plan", "capacity": "Capacity", "prefix": "Prefix", "waste": "Waste", "spec": "Spec",
           "group": "Group", "pool": "Pool", "arena": "Arena", "view": "View", "decision": "Decision",
           "warning": "PlanWarning"}
SIMPLE = {"integer": "int", "number": "float", "string": "str", "boolean": "bool", "null": "None", "object": "Record"}


def resolved(schema, definitions):
    while "$ref" in schema:
        schema = definitions[schema["$ref"].rsplit("/", 1)[1]]
    return schema


def python_type(schema, definitions):
    name = schema.get("$ref", "").rsplit("/", 1)[-1]
    if name in CLASSES:
        return CLASSES[name]
    schema = resolved(schema, definitions)
    options = schema.get("anyOf") or schema.get("oneOf")
    if options:
        return " | ".join(dict.fromkeys(python_type(option, definitions) for option in options))
    if "enum" in schema:
        return " | ".join(dict.fromkeys("str" if isinstance(value, str) else "None" if value is None else
                                        type(value).__name__ for value in schema["enum"]))
    kinds = schema.get("type", "object")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    return " | ".join(array_type(schema, definitions) if kind == "array" else SIMPLE[kind] for kind in kinds)


def array_type(schema, definitions):
    item = python_type(schema.get("items", {}), definitions)
    held = resolved(schema.get("items", {}), definitions)
    return f"Records[{item}]" if held.get("type", "object") == "object" else f"list[{item}]"


# Keys that are called as a parameter of some function; with dots they are themselves everywhere.
PARAMETERS = ("attention_pack_size", "requests", "verify", "simulate")


def record_class(name, schema, definitions, body=""):
    lines = [f"class {name}(Record):"]
    for field, value in schema["properties"].items():
        if (name, field) == ("Plan", "pools"):  # the method that allocates them; plan["pools"] is the field
            continue
        if note := value.get("description") or resolved(value, definitions).get("description"):
            lines.append(f"    # {note}".replace("\n", " ")[:118])
        lines.append(f"    {field}: {python_type(value, definitions)}")
    return "\n".join(lines) + "\n" + body


def keyword_types():
    """(keyword, type) of every key of a scenario, of a name that several sections have the first."""
    schema = json.loads((ROOT / "scenarios/scenario.schema.json").read_text())
    definitions = schema.get("$defs", {})
    keys = {}
    for section in ("engine", "limits", "simulate", "verify", "workspace"):
        for name in resolved(schema["properties"][section], definitions)["properties"]:
            keys.setdefault(name, "Any")
    simulate = resolved(schema["properties"]["simulate"], definitions)["properties"]
    for section in (simulate[name] for name in ("trace", "cost", "clock", "fleet")):
        for name in resolved(section, definitions)["properties"]:
            keys.setdefault(name, "Any")
    for name in schema["properties"]:
        keys.setdefault(name, "Any")
    keys.update(model="Model | Sequence[Model]", engine="str | Mapping[str, Any] | Sequence[str]",
                trace="Path | Mapping[str, Any]")
    return keys


def stubs():
    schema = json.loads((ROOT / "report/plan.schema.json").read_text())
    definitions = schema["$defs"]
    text = (HERE / "stubs.in").read_text()
    classes = [record_class(name, definitions[definition], definitions)
               for definition, name in CLASSES.items() if definition != "plan"]
    shared = "\n".join(f"    {name}: {python_type(schema['properties'][name], definitions)}"
                       for name in ("model", "tensor_parallel", "strategy")
                       if name not in definitions["plan"]["properties"])
    plan = record_class("Plan", definitions["plan"], definitions, shared + "\n")
    keys = "\n".join(f"    {name}: {kind}" for name, kind in keyword_types().items()
                     if name not in PARAMETERS)
    return (text.replace("@CLASSES@", "\n".join(classes)).replace("@PLAN@", plan.rstrip("\n"))
            .replace("@KEYS@", keys))


def main():
    path = HERE / "hybridkv" / "__init__.pyi"
    if "--check" in sys.argv[1:]:
        if path.read_text() != stubs():
            sys.exit(f"{path} is not what the schemas say: run python3 python/make_stubs.py")
        return
    path.write_text(stubs())


if __name__ == "__main__":
    main()
