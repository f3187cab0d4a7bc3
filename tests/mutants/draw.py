"""Draws mutants of its own from the sources of a tree, for run.py --random.

What can be changed is found by a tokenizer of C++ as this house writes it: a binary operator has a space on both sides,
the `<` of a template has none before it. Nothing is taken from what a compiler evaluates (constexpr, static_assert,
template arguments, case labels, array bounds by their failing to compile), from comments, strings and preprocessor
lines, from the arguments of what makes a message, and from declarations outside of functions. Headers are left out:
one switch in a header builds half of the tree again. What is found and does not compile is run.py's to drop.
"""

import bisect
import hashlib
import re

BINARY = {"||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7, "<=>": 8,
          "<<": 9, ">>": 9, "+": 10, "-": 10, "*": 11, "/": 11, "%": 11}
ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
OPERATORS = {"+": "-", "-": "+", "*": "+", "/": "*", "%": "/", "&&": "||", "||": "&&", "+=": "-=", "-=": "+="}
KINDS = ("comparison", "operator", "constant", "condition", "statement")
TOKEN = re.compile(r"""[A-Za-z_]\w*|\d(?:[eE][+-]|[\w.'])*|\.\d+|""" + "|".join(
    re.escape(sign) for sign in sorted(
        [*BINARY, *ASSIGNMENTS, "...", "::", "->", "++", "--", *"!~?:;,.(){}[]\"#"], key=len, reverse=True)))
LITERAL = re.compile(r"//[^\n]*|/\*.*?\*/|(?<!\w)(?:u8|[uUL])?R\"([^(\s]*)\(.*?\)\1\"|\"(?:\\.|[^\"\\\n])*\"|"
                     r"(?<![0-9a-fA-F])'(?:\\.[^']*|[^'\\\n])'|(?m:^[ \t]*#(?:\\\n|[^\n])*)", re.DOTALL)
NOT_AN_OPERAND = {"return", "co_return", "else", "throw", "case", "do", "new", "delete", "goto"}
HEADS = {"if", "for", "while", "switch", "catch"}
# Of what stands in these brackets the compiler, or a reader of a message, is the judge.
UNJUDGED = re.compile(r"static_assert|sizeof|alignof|decltype|noexcept|requires|format\w*|print|println|\w*[Ee]rror|"
                      r"refuse\w*|fail\w*|warn\w*|message\w*|say_\w*|HYBRIDKV_\w*|assert|contract")
NO_STATEMENT = NOT_AN_OPERAND | HEADS | {"auto", "const", "static", "using", "typedef", "struct", "class", "enum",
                                         "union", "template", "default", "try", "constexpr", "thread_local",
                                         "static_assert"}


def masked(text):
    """The text without comments and preprocessor lines; what is quoted is an empty string of the same length."""
    def blank(found):
        said = found.group()
        spaces = re.sub(r"[^\n]", " ", said)
        if said.lstrip().startswith(("//", "/*", "#")):
            return spaces
        return '"' + spaces[1:]
    return LITERAL.sub(blank, text)


class Token:
    __slots__ = ("text", "at", "end", "code", "mate")

    def __init__(self, text, at):
        self.text, self.at, self.end, self.code, self.mate = text, at, at + len(text), False, None

    @property
    def named(self):
        return self.text[0].isalpha() or self.text[0] == "_"


def template_end(tokens, begin):
    """The index behind the `>` that closes the template arguments which open at `begin`; None: it is a comparison."""
    depth = 0
    for index in range(begin, min(begin + 60, len(tokens))):
        text = tokens[index].text
        if text == "<":
            depth += 1
        elif text in (">", ">>"):
            depth -= len(text)
            if depth <= 0:
                return index + 1
        elif not (tokens[index].named or text[0].isdigit() or text in ("::", ",", "*", "&", "&&", "(", ")", "...")):
            return None
    return None


def tokens_of(text):
    """The tokens; a name and its template arguments are one, matching brackets know each other."""
    raw = [Token(found.group(), found.start()) for found in TOKEN.finditer(masked(text))]
    tokens, index = [], 0
    while index < len(raw):
        token = raw[index]
        index += 1
        if token.named and index < len(raw) and raw[index].text == "<" and (
                raw[index].at == token.end or token.text == "template"):
            end = template_end(raw, index)
            if end:
                token.end, index = raw[end - 1].end, end
        tokens.append(token)
    opened = []
    for index, token in enumerate(tokens):
        if token.text in ("(", "[", "{"):
            opened.append(index)
        elif token.text in (")", "]", "}"):
            token.mate = opened.pop()
            tokens[token.mate].mate = index
    mark_code(tokens)
    return tokens


def scope_of(head, in_code):
    """Whether what a brace opens runs: True in a function; `head` is what stands before it since the last one."""
    depth, outside = 0, []
    for token in head:
        depth += (token.text == "(") - (token.text == ")")
        if depth == 0:
            outside.append(token.text)
    if {"constexpr", "consteval", "constinit"} & set(outside) and "if" not in outside[:2]:
        return False
    called = ")" in outside
    if not called and {"struct", "class", "union", "enum", "namespace", "extern"} & set(outside):
        return False
    if in_code:
        return True
    assigned = any(text == "=" and outside[index - 1] != "operator" for index, text in enumerate(outside))
    return called and not assigned


def mark_code(tokens):
    """Sets `code` of every token that a running program evaluates and some test could judge."""
    scopes, head, skip_to = [False], [], -1
    for index, token in enumerate(tokens):
        text = token.text
        if index > skip_to:
            following = tokens[index + 1].text if index + 1 < len(tokens) else ""
            if following == "(" and (UNJUDGED.fullmatch(text) or text == "constexpr"):  # if constexpr (...)
                skip_to = tokens[index + 1].mate
            elif text == "throw" or (text in ("constexpr", "using", "typedef", "constinit") and scopes[-1]):
                skip_to = next((i for i in range(index, len(tokens)) if tokens[i].text == ";"), index)
            elif text == "case":
                skip_to = next((i for i in range(index, len(tokens)) if tokens[i].text == ":"), index)
        token.code = scopes[-1] and index > skip_to
        if text == "{":
            scopes.append(scope_of(head, scopes[-1]))
        elif text == "}":
            scopes.pop()
        head = [] if text in (";", "{", "}") else [*head, token]


def spaced(text, token):
    return text[token.at - 1].isspace() and text[token.end:token.end + 1].isspace()


def operand_range(text, tokens, index):
    """[first, last] tokens of the whole expression whose outermost operator is the one at `index`; None: unclear."""
    strength = BINARY[tokens[index].text]

    def bounds(token):
        return (token.text in (",", ";", "?", ":") or token.text in ASSIGNMENTS or token.text in NOT_AN_OPERAND or
                (token.text in BINARY and BINARY[token.text] < strength and spaced(text, token)))

    first = index
    while first > 0:
        before = tokens[first - 1]
        if bounds(before) or before.text in ("(", "[", "{"):
            break
        if before.mate is not None:
            opening = before.mate
            if before.text == "}" and not (opening and tokens[opening - 1].named):
                break
            if before.text == ")" and opening and tokens[opening - 1].text in HEADS | {"constexpr"}:
                break
            first = opening
        else:
            first -= 1
    last = index
    while last + 1 < len(tokens):
        after = tokens[last + 1]
        if bounds(after) or after.text in (")", "]", "}"):
            break
        if after.text == "{" and not tokens[last].named:
            return None
        last = after.mate if after.mate is not None else last + 1
    chain = tokens[first:last + 1]
    two_names = any(left.named and right.named for left, right in zip(chain, chain[1:]))
    if first == index or last == index or two_names or any(token.text == '"' for token in chain):
        return None
    return first, last


def statement_range(tokens, index):
    """[first, last] of a statement without a result that begins at `index`, its `;` the last; None: there is none."""
    before = tokens[index - 1] if index else None
    if before is None or not tokens[index].code:
        return None
    after_head = before.text == ")" and before.mate and tokens[before.mate - 1].text in ("if", "for", "while")
    if not after_head and before.text not in (";", "{", "}", "else"):
        return None
    last = index
    while last < len(tokens) and tokens[last].text != ";":
        if tokens[last].text in ("}", ")", "]"):
            return None
        last = (tokens[last].mate if tokens[last].text in ("(", "[", "{") else last) + 1
    if last >= len(tokens):
        return None
    texts = [token.text for token in tokens[index:last]]
    if texts in (["continue"], ["break"], ["return"]):
        return index, last
    at = index
    while tokens[at].named and tokens[at].text not in NO_STATEMENT and tokens[at + 1].text == "::":
        at += 2
    follows = tokens[at + 1].text
    called = tokens[at].named and tokens[at].text not in NO_STATEMENT and (
        follows in ASSIGNMENTS or follows in (".", "->", "(", "[", "++", "--"))
    return (index, last) if called or texts[:1] in (["++"], ["--"], ["*"]) else None


def moved(literal, up):
    """A constant beside this one; None: no number of ours."""
    if literal in ("true", "false"):
        return "false" if literal == "true" else "true"
    whole = re.fullmatch(r"(\d[\d']*|0x[0-9a-fA-F']+)([uUlLzZ]*)", literal)
    if whole:
        value = int(whole[1].replace("'", ""), 0 if whole[1].startswith("0x") else 10)
        return f"{value + (1 if up or value == 0 else -1)}{whole[2]}"
    if re.fullmatch(r"[\d.]+(?:[eE][+-]?\d+)?f?", literal):
        return f"{literal} * 2" if float(literal.rstrip("f")) else f"{literal} + 1"
    return None


def found_in(text):
    """(kind, first byte, last byte + 1, place of the change, what is there, what comes there, text instead)."""
    tokens = tokens_of(text)
    for index, token in enumerate(tokens):
        if not token.code:
            continue
        sign = token.text
        if sign in BINARY and (sign in COMPARISONS or sign in OPERATORS) and spaced(text, token):
            found = operand_range(text, tokens, index)
            if found:
                begin, end = tokens[found[0]].at, tokens[found[1]].end
                kind, other = (("comparison", COMPARISONS[sign]) if sign in COMPARISONS else
                               ("operator", OPERATORS[sign]))
                yield kind, begin, end, token.at, sign, other, text[begin:token.at] + other + text[token.end:end]
        elif sign[0].isdigit() or sign in ("true", "false"):
            up = hashlib.sha256(text[max(0, token.at - 40):token.end].encode()).digest()[0] % 2 == 0
            other = moved(sign, up)
            if other and tokens[index - 1].text != ".":
                yield "constant", token.at, token.end, token.at, sign, other, other
        elif sign == "if" and tokens[index + 1].text == "(":
            begin, end = tokens[index + 1].end, tokens[tokens[index + 1].mate].at
            inside = [t.text for t in tokens[index + 2:tokens[index + 1].mate]]
            if not {";", "=", "constexpr"} & set(inside):
                condition = text[begin:end]
                yield "condition", begin, end, begin, condition, f"!({condition})", f"!({condition})"
        found = statement_range(tokens, index)
        if found:
            begin, end = token.at, tokens[found[1]].end
            yield "statement", begin, end, begin, text[begin:end], "", ""
            for inner in tokens[index + 1:found[1]]:
                if inner.text in ("+=", "-=") and inner.code and "{" not in text[begin:inner.at]:
                    other = OPERATORS[inner.text]
                    yield ("operator", begin, end, inner.at, inner.text, other,
                           text[begin:inner.at] + other + text[inner.end:end])


def candidates_of(name, text):
    """Every mutant that could be made of a file, in its order. An id stays the same as long as its line does."""
    starts = [0, *(found.end() for found in re.finditer("\n", text))]
    lines = text.split("\n")
    seen, room = {}, name.split("/")[0]
    for kind, begin, end, place, before, after, to in found_in(text):
        first, last, line = (bisect.bisect_right(starts, at) for at in (begin, end - 1, place))
        source = text[begin:end]
        if last - first > 4 or (last > first and re.search(r'//|/\*|R"', source)):
            continue
        what = (name, lines[line - 1].strip(), kind, str(place - starts[line - 1] - (
            len(lines[line - 1]) - len(lines[line - 1].lstrip()))), after)
        count = seen[what] = seen.get(what, 0) + 1
        mark = hashlib.sha256("\0".join([*what, str(count)]).encode()).hexdigest()[:8]
        yield {"id": f"{room}-{mark}", "file": name, "kind": kind, "at": begin, "lines": (first, last), "line": line,
               "from": source, "to": to, "text": lines[line - 1].strip(),
               "breaks": f"{' '.join(before.split())} -> {' '.join(after.split()) or '(nothing)'}"}


def drawn_of(files, rooms, seed, left_out):
    """All mutants of these rooms in the order in which a seed draws them, kind by kind; no two share a line.

    `files` holds the bytes of the tree by name, `left_out` the ids that are not drawn.
    """
    by_kind = {kind: [] for kind in KINDS}
    for name, content in files.items():
        if name.endswith(".cc") and name.split("/")[0] in rooms:
            for mutant in candidates_of(name, content.decode("utf-8")):
                order = hashlib.sha256(f"{seed}\0{mutant['id']}".encode()).digest()
                by_kind[mutant["kind"]].append((order, mutant["id"], mutant))
    queues = [iter(sorted(by_kind[kind], key=lambda entry: entry[:2])) for kind in KINDS]
    taken = {}
    while queues:
        for queue in list(queues):
            for _, name, mutant in queue:
                lines = set(range(mutant["lines"][0], mutant["lines"][1] + 1))
                if name in left_out or lines & taken.setdefault(mutant["file"], set()):
                    continue
                taken[mutant["file"]] |= lines
                yield mutant
                break
            else:
                queues.remove(queue)


def blamed_of(said, mutants):
    """The ids of those mutants for which a compiler, or the assembler behind it, stopped: that of the line it names,
    else the nearest in the file.

    Every file has a line more than its source, at its top.
    """
    by_file = {}
    for mutant in mutants:
        by_file.setdefault(mutant["file"], []).append(mutant)
    blamed = set()
    for error in re.split(r"(?m)^(?=\S+:\d+:(?:\d+: (?:fatal )?error| Error): )", said)[1:]:
        first, rest = error.split("\n", 1)
        said_before = said[:said.find(error)].rsplit("\nFAILED: ", 1)[-1].split("\n")[-12:]
        nearest = None
        for line in [first, *rest.split("\n"), *said_before]:
            place = re.search(r"([\w./-]+\.cc):(\d+)", line)
            there = next((name for name in by_file if f"/{place[1]}".endswith(f"/{name}")), None) if place else None
            for mutant in by_file.get(there, []):
                distance = max(0, mutant["lines"][0] - int(place[2]) + 1, int(place[2]) - 1 - mutant["lines"][1])
                if nearest is None or distance < nearest[0]:
                    nearest = (distance, mutant["id"])
            if nearest and nearest[0] == 0:
                break
        if nearest:
            blamed.add(nearest[1])
    return blamed
