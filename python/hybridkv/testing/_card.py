"""The card of a kernel: what was found, for people and as JSON."""

import json
import os
import pathlib

from .._arguments import refused
from ._card_schema import violations

SCHEMA = "hybridkv-kernel-card/1"


class GroupFacts:
    """What a kernel makes of the strides of one view; fields as in the JSON."""

    def __init__(self, data):
        self._data = data

    def __getattr__(self, name):
        try:
            return self._data[name]
        except KeyError:
            raise AttributeError(name) from None

    def __repr__(self):
        return f"GroupFacts({self._data['group']}: takes {', '.join(self.takes) or 'none'})"


class Card:
    """What a kernel takes, derives and refuses, layout by layout. `check()` raises AssertionError unless it passed.

    takes, derives, refuses: {"k": [axes], "v": [axes]}
    offset_bits:             {"k": {"block": 64, "head": 32}}; None: not known
    stale_safe:              True, False; None: it reads no stale slots, or not known
    over_reads:              what it reads beside what the batch addresses
    """

    def __init__(self, data):
        self._data = data

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return self._data[name]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def groups(self):
        return [GroupFacts(group) for group in self._data["groups"]]

    @property
    def takes(self):
        return {group["group"]: group["takes"] for group in self._data["groups"]}

    @property
    def derives(self):
        return {group["group"]: [each["axis"] for each in group["derives"]] for group in self._data["groups"]}

    @property
    def refuses(self):
        return {group["group"]: group["refuses"] for group in self._data["groups"]}

    @property
    def offset_bits(self):
        return {group["group"]: {each["axis"]: each["bits"] for each in group["offset_bits"]}
                for group in self._data["groups"]}

    def to_dict(self):
        return self._data

    def check(self):
        """AssertionError with the reasons, unless every layout that ran was right or refused."""
        if not self.passed:
            raise AssertionError(str(self))
        return self

    def save(self, path):
        pathlib.Path(os.fspath(path)).write_text(_text(self._data))

    @staticmethod
    def load(path):
        """A card that was saved. InputError where the file is none, with the first place that is wrong."""
        path = pathlib.Path(os.fspath(path))
        try:
            data = json.loads(path.read_text())
        except ValueError as error:
            raise refused("path", str(path), f"is no JSON: {error}", "give a file that save() wrote") from None
        wrong = violations(data)
        if wrong:
            raise refused("path", str(path), f"is no card of a kernel: {wrong[0]}", "give a file that save() wrote")
        return Card(data)

    def __repr__(self):
        return f"Card({self.kernel['name']}: {self.answer})"

    def __str__(self):
        ran = self.ran
        counts = ", ".join(f"{count} {result.replace('_', ' ')}" for result, count in ran["layouts"].items() if count)
        kernel = self.kernel
        of = f" ({kernel['package']} {kernel['version']})" if kernel["package"] else ""
        lines = [f"{kernel['name']}{of}: {self.answer}"]
        lines += [f"  why: {sentence}" for sentence in self.why]
        wrong = [layout for layout in self._data["layouts"] if layout["result"] == "wrong"]
        unexplained = [layout["name"] for layout in wrong
                       if not layout["why"] and not layout["what"].startswith("right")]
        if unexplained:
            lines.append(f"  why: none found for {', '.join(unexplained[:3])}" +
                         (f" and {len(unexplained) - 3} more" if len(unexplained) > 3 else ""))
        for group in self._data["groups"] if self.home is not None else ():
            lines.append(f"  {group['group']}: {_group_line(group)}")
        if self.stale_safe is not None:
            lines.append("  stale slots: " + ("NaN in them changes nothing" if self.stale_safe else
                                              "NaN in them reaches the output"))
        for each in self._data["over_reads"]:
            how = {True: "reads and masks", False: "lets into its result", None: "reads"}[each["masked"]]
            count = f" ({each['elements']:,} elements)" if each["elements"] is not None else ""
            lines.append(f"  {how}: {each['what']}{count}")
        lines.append(f"  ran: {counts} of {sum(ran['layouts'].values())} layouts, {ran['calls']} calls, "
                     f"{ran['dtype']}, {ran['arrays']} on {ran['device']}" +
                     (", Triton's interpreter" if ran["interpreter"] else ""))
        shown = wrong[:8]
        lines += [f"  wrong in {layout['name']}: {layout['what']}" for layout in shown]
        if len(wrong) > len(shown):
            lines.append(f"  … and in {len(wrong) - len(shown)} more layouts")
        lines += [f"  refused {layout['name']}: {layout['what']}" for layout in self._data["layouts"]
                  if layout["result"] == "refused"][:4]
        return "\n".join(lines)


def _text(data):
    """JSON with a line a key, and one for each entry of a list."""
    def plain(value):
        return json.dumps(value, ensure_ascii=False)

    lines = [f"  {plain(key)}: " + ("[\n    " + ",\n    ".join(map(plain, value)) + "\n  ]"
                                    if isinstance(value, list) and value else plain(value))
             for key, value in data.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _group_line(group):
    parts = [f"takes the stride of {', '.join(group['takes'])}" if group["takes"] else "takes no stride"]
    if group["derives"]:
        parts.append("derives that of " + ", ".join(each["axis"] for each in group["derives"]))
    if group["refuses"]:
        parts.append("refuses another one of " + ", ".join(group["refuses"]))
    bits = [f"{each['axis']} {each['bits']}" for each in group["offset_bits"] if each["bits"]]
    if bits:
        parts.append("bits of offsets: " + ", ".join(bits))
    return "; ".join(parts)
