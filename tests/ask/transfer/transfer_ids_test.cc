#include "ask/transfer/transfer_ids.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "tests/scratch_folder.h"

using namespace hybridkv;
using hybridkv::testing::ScratchFolder;

namespace {

RequestTables read_text(const std::string& text, const char* name = "ids.json") {
  const ScratchFolder folder;
  const std::filesystem::path path = folder.path / name;
  std::ofstream(path) << text;
  return read_request_tables(path.string());
}

void require_refused(const std::string& text, const std::string& message) {
  CAPTURE(text);
  std::string said;
  try {
    read_text(text);
  } catch (const InputError& error) {
    said = error.what();
  }
  CAPTURE(said);
  CHECK(said.find(message) != std::string::npos);
}

using Stages = std::vector<std::vector<std::vector<std::int64_t>>>;

}  // namespace

TEST_CASE("golden: ids of one stage or of several; null is nobody's") {
  CHECK(read_text("[[1, 2, null, 4], [5]]").ids == Stages{{{1, 2, nobody_holds, 4}, {5}}});
  CHECK(read_text("[[[1, 2], [3]], [[4, 5], [6]]]").ids == Stages{{{1, 2}, {3}}, {{4, 5}, {6}}});
  CHECK(read_text("- [7, ~]\n- [8]\n", "ids.yaml").ids == Stages{{{7, nobody_holds}, {8}}});
}

TEST_CASE("fault: what holds no ids says where") {
  require_refused("{\"ids\": [[1]]}", "ids.json:1:1: the file is a mapping; expected a list");
  require_refused("[[1, 2],\n [3, x]]", "ids.json:2:6: ");
  require_refused("[[1, 2],\n [3, 0.5]]", "ids.json:2:6: an id is not a whole number");
  require_refused("[[1, 2],\n [3, \"4\"]]", "ids.json:2:6: an id is the text '4'; expected a whole number");
  require_refused("[[1, -2]]", "ids.json:1:6: an id is -2; ids begin with 0");
  require_refused("[[1], 2]", "ids.json:1:7: a group is");
  require_refused("[[[1], 2]]", "ids.json:1:8: a group is");
  require_refused("[[1], [2]", "ids.json");
  require_refused("", "ids.json:1:1: ");
  CHECK_THROWS_AS(read_request_tables("no/such/file.json"), InputError);
}
