// The list of changes that tests/mutants/run.py makes, held to the tree: a change that no longer has its place would be
// left out of the score without a word.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/scratch_folder.h"
#include "test_paths.h"

namespace hybridkv {
namespace {

using testing::text_of;

struct Mutant {
  std::string id, file, from, to;
  std::string breaks;  ///< what it makes wrong
};

std::vector<Mutant> read_mutants() {
  std::vector<Mutant> mutants;
  for (const auto& entry : nlohmann::json::parse(text_of(HYBRIDKV_SOURCE_DIR "/tests/mutants/mutants.json")))
    mutants.push_back({entry.at("id"), entry.at("file"), entry.at("from"), entry.at("to"), entry.at("breaks")});
  return mutants;
}

TEST_CASE("golden: every mutant has its place in the tree, exactly one, and none is inside another") {
  std::set<std::string> ids;
  std::map<std::string, std::vector<std::pair<std::size_t, std::size_t>>> taken;  // [begin, end) by file
  for (const Mutant& mutant : read_mutants()) {
    CAPTURE(mutant.id);
    CHECK(ids.insert(mutant.id).second);
    CHECK(!mutant.breaks.empty());
    CHECK(mutant.id.starts_with(mutant.file.substr(0, mutant.file.find('/')) + "-"));
    CHECK(mutant.from != mutant.to);
    CHECK(mutant.from.find('\n') == std::string::npos);
    const std::string text = text_of(std::string(HYBRIDKV_SOURCE_DIR "/") + mutant.file);
    const std::size_t place = text.find(mutant.from);
    REQUIRE_MESSAGE(place != std::string::npos, mutant.file, " no longer holds: ", mutant.from);
    CHECK_MESSAGE(text.find(mutant.from, place + 1) == std::string::npos, "more than once in ", mutant.file);
    const std::size_t end = place + mutant.from.size();
    for (const auto& [other_begin, other_end] : taken[mutant.file]) CHECK((end <= other_begin || other_end <= place));
    taken[mutant.file].emplace_back(place, end);
  }
}

TEST_CASE("golden: there are at least 80 mutants, some in every room") {
  std::map<std::string, int> in_room;
  for (const Mutant& mutant : read_mutants()) ++in_room[mutant.file.substr(0, mutant.file.find('/'))];
  int total = 0;
  for (const char* room :
       {"base", "layout", "mamba", "attention", "planner", "simulator", "verify", "scenarios", "ask", "report",
        "cli"}) {
    CAPTURE(room);
    CHECK(in_room[room] >= 8);
    total += in_room[room];
  }
  CHECK(total >= 80);
}

TEST_CASE("golden: what is listed as a change of nothing has its line in the tree, and a reason") {
  std::set<std::string> ids;
  for (const auto& entry :
       nlohmann::json::parse(text_of(HYBRIDKV_SOURCE_DIR "/tests/mutants/equivalent.json"))) {
    const std::string id = entry.at("id"), file = entry.at("file"), line = entry.at("line"), why = entry.at("why");
    CAPTURE(id);
    CHECK(ids.insert(id).second);
    CHECK(id.starts_with(file.substr(0, file.find('/')) + "-"));
    CHECK(why.size() > 20);
    CHECK_MESSAGE(text_of(std::string(HYBRIDKV_SOURCE_DIR "/") + file).find(line) != std::string::npos, file,
                  " no longer holds: ", line);
  }
}

}  // namespace
}  // namespace hybridkv
