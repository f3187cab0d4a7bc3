// Manual pages: one of each command, with all that its help says, in a language that man understands.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/require_refused.h"
#include "tests/cli/run_program.h"
#include "tests/scratch_folder.h"
#include "test_paths.h"

using namespace hybridkv::testing;
namespace fs = std::filesystem;

namespace {

/// A page as plain text: requests and escapes taken away, blanks and line ends as one blank.
std::string plain(const std::string& roff) {
  std::string text;
  for (std::size_t i = 0; i < roff.size(); ++i) {
    if (roff[i] != '\\') text += roff[i] == '\n' ? ' ' : roff[i];
    else if (roff.compare(i, 4, "\\(aq") == 0) text += "'", i += 3;
    else if (roff.compare(i, 4, "\\(ga") == 0) text += "`", i += 3;
    else if (roff.compare(i, 4, "\\(ti") == 0) text += "~", i += 3;
    else if (roff.compare(i, 4, "\\(ha") == 0) text += "^", i += 3;
    else if (roff[i + 1] == 'f') i += 2;
    else if (roff[i + 1] == '-') text += "-", ++i;
    else if (roff[i + 1] == 'e') text += "\\", ++i;
    else if (roff[i + 1] == '&') ++i;
  }
  return text;
}

/// Words of a help that are no heading: its explanations, flags and examples.
std::vector<std::string> words_of(const std::string& help) {
  std::vector<std::string> words;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream in(line);
    if (!line.ends_with(":"))
      for (std::string word; in >> word;)
        if (word != "Usage:") words.push_back(word);
  }
  return words;
}

}  // namespace

TEST_CASE("golden: a page of every command says what its help says") {
  const ScratchFolder scratch;
  const fs::path folder = scratch.path / "man1";
  REQUIRE(run_program("man --output '" + folder.string() + "'").exit_code == 0);
  std::set<std::string> pages;
  for (const fs::directory_entry& file : fs::directory_iterator(folder)) pages.insert(file.path().filename().string());
  std::istringstream commands(run_program("completions candidates ''").output);
  std::set<std::string> expected{"hybridkv.1"};
  for (std::string line; std::getline(commands, line);) {
    const std::string command = line.substr(0, line.find('\t'));
    if (command == "help") continue;
    CAPTURE(command);
    expected.insert("hybridkv-" + command + ".1");
    const std::string page = run_program("man " + command).output;
    const std::string text = plain(page);
    std::size_t at = 0, missing = 0;
    for (const std::string& word : words_of(run_program("help " + command).output))
      missing += text.find(word) == std::string::npos;
    CHECK(missing == 0);
    for (const char* part : {".TH ", ".SH \"NAME\"", ".SH \"SYNOPSIS\"", ".SH \"FLAGS\"", ".SH \"EXAMPLES\"",
                             ".SH \"SEE ALSO\""}) {
      at = page.find(part, at);
      CHECK_MESSAGE(at != std::string::npos, part);
    }
    std::ifstream file(folder / ("hybridkv-" + command + ".1"));
    CHECK(page == std::string(std::istreambuf_iterator<char>(file), {}));
  }
  CHECK(pages == expected);
}

TEST_CASE("golden: man shows every page without a warning") {
  const bool has_man = std::system("man --version > /dev/null 2>&1 && command -v groff > /dev/null 2>&1") == 0;
  if (!has_man) return void(std::printf("SKIPPED: man or groff is not installed\n"));
  const ScratchFolder scratch;
  const std::string there = "cd '" + scratch.path.string() + "' && ";
  REQUIRE(run_program("man --output man1", there).exit_code == 0);
  const std::string each = "for page in man1/*.1; do man -l -E UTF-8 --warnings=w $page > /dev/null; done";
  CHECK(run_shell(there + each).output == "");
  const std::string shown = run_shell(there + "MANWIDTH=80 man -l -E UTF-8 man1/hybridkv-plan.1 | col -b").output;
  CHECK(contains(shown, "hybridkv plan --model Nemotron-3-Nano-30B-A3B --memory 20GiB \\\n"));
  CHECK(contains(shown, "-f, --format FORMAT\n"));
  scratch.file("broken.1", ".TH A 1\n.SH NAME\n.nosuchrequest\na \\- b\n");
  CHECK(!run_shell(there + "man -l -E UTF-8 --warnings=w broken.1 > /dev/null").output.empty());
}

TEST_CASE("fault: no page of what is no command") {
  require_refused("man pla", "man: there is no command 'pla'; did you mean 'plan'?");
  require_refused("man nothing-of-it", "commands: plan, explain");
}
