"""Answers: what the program's JSON says, as attributes of the same names."""

import json
import keyword
from collections.abc import Sequence

_SHOWN = 6  # fields and items that a repr shows


def wrap(value, kind=None):
    """A value of JSON as a record, a list of records, or itself; `kind` is the class of the record."""
    if isinstance(value, dict):
        return (kind or Record)(value)
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        return Records([wrap(item, kind) for item in value])
    return value


def plain(value):
    """The JSON that a value came from."""
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


def _short(value):
    if isinstance(value, Record):
        return f"<{type(value).__name__}>"
    if isinstance(value, Records):
        return f"<{len(value)} {type(value[0]).__name__}>"
    if isinstance(value, list) and len(value) > 8:
        return f"[{', '.join(map(repr, value[:4]))}, … {len(value)} in all]"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def _cell(value):
    if isinstance(value, bool) or value is None:
        return "" if value is None else str(value).lower()
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.1f}"
    return _short(value)


def html_table(columns, rows, caption=None):
    """A table for notebooks."""
    import html
    head = "".join(f"<th>{html.escape(str(column))}</th>" for column in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(_cell(value))}</td>" for value in row) + "</tr>" for row in rows)
    title = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


class Record:
    """An object of JSON: `record.name` and `record["name"]` are the same. It has no methods of a dict, whose names are
    those of fields too ("values"): to_dict() is one."""

    __slots__ = ("_fields",)
    _kinds = {}  # name of a field: class of its records
    _first = ()  # fields that a repr begins with

    def __init__(self, fields):
        object.__setattr__(self, "_fields", fields)

    def _data(self):
        return self._fields

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError:
            import difflib
            meant = difflib.get_close_matches(name, list(self._data()), 1)
            hint = f"; did you mean '{meant[0]}'?" if meant else ""
            raise AttributeError(f"{type(self).__name__} has no '{name}'{hint}") from None

    def __setattr__(self, name, value):
        raise AttributeError("answers do not change")

    def __getitem__(self, name):
        return wrap(self._data()[name], self._kinds.get(name))

    def __contains__(self, name):
        return name in self._data()

    def __iter__(self):
        return iter(self._data())

    def __len__(self):
        return len(self._data())

    def __eq__(self, other):
        return plain(self) == plain(other) if isinstance(other, (Record, dict)) else NotImplemented

    __hash__ = None

    def __dir__(self):
        return [*super().__dir__(), *(name for name in self._data() if not keyword.iskeyword(name))]

    def __reduce__(self):
        return type(self), (self._data(),)

    def to_dict(self):
        """As the program's JSON says it; the caller's own copy."""
        return json.loads(json.dumps(self._data()))

    def to_pandas(self):
        """A pandas.Series of the plain values."""
        return _pandas().Series({key: value for key, value in self._data().items()
                                 if not isinstance(value, (dict, list))})

    def _shown(self):
        data = self._data()
        names = [name for name in self._first if name in data]
        return names or list(data)[:_SHOWN]

    def __repr__(self):
        shown = self._shown()
        fields = ", ".join(f"{name}={_short(self[name])}" for name in shown)
        return f"{type(self).__name__}({fields}{', …' if len(self._data()) > len(shown) else ''})"

    def _repr_html_(self):
        return html_table(["", type(self).__name__], [(name, self[name]) for name in self._data()])


class Records(Sequence):
    """Several records of one kind; a slice is one of them too."""

    __slots__ = ("_items",)

    def __init__(self, items):
        self._items = tuple(items)

    def __getitem__(self, index):
        return type(self)(self._items[index]) if isinstance(index, slice) else self._items[index]

    def __len__(self):
        return len(self._items)

    def __eq__(self, other):
        return plain(list(self)) == plain(list(other)) if isinstance(other, (Records, list, tuple)) else NotImplemented

    __hash__ = None

    def to_dict(self):
        """A list, as the program's JSON has it."""
        return [item.to_dict() for item in self]

    def to_pandas(self):
        """A pandas.DataFrame, a row each."""
        return _pandas().DataFrame(self.to_dict())

    def __repr__(self):
        items = ",\n ".join(map(repr, self._items[:_SHOWN]))
        return f"[{items}{', …' if len(self) > _SHOWN else ''}]"

    def _repr_html_(self):
        columns = list(dict.fromkeys(name for item in self for name in item))
        return html_table(columns, [[item[name] if name in item else None for name in columns] for item in self])


def _pandas():
    try:
        import pandas
    except ImportError:
        raise ImportError("to_pandas() needs pandas: pip install pandas") from None
    return pandas
