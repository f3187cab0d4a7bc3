// Small cases on an empty cache, step by step, as TensorRT-LLM's own text ran them, before and after PR 17323.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>

#include "tests/simulator/snapshots/engine_cases.h"

namespace hybridkv::test {

namespace {

SnapshotSettings small_settings(const std::string& name) {
  SnapshotSettings settings{.decodes = true};
  SnapshotPoints& points = settings.points;
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  if (has("i64")) points.interval_tokens = 64;
  if (has("i100")) points.interval_tokens = 100;
  if (has("i256")) points.interval_tokens = 256;
  if (has("start100")) points.from_start = {100};
  if (has("end0")) points.from_end = {0};
  if (has("end0_32")) points.from_end = {0, 32};
  points.at_branches = has("branch");
  settings.partial_reuse = !has("nopartial");
  return settings;
}

/// What the prompts of a case are made of: copies and turns of a chat begin alike; prompts with a shared prefix have
/// tails of their own, and the last one goes on from the second; nested ones begin like the first or part from it.
Segments small_content(const std::string& name, std::int64_t step, std::int64_t length) {
  if (name.starts_with("shared_")) {
    const std::int64_t shared = std::stoll(name.substr(7));
    const std::uint64_t tail = step == 4 ? 1 : static_cast<std::uint64_t>(step);
    return {{1, shared}, {10'000 * (tail + 1), 200}, {900'000, length}};
  }
  if (name == "nested" && (step == 3 || step == 5)) return {{1, 250}, {10'000, length}};
  if (name == "nested" && step == 4) return {{1, 400}, {20'000, length}};
  if (name == "wide") {
    const std::uint64_t tail = step == 36 ? 35 : step == 37 ? 0 : static_cast<std::uint64_t>(step);
    return {{1, 70}, {10'000 * (tail + 1), 20}, {1'000'000 * static_cast<std::uint64_t>(step), length}};
  }
  return {{1, length}};
}

std::string positions_of(const SnapshotTree& tree) {
  std::vector<std::int64_t> positions;
  const std::function<void(SnapshotNode)> visit = [&](SnapshotNode node) {
    const SnapshotBlock& block = tree.at(node);
    if (block.state != no_page) positions.push_back(block.state_tokens);
    for (SnapshotNode child = block.first_child; child != no_node; child = tree.at(child).behind) visit(child);
  };
  visit(SnapshotTree::root);
  std::sort(positions.begin(), positions.end());
  return fmt::format("{}", fmt::join(positions, "+"));
}

/// Steps of a file that differ, and all.
std::pair<int, int> differing_steps(const std::string& path, bool evicts_alone) {
  std::ifstream file(path);
  REQUIRE(file.is_open());
  std::string line;
  std::getline(file, line);
  std::unique_ptr<SnapshotReplay> replay;
  std::pair<int, int> steps{0, 0};
  while (std::getline(file, line)) {
    const std::vector<std::string> want = fields_of_line(line);
    const std::int64_t step = std::stoll(want[4]), length = std::stoll(want[5]);
    if (step == 0) {
      SnapshotSettings settings = small_settings(want[1]);
      settings.states = std::stoll(want[2]);
      settings.blocks = std::stoll(want[3]);
      settings.evicts_alone = evicts_alone;
      replay = std::make_unique<SnapshotReplay>(settings);
    }
    const TraceRequest request{.index = step, .input_length = length, .output_length = std::stoll(want[6])};
    const std::vector<TokenRun> prompt = runs_of(small_content(want[0], step, length), length);
    const SnapshotRecord& record = replay->run(request, prompt);
    const std::vector<std::string> have{fmt::to_string(record.hit_tokens), fmt::to_string(record.attention_tokens),
                                        fmt::to_string(record.content_tokens),
                                        record.branch_tokens > 0 ? fmt::to_string(record.branch_tokens) : "",
                                        want[11], positions_of(replay->tree()), fmt::to_string(record.free_blocks),
                                        fmt::to_string(record.free_states)};
    const auto points = std::count(want[11].begin(), want[11].end(), '+') + (want[11].empty() ? 0 : 1);
    const bool equal = std::equal(have.begin(), have.end(), want.begin() + 7) && points == record.num_snapshots;
    if (!equal && steps.first++ < 3) FAIL_CHECK(line << "\n" << fmt::format("{}", fmt::join(have, ",")));
    ++steps.second;
  }
  return steps;
}

}  // namespace

TEST_CASE("golden: every step of the engine's small cases") {
  CHECK(differing_steps(snapshot_case_path("synthetic.csv"), true) == std::pair{0, 1049});
}

TEST_CASE("golden: the same before PR 17323") {
  CHECK(differing_steps(snapshot_case_path("synthetic_old.csv"), false) == std::pair{0, 1049});
}

}  // namespace hybridkv::test
