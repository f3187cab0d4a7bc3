// The commands that recommend prints: read back, they are the question of the candidate, key by key.
#include "ask/recommend_commands.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "base/random.h"
#include "planner/plan.h"
#include "tests/ask/asked.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// Draws of one case.
class Draw {
 public:
  explicit Draw(std::uint64_t key) : key_(mix(0x29, key)) {}
  template <class Value>
  Value of(std::initializer_list<Value> values) {
    return values.begin()[mix(key_, ++count_) % values.size()];
  }

 private:
  std::uint64_t key_;
  std::uint64_t count_ = 0;
};

/// What a printed command says of the file: the file with its words laid over it. No word of these needs a quote.
Scenario read_back(ScenarioFile file, const std::string& command) {
  std::istringstream words(command);
  std::string word, value;
  words >> word >> word >> word;
  REQUIRE(word == "small.yaml");
  while (words >> word) {
    words >> value;
    REQUIRE(!words.fail());
    std::string key(key_of_flag(key_flags, word));
    if (key.empty()) key = key_of_flag(replay_flags, word);
    if (word == "--match-unit") key = "simulate.match_unit_tokens";
    if (word == "--retention") key = "simulate.retention_interval_tokens";
    if (word == "--set") apply_override(file, value);
    else apply_override(file, key, value.find(',') == std::string::npos ? value : "[" + value + "]", word);
  }
  return read_scenario(file);
}

void check_commands(const ScenarioFile& file, const Scenario& chosen, const std::vector<std::string>& commands) {
  const Scenario planned = read_back(file, commands.front());
  CHECK(planned.engine == chosen.engine);
  CHECK(planned.pack_sizes == chosen.pack_sizes);
  if (commands.size() == 1) {
    CHECK(chosen.engine.rules->tree_pools);
    CHECK(chosen.engine.cache_mode == CacheMode::none);
    return;
  }
  const Scenario replayed = read_back(file, commands.back());
  CHECK(replayed.engine == chosen.engine);
  CHECK(replayed.simulate == chosen.simulate);
}

int law_cases() {
  const char* const more = std::getenv("HYBRIDKV_LAW_CASES");
  return more ? std::atoi(more) : 24;
}

}  // namespace

TEST_CASE("law: every command that recommend prints is the question of its candidate, whatever the scenario says") {
  for (int i = 0; i < law_cases(); ++i) {
    CAPTURE(i);
    Draw draw(static_cast<std::uint64_t>(i));
    const std::string release = draw.of({"vllm-2026-06", "vllm-0.33", "sglang-0.5.23"});
    const bool tree_pools = release == "sglang-0.5.23";
    std::string engine = "  release: " + release + "\n", simulate = "simulate: {trace: {max_requests: 9}";
    if (!tree_pools) {
      engine += draw.of({"", "  block_size_tokens: 128\n", "  kernel_block_sizes: [16, 32]\n"});
      simulate += draw.of({"", ", retention_interval_tokens: 46080", ", retention_interval_tokens: 0",
                           ", keep_all_checkpoints: true"});
      simulate += draw.of({"", ", host_memory: 1 GiB", ", host_memory: 1 GiB, host_state_share: 0.5"});
    } else {
      engine += draw.of({"", "  page_size: 64\n  mamba_radix_cache_strategy: extra_buffer\n",
                         "  mamba_radix_cache_strategy: extra_buffer\n  mamba_track_interval: 128\n",
                         "  state_memory_ratio: 0.4\n", "  max_mamba_cache_size: 40\n"});
    }
    const ScenarioFile file = small_file(engine, simulate + "}\n");
    const Scenario scenario = read_scenario(file);
    CAPTURE(engine);
    CAPTURE(simulate);
    const CommandWords asked{.scenario = "small.yaml", .overrides = {}, .values = {}, .replay = {}};
    const CacheMode mode = draw.of({CacheMode::align, CacheMode::none});
    RecommendQuestion question;
    question.space.modes = {mode};
    if (!tree_pools) {
      question.space.packs = {1, 2};
      question.space.block_floors = {draw.of({std::optional<std::int64_t>(), std::optional<std::int64_t>(256)})};
    }
    const RecommendAnswer answer = recommend_scenario(scenario, question);
    for (std::size_t candidate = 0; candidate < answer.result.candidates.size(); ++candidate) {
      const Scenario chosen = scenario_of(scenario, answer, candidate);
      check_commands(file, chosen, candidate_commands(asked, scenario, answer, candidate));
      const CachePlan plan = make_plan(chosen.model, chosen.engine, chosen.limits);
      const CachePlan& searched = answer.result.layout_of(candidate).plan;
      if (tree_pools) CHECK(plan.tree_pools == searched.tree_pools);
      else CHECK(plan.num_blocks() == searched.num_blocks());
    }
  }
}

TEST_CASE("law: no command line for an engine says what no release has; the branch that has it is named") {
  RecommendQuestion question;
  question.space.packs = {2};
  const Scenario scenario = small_scenario("", "simulate: {trace: {max_requests: 9}}\n");
  const RecommendAnswer answer = recommend_scenario(scenario, question);
  CHECK(answer.pick.serve.command.empty());
  CHECK(answer.pick.serve.beside.front().find("PR 35703") != std::string::npos);
  for (const EngineSetting& setting : answer.pick.settings) CHECK(setting.flag.find("pack") == std::string::npos);
}

TEST_CASE("law: a command that plans says every length that is compared, one that replays the longest of requests") {
  using Lengths = std::vector<std::int64_t>;
  const auto lengths_of = [](const std::string& max_model_len, std::optional<std::int64_t> at_length) {
    ScenarioFile file = small_file("", "simulate: {trace: {max_requests: 9}}\n");
    apply_override(file, "limits.max_model_len=" + max_model_len);
    const Scenario scenario = read_scenario(file);
    RecommendQuestion question{.at_length = at_length};
    question.space.packs = {1};
    question.space.modes = {CacheMode::align};
    question.space.block_floors = {std::nullopt};
    const RecommendAnswer answer = recommend_scenario(scenario, question);
    const CommandWords asked{.scenario = "small.yaml", .overrides = {}, .values = {}, .replay = {}};
    std::vector<Lengths> said;
    for (const std::string& command : candidate_commands(asked, scenario, answer, answer.result.pick))
      said.push_back(read_back(file, command).limits.max_model_lens);
    return said;
  };
  CHECK(lengths_of("4096", {}) == std::vector<Lengths>{{4096}, {4096}});
  CHECK(lengths_of("4096", 1024) == std::vector<Lengths>{{4096, 1024}, {4096}});
  CHECK(lengths_of("[1024, 4096]", {}) == std::vector<Lengths>{{1024, 4096}, {4096}});
}
