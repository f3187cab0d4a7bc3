// What the documents show is what the program prints.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/run_program.h"
#include "tests/scratch_folder.h"
#include "test_paths.h"

using namespace hybridkv::testing;
namespace fs = std::filesystem;

namespace {

struct Example {
  std::string arguments;
  std::string output;
};

/// The blocks of a document that begin with ```console and one command; other blocks are not run.
std::vector<Example> examples_of(std::istream& document) {
  std::vector<Example> examples;
  bool inside = false;
  for (std::string line; std::getline(document, line);) {
    if (line == "```console") {
      inside = true;
      examples.emplace_back();
    } else if (line == "```") {
      inside = false;
    } else if (inside && examples.back().arguments.empty()) {
      examples.back().arguments = line.substr(std::string("$ hybridkv ").size());
    } else if (inside) {
      examples.back().output += line + "\n";
    }
  }
  return examples;
}

void require_printed(const std::string& path, std::size_t count) {
  std::ifstream document(HYBRIDKV_SOURCE_DIR "/" + path);
  const std::vector<Example> examples = examples_of(document);
  CHECK(examples.size() == count);
  for (const Example& example : examples) {
    CAPTURE(example.arguments);
    CHECK(run_program(example.arguments, "cd '" HYBRIDKV_SOURCE_DIR "' &&").output == example.output);
  }
}

/// What stands in backticks and is the path of a file.
std::set<std::string> files_named_in(const std::string& document) {
  static const std::regex path("`([A-Za-z0-9_/-]+\\.[a-z]+)`");
  std::set<std::string> files;
  for (std::sregex_iterator found(document.begin(), document.end(), path), end; found != end; ++found)
    files.insert((*found)[1]);
  return files;
}

}  // namespace

TEST_CASE("golden: the questions of README.md are answered with what it shows") { require_printed("README.md", 5); }

TEST_CASE("golden: ten questions are answered by one command each, as docs/answers.md shows") {
  require_printed("docs/answers.md", 10);
}

TEST_CASE("golden: the commands of docs/compare.md print what it shows") { require_printed("docs/compare.md", 2); }

TEST_CASE("golden: the commands of docs/kernels.md print what they show") { require_printed("docs/kernels.md", 2); }

TEST_CASE("golden: the command of docs/what-if.md prints what it shows") { require_printed("docs/what-if.md", 1); }

TEST_CASE("golden: the commands of docs/simulator.md print what it shows") { require_printed("docs/simulator.md", 4); }

TEST_CASE("golden: the commands of docs/recommend.md print what it shows") { require_printed("docs/recommend.md", 4); }

TEST_CASE("golden: the commands of docs/bound.md print what it shows") { require_printed("docs/bound.md", 1); }

TEST_CASE("golden: the commands of docs/traces.md print what it shows") { require_printed("docs/traces.md", 1); }

TEST_CASE("golden: the commands of docs/tiers.md print what it shows") { require_printed("docs/tiers.md", 1); }

TEST_CASE("golden: the commands of docs/losses.md print what it shows") { require_printed("docs/losses.md", 1); }

TEST_CASE("golden: the commands of docs/policies.md print what it shows") { require_printed("docs/policies.md", 1); }

TEST_CASE("golden: the commands of docs/clock.md print what they show") { require_printed("docs/clock.md", 10); }

TEST_CASE("golden: the commands of docs/fleet.md print what they show") { require_printed("docs/fleet.md", 3); }

TEST_CASE("golden: the commands of docs/boot.md print what it shows") { require_printed("docs/boot.md", 1); }

TEST_CASE("golden: the commands of docs/doctor.md print what it shows") { require_printed("docs/doctor.md", 4); }

TEST_CASE("golden: the commands of docs/audit.md print what it shows") { require_printed("docs/audit.md", 2); }

TEST_CASE("golden: the commands of docs/releases.md print what it shows") { require_printed("docs/releases.md", 3); }

TEST_CASE("golden: the commands of docs/sweep.md print what it shows") { require_printed("docs/sweep.md", 1); }

TEST_CASE("golden: the commands of docs/transfer.md print what it shows") { require_printed("docs/transfer.md", 7); }

TEST_CASE("law: docs/samples has the files that its README names, and no others") {
  const fs::path samples = HYBRIDKV_SOURCE_DIR "/docs/samples";
  const std::set<std::string> named = files_named_in(text_of(samples / "README.md"));
  std::set<std::string> there;
  for (const auto& entry : fs::recursive_directory_iterator(samples))
    if (entry.is_regular_file() && entry.path() != samples / "README.md")
      there.insert(fs::relative(entry.path(), samples).generic_string());
  CHECK(named == there);
  CHECK(named.count("trace.jsonl") == 1);
}

TEST_CASE("fault: a file that a document names is told from a command and a key") {
  CHECK(files_named_in("`a/config.json`: `hash_ids` of `hybridkv plan --model my.yaml`, and `server.txt`") ==
        std::set<std::string>{"a/config.json", "server.txt"});
}

TEST_CASE("fault: a document that shows something else is found") {
  std::istringstream document("```console\n$ hybridkv --version\nhybridkv 0.0.0\n```\n");
  const std::vector<Example> examples = examples_of(document);
  REQUIRE(examples.size() == 1);
  CHECK(examples[0].arguments == "--version");
  CHECK(run_program(examples[0].arguments).output != examples[0].output);
}
