#!/usr/bin/env python3
"""No room but engines/ names an engine in its code or strings: what an engine is called, does and cites is said in its
folder, and the rooms ask its rules. Comments may cite, and so may docs, tests and scenario files. The names of
strategies (compact_slots) are no engine's.

Run as: engine_names.py SOURCE_DIR"""

import re
import sys
from pathlib import Path

ROOMS = ("base audit layout mamba attention planner transfer clock simulator verify search measure scenarios ask report python "
         "web cli").split()

NAME = re.compile(r"vllm|sglang|jenga|tensorrt|trtllm|llama[._]?cpp|compact-slots|(?<![\w.])0[._]3[23](?!\d)|_0_3[23](?!\d)",
                  re.IGNORECASE)
# Strings are kept, comments are not; an apostrophe behind a digit parts thousands.
CPP = re.compile(r"""R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*'|//[^\n]*|/\*.*?\*/""",
                 re.DOTALL)
PYTHON = re.compile(r'''""".*?"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\#[^\n]*''', re.DOTALL)


def without_comments(text, python):
    def kept(match):
        token = match[0]
        comment = token.startswith(("#", '"""')) if python else token.startswith(("//", "/*"))
        return "\n" * token.count("\n") if comment else token

    return (PYTHON if python else CPP).sub(kept, text)


def lines_with_names(text, python=False):
    """Numbers of the lines whose code or strings name an engine, with the lines."""
    lines = without_comments(text, python).split("\n")
    return [(i + 1, line.strip()) for i, line in enumerate(lines) if NAME.search(line)]


def check_itself():
    """A name that is put in is found, and what is none is not."""
    for fault in ['x = "vLLM get_kv_cache_groups";', "if (is_vllm_0_33(rules)) f();", 'take("release 0.33");',
                  "#include \"engines/llama_cpp/rules.h\"", 'f(1\'000);  // a comment\'s end\ng("Jenga");',
                  'const char* x = R"(two\n"compact-slots")";', '"https://x"; "TensorRT-LLM"', "/* one */ sglang();"]:
        if not lines_with_names(fault):
            sys.exit(f"a name that was put in is not found: {fault}")
    for good in ["f();  // Source: vLLM 0.33 get_kv_cache_config", "/// vLLM's\n/* of\n SGLang */", "compact_slots()",
                 "x = 0.335 + 10.33;", 'f("a \\" b");  // Jenga', "f(1'000);  // vLLM's and SGLang's"]:
        if lines_with_names(good):
            sys.exit(f"no name of an engine is taken for one: {good}")
    if not lines_with_names('x = "vllm"  # said', True) or lines_with_names('"""Of vllm."""\nx = 1  # vllm', True):
        sys.exit("strings of Python are not told from its comments")


def main():
    check_itself()
    source, found = Path(sys.argv[1]), []
    for room in ROOMS:
        for path in sorted((source / room).rglob("*")):
            if path.suffix in (".h", ".cc", ".inc", ".js", ".py"):
                lines = lines_with_names(path.read_text(encoding="utf-8"), path.suffix == ".py")
                found += [f"{path.relative_to(source)}:{number}: {line}" for number, line in lines]
    if found:
        sys.exit("\n".join(["an engine is named outside engines/; ask a member of it instead:"] + found))


if __name__ == "__main__":
    main()
