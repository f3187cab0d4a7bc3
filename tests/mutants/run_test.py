#!/usr/bin/env python3
"""What run.py --random draws, and that it tells a weak test from a strong one, in a small tree of its own."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import draw  # noqa: E402
import run  # noqa: E402

SOURCE = """#include <vector>  // a < b
#define LESS(a, b) (a < b)
static_assert(1 < 2);
constexpr int twice(int x) { return x * 2; }
int with_default(int x = 3);
struct Sizes {
  int first = 4;
};
enum class Kind { one = 1 };
template <class T>
int inside(const std::vector<T>& all, T* from, int x) noexcept(5 < 6) {
  const char* const text = "x < 7";
  constexpr int eight = 8 + 9;
  if (x == 0 &&
      from) return 10;
  switch (x) {
    case 11 + 12: break;
  }
  for (int i = 0; i < x; ++i) x -= twice(i);
  if (x > 13) throw SpecError(fmt::format("{}", x + 14));
  all.clear();
  const int y = static_cast<int>(all.size()) + x * 2;
  return std::max<int>(y, 1'000) - 0x10;
}
"""
# kind, line, what is there, what comes there: worked out by hand from the text above.
FOUND = {("operator", 14, "&&", "||"), ("comparison", 14, "==", "!="), ("constant", 14, "0", "1"),
         ("condition", 14, "x == 0 && from", "!(x == 0 && from)"), ("constant", 15, "10", None),
         ("constant", 19, "0", "1"), ("comparison", 19, "<", "<="),
         ("statement", 19, "x -= twice(i);", "(nothing)"), ("operator", 19, "-=", "+="),
         ("comparison", 20, ">", ">="), ("constant", 20, "13", None), ("condition", 20, "x > 13", "!(x > 13)"),
         ("statement", 21, "all.clear();", "(nothing)"), ("operator", 22, "+", "-"), ("operator", 22, "*", "+"),
         ("constant", 22, "2", None), ("constant", 23, "1'000", None), ("operator", 23, "-", "+"),
         ("constant", 23, "0x10", None)}

TREE = {
    "CMakeLists.txt": """cmake_minimum_required(VERSION 3.25)
project(small LANGUAGES CXX)
include_directories(${PROJECT_SOURCE_DIR})
function(hybridkv_module name)
  file(GLOB sources ${name}/*.cc)
  add_library(hybridkv_${name} STATIC ${sources})
  file(GLOB tests tests/${name}/*_test.cc)
  add_executable(${name}_tests ${tests})
  set_target_properties(${name}_tests PROPERTIES RUNTIME_OUTPUT_DIRECTORY tests)
  target_link_libraries(${name}_tests hybridkv_layout hybridkv_base)
endfunction()
hybridkv_module(base USES threads)
hybridkv_module(layout USES base)
add_executable(hybridkv program.cc)
""",
    "CMakePresets.json": json.dumps({"version": 6, "configurePresets": [
        {"name": "release", "generator": "Ninja", "binaryDir": "${sourceDir}/build/release"}]}),
    ".gitignore": "build/\n",
    "program.cc": "int main() {}\n",
    "base/age.h": "#include <string>\nbool may_vote(int years);\nint later(int years);\nstd::string name_of();\n",
    "base/age.cc": """#include "base/age.h"
bool may_vote(int years) {
  return years >= 18;
}
int later(int years) {
  return years + years;
}
std::string name_of() {
  const std::string first = name_of(), last = name_of();
  return first + last;
}
""",
    "layout/row.h": "int row();\n",
    "layout/row.cc": '#include "layout/row.h"\n#include "base/age.h"\nint row() { return later(5); }\n',
    "tests/base/age_test.cc": '#include "base/age.h"\nint main() { return may_vote(40) && !may_vote(3) ? 0 : 1; }\n',
    "tests/layout/row_test.cc": '#include "layout/row.h"\nint main() { return row() == 10 ? 0 : 1; }\n',
}
WEAK, EDGE = "!may_vote(3)", "!may_vote(17) && may_vote(18)"


class Drawn(unittest.TestCase):
    def test_golden_what_can_be_changed_and_what_is_left_alone(self):
        found = {(m["kind"], m["line"], *m["breaks"].split(" -> ")) for m in draw.candidates_of("base/a.cc", SOURCE)}
        either = {(kind, line, before, None if (kind, line, before, None) in FOUND else after)
                  for kind, line, before, after in found}
        self.assertEqual(either, FOUND)

    def test_law_a_seed_decides_and_other_lines_do_not(self):
        def ids(seed, text=SOURCE):
            return [m["id"] for m in draw.drawn_of({"base/a.cc": text.encode(), "web/b.cc": text.encode()}, {"base"},
                                                   seed, set())]
        self.assertEqual(ids(1), ids(1))
        self.assertNotEqual(ids(1), ids(2))
        self.assertEqual(ids(1), ids(1, "// one more line\n" + SOURCE))

    def test_law_no_two_share_a_line_and_none_that_is_left_out_is_drawn(self):
        drawn = list(draw.drawn_of({"base/a.cc": SOURCE.encode()}, {"base"}, 7, set()))
        lines = [line for m in drawn for line in range(m["lines"][0], m["lines"][1] + 1)]
        self.assertEqual(len(lines), len(set(lines)))
        again = draw.drawn_of({"base/a.cc": SOURCE.encode()}, {"base"}, 7, {drawn[0]["id"]})
        self.assertNotIn(drawn[0]["id"], [m["id"] for m in again])

    def test_golden_an_error_is_laid_to_the_change_of_its_line(self):
        mutants = [{"id": "base-1", "file": "base/a.cc", "lines": (7, 7)}, {"id": "base-2", "file": "base/a.cc",
                                                                         "lines": (9, 10)}]
        self.assertEqual(draw.blamed_of("/x/base/a.cc:8:3: error: no\n", mutants), {"base-1"})
        self.assertEqual(draw.blamed_of("/x/base/a.cc:11:3: error: no\n", mutants), {"base-2"})
        self.assertEqual(draw.blamed_of("/x/base/a.cc:8: Error: no operand\n", mutants), {"base-1"})
        self.assertEqual(draw.blamed_of("/x/y.h:3:1: error: no\n/x/base/a.cc:10:9: required\n", mutants), {"base-2"})
        self.assertEqual(draw.blamed_of("/x/base/a.cc:200:3: error: no\n", mutants), {"base-2"})
        self.assertEqual(draw.blamed_of("ninja: stopped\n", mutants), set())
        deep = [{"id": "base-3", "file": "base/few/a.cc", "lines": (7, 7)}, *mutants]
        self.assertEqual(draw.blamed_of("/x/base/few/a.cc:8:3: error: no\n", deep), {"base-3"})


class Listed(unittest.TestCase):
    def test_golden_every_change_of_the_list_can_be_made(self):
        said = subprocess.run([sys.executable, HERE / "run.py", "--check"], capture_output=True, text=True)
        self.assertEqual(said.returncode, 0, said.stderr)

    def test_fault_what_no_switch_can_choose_is_refused(self):
        text = "  if (few) return many;\n  const int row = of(place);\n  .shares = !first,\n  for (; far && near;) go();\n"
        text += "  const int room =\n    fit(few);\n  add(!first && of(all));\n"
        text += "  std::string shown = of(all);\n  if (is_far(few)) go_on();\n"
        for pattern in ("return many;", "of(place)", "many", "far && near", "go();", "go_on();", "is_far(few)"):
            self.assertTrue(run.takes_switch(text, pattern), pattern)
        for pattern in ("return many", "const int row = of(place)", "const int row = of(place);", ".shares = !first",
                        "near;", "row = of(place)", "fit(few);", "!first && of",
                        "std::string shown = of(all);", "if (is_far(few))"):
            self.assertFalse(run.takes_switch(text, pattern), pattern)


class Run(unittest.TestCase):
    def setUp(self):
        missing = [program for program in ("git", "cmake", "ninja", "c++") if not shutil.which(program)]
        if missing:
            self.skipTest(f"not found: {', '.join(missing)}")
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="hybridkv-mutants-")))
        for name, text in TREE.items():
            self.write(name, text)
        for name in ("run.py", "draw.py", "scratch.py", "steps.py"):
            self.write(f"tests/mutants/{name}", (HERE / name).read_text(encoding="utf-8"))
        self.write("tests/mutants/mutants.json", "[]")
        self.write("tests/mutants/equivalent.json", "[]")
        subprocess.run(["git", "init", "-q", str(self.folder / "tree")], check=True)

    def write(self, name, text):
        path = self.folder / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def ask(self, *flags):
        return subprocess.run([sys.executable, self.folder / "tree/tests/mutants/run.py", "--work",
                               self.folder / "work", *flags], capture_output=True, text=True)

    def test_fault_a_weak_test_lets_a_mutant_survive_until_it_asks_the_edge(self):
        asked = ["--random", "3", "--seed", "5", "--room", "base"]
        weak = self.ask(*asked)
        self.assertEqual(weak.returncode, 1, weak.stdout + weak.stderr)
        # Strings have no difference: that change of line 10 is dropped, and no other comes for it.
        self.assertIn("2 drawn, 1 others did not compile", weak.stdout)
        survivors = re.findall(r"survived: (\S+) \((.*)\): (.*)", weak.stdout)
        self.assertEqual({survivor[1:] for survivor in survivors}, {("base/age.cc:3", ">= -> >")}, weak.stdout)
        # Nothing in base asks for later(): the room beside it does.
        self.assertRegex(weak.stdout, r"killed .*base/age.cc:6: \+ -> - .*layout_tests: exit code 1")
        entry = {"id": survivors[0][0], "file": "base/age.cc", "line": "return years >= 18;", "change": ">= -> >",
                 "why": "for this test alone"}
        self.write("tests/base/age_test.cc", TREE["tests/base/age_test.cc"].replace(WEAK, EDGE))
        less = self.ask(*asked, "--survivors")
        self.assertIn("1 were killed before, on the same sources", less.stdout, less.stderr)
        self.assertIn("score: 2 of 2 mutants killed, 100.0 %", less.stdout)
        strong = self.ask(*asked)
        self.assertIn("1 were killed before, on this very tree", strong.stdout)  # the other one under another test
        self.assertEqual(strong.returncode, 0, strong.stdout + strong.stderr)
        self.assertIn("score: 2 of 2 mutants killed, 100.0 %", strong.stdout)
        again = self.ask(*asked)
        self.assertIn("2 were killed before, on this very tree", again.stdout)
        self.write("tests/mutants/equivalent.json", json.dumps([entry]))
        listed = self.ask(*asked)
        self.assertNotIn(entry["id"], listed.stdout)
        self.assertIn("1 are listed that change nothing", listed.stdout)
        self.write("base/age.cc", TREE["base/age.cc"].replace("18", "21"))
        stale = self.ask("--check")
        self.assertEqual(stale.returncode, 2)
        self.assertIn(f"{entry['id']}: equivalent.json, no longer drawn from base/age.cc: return years >= 18;",
                      stale.stderr)

    def test_fault_an_index_past_the_end_is_noticed_though_nothing_depends_on_what_lies_there(self):
        self.write("layout/row.cc", """#include <vector>
#include "layout/row.h"
bool any(const std::vector<char>& all) {
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i]) return true;
  return false;
}
int row() { return any(std::vector<char>(8)) ? 1 : 10; }
""")
        noticed = self.ask("--random", "1", "--room", "layout")
        self.assertRegex(noticed.stdout, r"killed .*layout/row.cc:4: < -> <= .*layout/row_test: signal 6", noticed.stderr)

    def test_edge_a_part_that_a_source_includes_inside_of_a_namespace_has_mutants_too(self):
        self.write("base/limit.inc", "inline int limit(int years) {\n  return years + 1;\n}\n")
        self.write("base/age.cc", TREE["base/age.cc"]
                   .replace("return years + years;", "return inner::limit(2 * years - 1);")
                   .replace("bool may_vote", 'namespace inner {\n#include "base/limit.inc"\n}\nbool may_vote'))
        self.write("tests/mutants/mutants.json", json.dumps([
            {"id": "base-limit", "file": "base/limit.inc", "from": "years + 1", "to": "years + 2", "breaks": "one more",
             "tests": ["layout/row"]}]))
        noticed = self.ask()
        self.assertEqual(noticed.returncode, 0, noticed.stdout + noticed.stderr)
        self.assertRegex(noticed.stdout, r"killed +base-limit .*layout/row_test: exit code 1")

    def test_fault_a_test_that_fails_by_itself_judges_nothing(self):
        self.write("tests/base/age_test.cc", "int main() { return 1; }\n")
        refused = self.ask("--random", "1", "--room", "base")
        self.assertEqual(refused.returncode, 2, refused.stdout)
        self.assertIn("age_test.cc fails without any mutant, so it cannot judge one", refused.stderr)


if __name__ == "__main__":
    unittest.main()
