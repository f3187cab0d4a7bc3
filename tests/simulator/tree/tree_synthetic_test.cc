// Small cases on an empty cache against what SGLang 0.5.23's own classes did: hits, branch points, chunks, and where
// in the tree states are.
#include <doctest/doctest.h>

#include <sstream>

#include "simulator/tree/tree_replay.h"
#include "tests/simulator/blocks/workload.h"
#include "tests/simulator/tree_cases.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

struct SyntheticRow {
  explicit SyntheticRow(const std::string& line) {
    std::istringstream words(line);
    for (std::string word; std::getline(words, word, ',');) fields.push_back(word);
    fields.resize(16);
  }
  std::int64_t number(std::size_t field) const { return std::stoll(fields[field]); }
  std::int64_t step() const { return number(6); }
  std::int64_t input_length() const { return number(7); }
  std::int64_t output_length() const { return number(8); }

  /// Content of the prompt and behind it of what it generates.
  PromptSegments content() const {
    const auto own = static_cast<std::uint64_t>(step()) + 100;
    if (fields[0].starts_with("shared")) {
      const std::int64_t shared = std::stoll(fields[0].substr(6));
      return {{1, shared}, {own, input_length() - shared}};
    }
    if (!fields[0].starts_with("chat")) return {{1, input_length()}};
    PromptSegments turns{{1, std::stoll(fields[0].substr(4))}};
    for (std::uint64_t turn = 0; turn <= 4; ++turn) {
      turns.push_back({200 + turn, output_length()});
      turns.push_back({300 + turn, 50});
    }
    return turns;
  }

  TreeSettings settings() const {
    TreeSettings settings{.token_slots = 1'000'000, .state_slots = 1000};
    if (fields[1] == "plain") settings.state_slots = 0;
    else settings.strategy = parse_tree_strategy(fields[1]).value();
    settings.overlap = settings.strategy != TreeStrategy::no_buffer;
    settings.page = number(2);
    settings.chunk_tokens = number(3);
    settings.model_chunk = number(4);
    settings.track_interval = number(5);
    settings.decodes = true;
    return settings;
  }

  std::vector<std::string> fields;
};

template <class Numbers>
std::string sum_of(const Numbers& numbers) {
  std::string text;
  for (const std::int64_t number : numbers) text += (text.empty() ? "" : "+") + std::to_string(number);
  return text;
}

/// The line with what the tree makes of the row.
std::string replayed(const SyntheticRow& row, TreeReplay& replay) {
  TraceBatch batch;
  add_request(batch, row.content(), row.output_length());
  TraceRequest request = batch.requests.front();
  request.input_length = row.input_length();
  const TreeRecord& record = replay.run(request, batch.runs);
  const bool states = replay.settings().has_states();
  std::ostringstream line;
  for (std::size_t field = 0; field < 9; ++field) line << row.fields[field] << ',';
  line << record.hit_tokens << ',' << record.kv_match_tokens << ','
       << (record.branch_tokens > 0 ? std::to_string(record.branch_tokens) : "") << ',' << sum_of(record.chunks) << ','
       << record.tree_tokens << ',' << (states ? std::to_string(record.tree_states) : "") << ','
       << sum_of(replay.tree().state_positions());
  return line.str();
}

}  // namespace

TEST_CASE("golden: 1034 small cases of SGLang, hits, branch points, chunks and states left") {
  const std::vector<std::string> expected = tree_case(
      "synthetic.csv", "case,strategy,page,chunk,state_chunk,track,step,input_length,max_new_tokens,hit,full_kv_match,"
                       "branch_at,chunk_sizes,tree_tokens,tree_states,state_positions");
  REQUIRE(expected.size() == 1034);
  std::vector<std::string> found;
  std::optional<TreeReplay> replay;
  for (const std::string& line : expected) {
    const SyntheticRow row(line);
    if (row.step() == 0) replay.emplace(row.settings());
    REQUIRE(replay.has_value());
    found.push_back(replayed(row, *replay));
  }
  check_lines(found, expected);
}
