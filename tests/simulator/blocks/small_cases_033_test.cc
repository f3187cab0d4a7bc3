// Three prompts one after the other with the rules of vLLM 0.33: hits, junctions, chunks and the states left, for 17
// settings, 2 blocks and 3 budgets, against what its own functions did.
#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "simulator/blocks/invariants.h"
#include "tests/simulator/blocks/release_033_cases.h"
#include "tests/simulator/blocks/workload.h"
#include "tests/simulator/loss_run.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// One line of small_cases.csv.
struct SmallCase {
  std::string config, line;
  std::int64_t block = 0, budget = 0, tokens = 0;
  std::optional<std::int64_t> shared;  ///< tokens of the prefix that different prompts share; copies have none
  std::string hits, junctions, chunks, states;
};

std::vector<SmallCase> small_cases() {
  std::ifstream in(*case_033("small_cases.csv"));
  REQUIRE(in.is_open());
  std::vector<SmallCase> cases;
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    std::vector<std::string> fields(1);
    for (const char c : line) c == ',' ? fields.emplace_back() : fields.back() += std::string(1, c);
    REQUIRE(fields.size() == 10);
    SmallCase found{.config = fields[0], .line = line, .block = std::stoll(fields[1]), .budget = std::stoll(fields[2]),
                    .tokens = std::stoll(fields[4]), .hits = fields[6], .junctions = fields[7], .chunks = fields[8],
                    .states = fields[9]};
    if (fields[3] == "shared") found.shared = std::stoll(fields[5]);
    cases.push_back(found);
  }
  return cases;
}

/// The settings that the name of a case lists.
CacheGeometry geometry_of_case(const SmallCase& small) {
  CacheGeometry geometry = geometry_033(small.block, 400, 2);
  geometry.max_num_batched_tokens = small.budget;
  std::istringstream words(small.config);
  for (std::string word; std::getline(words, word, '_');) {
    if (word == "Rnone") geometry.retention_interval_tokens.reset();
    else if (word[0] == 'R') geometry.retention_interval_tokens = std::stoll(word.substr(1));
    else if (word == "ck") geometry.rules.checkpoint_blocks = 1;
    else if (word == "drop") geometry.drafter_drops_block = true;
    else if (word == "shared") geometry.rules.exact_junctions = true;
    else if (word[0] == 'h') geometry.match_unit_tokens = std::stoll(word.substr(1));
    else if (word[0] == 's') geometry.speculative_tokens = std::stoll(word.substr(1));
    else REQUIRE(word == "base");
  }
  if (geometry.speculative_tokens > 0 && !geometry.drafter_drops_block) geometry.rules.lookahead_tokens = 1;
  return geometry;
}

TraceBatch prompts_of(const SmallCase& small) {
  if (!small.shared) return copies_of({{1, small.tokens}}, 3);
  std::vector<PromptSegments> prompts;
  for (std::uint64_t id = 2; id < 5; ++id) prompts.push_back({{1, *small.shared}, {id, small.tokens - *small.shared}});
  return batch_of(prompts);
}

std::string joined(const std::vector<std::string>& words, char between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : std::string(1, between)) + word;
  return text;
}

/// The line with what the simulator makes of its hits, junctions, chunks and states.
std::string simulated(const SmallCase& small) {
  const CacheGeometry geometry = geometry_of_case(small);
  std::vector<std::string> hits, junctions, all_chunks, chunks;
  std::vector<std::vector<PrefixKey>> keys;
  Simulation simulation(geometry, {}, [&](const RequestRecord& record) {
    hits.push_back(std::to_string(record.hit_tokens));
    junctions.push_back(std::to_string(record.uncached_common > 0 ? record.hit_tokens + record.uncached_common : 0));
  });
  simulation.after_schedule = [&] {
    chunks.push_back(std::to_string(simulation.scheduler().running().front()->scheduled_tokens));
    REQUIRE(find_violations(simulation.scheduler()) == std::vector<std::string>{});
  };
  simulation.scheduler().before_release = [&](const ActiveRequest& request) {
    keys.push_back(request.keys);
    all_chunks.push_back(joined(chunks, '+'));
    chunks.clear();
  };
  simulation.consume(prompts_of(small));
  simulation.finish();
  std::set<std::int64_t> positions;
  for (const auto& own : keys)
    for (std::int64_t unit = 0; unit < std::ssize(own); ++unit) {
      std::size_t held = 0;
      for (std::size_t group = 0; group < 2; ++group)
        held += CachePeek::pool(simulation.scheduler())
                    .find(CachePeek::states(simulation.scheduler()).group_keys()(own[unit], group)) != null_block_id;
      if (held == 2) positions.insert((unit + 1) * geometry.match_unit());
    }
  std::vector<std::string> states;
  for (const std::int64_t position : positions) states.push_back(std::to_string(position));
  std::string head = small.line.substr(0, small.line.size() - small.hits.size() - small.junctions.size() -
                                              small.chunks.size() - small.states.size() - 3);
  return head + joined({joined(hits, '|'), joined(junctions, '|'), joined(all_chunks, '|')}, ',') + ',' +
         joined(states, ' ');
}

}  // namespace

TEST_CASE("golden: 809 small cases of 0.33, hits, junctions, chunks and states left") {
  const std::vector<SmallCase> cases = small_cases();
  REQUIRE(cases.size() == 809);
  std::map<std::string, int> different;
  for (const SmallCase& small : cases)
    if (const std::string found = simulated(small); found != small.line && ++different[small.config] <= 3)
      CHECK(found == small.line);
  for (const auto& [config, count] : different) MESSAGE(config, ": ", count, " different");
  CHECK(different.empty());
}

TEST_CASE("law: losses by cause add up on the small cases of 0.33") {
  for (const SmallCase& small : small_cases()) {
    CAPTURE(small.line);
    const TraceBatch batch = prompts_of(small);
    check_sums(run_with_losses(geometry_of_case(small), {}, batch), batch);
  }
}
