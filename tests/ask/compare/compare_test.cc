#include "ask/compare/compare.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "ask/compare/compare_rows.h"
#include "base/error.h"
#include "planner/plan.h"
#include "tests/ask/asked.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

ScenarioFile file_of(const std::string& model, const std::string& engine, const std::string& lengths = "32768") {
  return parse_scenario(fmt::format("model: {}\nengine:\n  memory: 40 GiB\n{}limits:\n  max_model_len: {}\n", model,
                                    by_june(engine), lengths),
                        "asked.yaml");
}

ScenarioFile with_memory(const std::string& memory) {
  ScenarioFile file = file_of("Qwen3.5-4B", "");
  apply_override(file, "engine.memory=" + memory);
  return file;
}

/// Qwen3.5-397B-A17B on two ranks, mode align.
ScenarioFile qwen_file(const std::string& engine, const std::string& lengths = "32768") {
  return file_of("Qwen3.5-397B-A17B", "  tensor_parallel: 2\n  cache_mode: align\n  ssm_dtype: fp32\n" + engine,
                 lengths);
}

CompareAnswer compared(const std::vector<ScenarioFile>& files) { return compare(compare_settings(files)); }

const ComparedRow& compared_row(const CompareAnswer& comparison, const std::string& name) {
  const auto found = std::find_if(comparison.rows.begin(), comparison.rows.end(),
                                  [&](const ComparedRow& row) { return row.name == name; });
  REQUIRE(found != comparison.rows.end());
  return *found;
}

template <class... Values>
void check_row(const CompareAnswer& comparison, const std::string& name, Values... values) {
  CAPTURE(name);
  const ComparedRow& row = compared_row(comparison, name);
  CHECK(row.values == std::vector<ComparedValue>{ComparedValue(values)...});
}

std::string error_of(const std::vector<ScenarioFile>& files) {
  try {
    compared(files);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::vector<std::string> names_of_settings(const std::vector<ScenarioFile>& files) {
  std::vector<std::string> names;
  for (const CompareSetting& setting : compare_settings(files)) names.push_back(setting.name);
  return names;
}

/// Comparisons of many kinds: releases, ranks, modes, packs, models, strategies, drafts.
std::vector<std::vector<ScenarioFile>> questions() {
  const std::string releases = "  release: [vllm-2026-06, vllm-0.33]\n";
  return {
      {qwen_file(releases)},
      {qwen_file("  attention_pack_size: [1, 3, 5, 15]\n")},
      {qwen_file("  strategy: [packed_attention, dual_pool, small_pages]\n")},
      {file_of("Qwen3.5-4B", "  cache_mode: [none, align, all]\n  tensor_parallel: [1, 2]\n")},
      {file_of("[Qwen3.5-4B, Nemotron-3-Nano-30B-A3B, Kimi-K3, LFM2.5-1.2B]", "  cache_mode: align\n")},
      {file_of("Qwen3.5-4B", "  cache_mode: align\n  release: vllm-0.33\n"
                             "  backend_profile: [sm80, sm90, sm100-flashinfer, cpu]\n")},
      {file_of("Qwen3.5-27B", "  cache_mode: align\n  speculative_tokens: [0, 1, 3]\n" + releases, "[8192, 32768]")},
      {file_of("LFM2.5-1.2B", releases)},
      {file_of("Qwen3.5-4B", "  cache_mode: align\n  release: [vllm-2026-06, jenga]\n", "[8192, 32768]")},
      {qwen_file("  attention_pack_size: [4, 5]\n")},
      {file_of("Qwen3.5-4B", "  kv_dtype: [bf16, fp8]\n  ssm_dtype: [bf16, fp32]\n")},
      {file_of("Qwen3.5-4B", ""), with_memory("30 GiB")},
      {file_of("gpt-oss-20b", releases), file_of("Zamba2-7B", releases)},
  };
}

}  // namespace

TEST_CASE("golden: Qwen3.5-397B by the rules of June 2026 and of vLLM 0.33") {
  const CompareAnswer comparison = compared({qwen_file("  release: [vllm-2026-06, vllm-0.33]\n")});
  REQUIRE(comparison.settings.size() == 2);
  CHECK(comparison.settings[0].name == "vllm-2026-06");
  CHECK(comparison.settings[1].name == "vllm-0.33");
  CHECK(comparison.settings[1].overrides ==
        std::vector<std::pair<std::string, std::string>>{{"engine.release", "vllm-0.33"}});
  using I = std::int64_t;
  check_row(comparison, "block_size_tokens", I{2096}, I{2112});
  check_row(comparison, "page_bytes", I{2'146'304}, I{2'162'688});
  check_row(comparison, "bytes_per_block", I{32'194'560}, I{32'440'320});
  check_row(comparison, "num_blocks", I{1334}, I{1323});
  check_row(comparison, "groups", I{4}, I{4});
  check_row(comparison, "blocks_per_request", I{22}, I{25});
  check_row(comparison, "ids_for_tokens", I{16}, I{16});
  check_row(comparison, "ids_for_states", I{6}, I{6});
  check_row(comparison, "ids_for_checkpoints", I{0}, I{3});
  check_row(comparison, "max_concurrency", 1334.0 / 22, 1323.0 / 25);
  check_row(comparison, "kv_cache_tokens", I{1'986'932}, I{1'734'082});
  CHECK_FALSE(compared_row(comparison, "groups").differs);
  CHECK(compared_row(comparison, "groups").rules.empty());

  // The block: 16 tokens against 64, and where the 64 come from.
  const ComparedRow& block = compared_row(comparison, "block_size_tokens");
  REQUIRE(block.rules.size() >= 2);
  CHECK(block.rules[0].symbol == "B");
  CHECK(block.rules[0].rules[0] == "B = A * ceil(M / (A * N * a1))");
  CHECK(block.rules[0].inputs == std::vector<ComparedInput>{{"A", "tokens", {I{16}, I{64}}}});
  CHECK(block.rules[1].symbol == "A");
  CHECK(block.rules[1].inputs == std::vector<ComparedInput>{{"k", "tokens", {std::monostate(), I{64}}}});
  CHECK(block.rules[1].rules[0] != block.rules[1].rules[1]);
  // The ids: a state more in each group of states.
  const ComparedRow& ids = compared_row(comparison, "blocks_per_request");
  REQUIRE(ids.rules.size() >= 2);
  CHECK(ids.rules[0].inputs == std::vector<ComparedInput>{{"ids 0", "blocks", {I{2}, I{3}}}});
  CHECK(has(ids.rules[1].rules[0], "ids = 2 + s:"));
  CHECK(has(ids.rules[1].rules[1], "ids = 2 + s + c:"));
}

TEST_CASE("law: what differs has a rule that differs, whose values are the row's") {
  for (const std::vector<ScenarioFile>& files : questions()) {
    const CompareAnswer comparison = compared(files);
    CAPTURE(comparison.settings.front().name);
    std::vector<bool> refused;
    for (const ComparedSetting& setting : comparison.settings) refused.push_back(!setting.refused.empty());
    CHECK(comparison.num_refused() == 0);
    for (const ComparedRow& row : comparison.rows) {
      CAPTURE(row.name);
      CHECK(row.differs == values_differ(row.values, refused));
      if (!row.differs) {
        CHECK(row.rules.empty());
        continue;
      }
      REQUIRE_FALSE(row.rules.empty());
      for (std::size_t i = 0; i < row.values.size(); ++i)
        if (!row.rules.front().rules[i].empty()) CHECK(row.rules.front().values[i] == row.values[i]);
      for (const ComparedRule& rule : row.rules) {
        CAPTURE(rule.symbol);
        REQUIRE(rule.values.size() == comparison.settings.size());
        for (std::size_t i = 0; i < rule.rules.size(); ++i) CHECK(rule.rules[i].empty() == rule.sources[i].empty());
        std::vector<bool> absent;
        std::vector<ComparedValue> texts;
        for (const std::string& text : rule.rules) {
          absent.push_back(text.empty());
          texts.emplace_back(text);
        }
        for (const ComparedInput& input : rule.inputs) CHECK(values_differ(input.values, absent));
        const bool is_setting = rule.inputs.empty() && has(rule.rules[0] + rule.rules[1], "as ");
        // The longest request is found by trying: its rule names ids, not the blocks behind them.
        const bool is_search = rule.symbol == "longest request";
        const bool is_partial = std::find(absent.begin(), absent.end(), true) != absent.end();
        const bool explained =
            !rule.inputs.empty() || values_differ(texts, absent) || is_setting || is_search || is_partial;
        if (&rule == &row.rules.front()) CHECK(explained);
      }
    }
  }
}

TEST_CASE("law: every number that has a rule names a decision of its own setting and length") {
  for (const std::vector<ScenarioFile>& files : questions()) {
    const CompareAnswer comparison = compared(files);
    CAPTURE(comparison.settings.front().name);
    for (std::size_t k = 0; k < comparison.rows.size(); ++k) {
      const ComparedRow& row = comparison.rows[k];
      CAPTURE(row.name);
      REQUIRE(row.symbols.size() == row.values.size());
      for (std::size_t i = 0; i < row.values.size(); ++i) {
        CHECK_FALSE(has(row.symbols[i], " at 8,192 tokens"));
        // No ids for a cause are nothing to derive.
        const bool is_none = row.unit == "ids" && row.values[i] == ComparedValue(std::int64_t{0});
        if (row.values[i] != ComparedValue() && !is_none && compare_rows()[k].symbol && row.name != "physical_order")
          CHECK_FALSE(row.symbols[i].empty());
      }
    }
  }
}

TEST_CASE("law: equal settings differ in nothing") {
  const CompareAnswer comparison = compared({qwen_file(""), qwen_file("")});
  CHECK(comparison.settings[0].name == "asked");
  CHECK(comparison.settings[1].name == "asked (2)");
  CHECK(comparison.rows.size() == compare_rows().size());
  for (const ComparedRow& row : comparison.rows) {
    CAPTURE(row.name);
    CHECK_FALSE(row.differs);
    CHECK(row.rules.empty());
    CHECK(row.values[0] == row.values[1]);
  }
}

TEST_CASE("law: a setting has the numbers of its plan alone") {
  const CompareAnswer comparison = compared({qwen_file("  attention_pack_size: [1, 3, 5]\n", "[4096, 32768]")});
  for (std::size_t i = 0; i < 3; ++i) {
    const Scenario scenario = compare_settings({qwen_file("  attention_pack_size: [1, 3, 5]\n")})[i].scenario;
    const CachePlan plan = make_plan(scenario.model, scenario.engine, scenario.limits);
    CHECK(compared_row(comparison, "attention_pack_size").values[i] == ComparedValue(plan.attention_pack_size));
    CHECK(compared_row(comparison, "max_model_len").values[i] == ComparedValue(std::int64_t{32'768}));
    CHECK(compared_row(comparison, "kv_cache_tokens").values[i] == ComparedValue(plan.capacity[0].kv_cache_tokens));
    CHECK(compared_row(comparison, "max_running_requests").values[i] == ComparedValue(plan.max_running_requests));
    CHECK(compared_row(comparison, "wasted_bytes_at_load").values[i] ==
          ComparedValue(plan.waste.at_load.wasted_bytes()));
  }
  // Of several lengths the rules are those of the longest.
  const ComparedRow& ids = compared_row(comparison, "blocks_per_request");
  CHECK(ids.rules.front().values == ids.values);
}

TEST_CASE("edge: a setting that is refused is a column that says so, and counts for no difference") {
  const CompareAnswer comparison =
      compared({file_of("Qwen3.5-397B-A17B", "  cache_mode: all\n  release: [vllm-2026-06, vllm-0.33]\n")});
  CHECK(comparison.num_refused() == 1);
  CHECK(comparison.settings[0].refused.empty());
  CHECK(has(comparison.settings[1].refused, "has no mode all; take align or none"));
  CHECK_FALSE(has(comparison.settings[1].refused, "\n"));
  for (const ComparedRow& row : comparison.rows) {
    CHECK_FALSE(row.differs);
    CHECK(row.values[1] == ComparedValue());
  }
}

TEST_CASE("fault: where all are refused the reason is an error, said once") {
  const std::string same = error_of({with_memory("1 MiB"), with_memory("1 MiB")});
  CHECK(has(same, "are too little"));
  CHECK_FALSE(has(same, "every setting is refused"));
  const std::string two = error_of({with_memory("[1 MiB, 2 MiB]")});
  CHECK(has(two, "every setting is refused:\n  memory=1 MiB: "));
  CHECK(has(two, "\n  memory=2 MiB: "));
}

TEST_CASE("edge: two to eight settings") {
  CHECK(has(error_of({qwen_file("")}), "nothing to compare: that is one setting"));
  CHECK(compare_settings({qwen_file("  attention_pack_size: 1..8\n")}).size() == 8);
  const std::string nine = error_of({qwen_file("  attention_pack_size: 1..9\n")});
  CHECK(has(nine, "these are 9 settings: engine.attention_pack_size has 9 values; a comparison takes 2 to 8"));
  CHECK(has(error_of({qwen_file("  attention_pack_size: 1..5\n"), qwen_file("  attention_pack_size: 1..4\n")}),
            "these are 9 settings"));
}

TEST_CASE("edge: settings are called by what varies, unlike each other") {
  using Names = std::vector<std::string>;
  CHECK(names_of_settings({qwen_file("  release: [vllm-2026-06, vllm-0.33]\n")}) == Names{"vllm-2026-06", "vllm-0.33"});
  CHECK(names_of_settings({qwen_file("  attention_pack_size: [1, 5]\n")}) == Names{"N=1", "N=5"});
  CHECK(names_of_settings({file_of("[Qwen3.5-4B, Qwen3.5-9B]", "  tensor_parallel: [1, 2]\n")}) ==
        Names{"Qwen3.5-4B, tensor_parallel=1", "Qwen3.5-4B, tensor_parallel=2", "Qwen3.5-9B, tensor_parallel=1",
              "Qwen3.5-9B, tensor_parallel=2"});
  CHECK(names_of_settings({qwen_file("  block_size_tokens: [null, 256]\n")}) ==
        Names{"block_size_tokens=default", "block_size_tokens=256"});
  CHECK(names_of_settings({qwen_file("  attention_pack_size: [1, 5]\n"), qwen_file("")}) ==
        Names{"asked: N=1", "asked: N=5", "asked"});
  CHECK(compare_settings({qwen_file("", "[8192, 32768]"), qwen_file("")}).size() == 2);
  CHECK(compare_settings({qwen_file("", "[8192, 32768]")}, {"limits.max_model_len"}).size() == 2);
}

TEST_CASE("fault: a key or a word that does not exist is an error of the question, not a refusal") {
  CHECK(has(error_of({qwen_file("  relase: [vllm-2026-06, vllm-0.33]\n")}), "did you mean 'release'?"));
  CHECK(has(error_of({qwen_file("  release: [vllm-2026-06, vllm-0.34]\n")}), "'vllm-0.33'"));
  CHECK(has(error_of({qwen_file("  block_size_tokens: [16, two]\n")}), "asked.yaml:"));
}

TEST_CASE("edge: what an engine refuses at its start is said of a plan that passes") {
  const ScenarioFile file = qwen_file("  release: vllm-0.33\n  backend_profile: sm90-flashinfer\n");
  ScenarioFile other = file;
  apply_override(other, "engine.physical_order=BLHNC");
  const CompareAnswer comparison = compared({file, other});
  CHECK(comparison.settings[0].start_errors.empty() != comparison.settings[1].start_errors.empty());
  CHECK(comparison.num_refused() == 0);
}

TEST_CASE("law: rules are followed to what they come from, by symbol and value, and no further than a row") {
  const auto derivation = [](std::int64_t k, std::int64_t other) {
    const std::int64_t grain = 16 * k;
    return Derivation{
        {{"k (gdn)", k, "tokens"}, "as set", {}, "engine.k"},
        {{"A", other, "tokens"}, "another A, of another value", {}, "nowhere"},
        {{"A", grain, "tokens"}, "A = 16 * k", {{"k", k, "tokens"}}, "here"},
        {{"B", grain, "tokens"}, "B = A * 1", {{"A", grain, "tokens"}, {"N", std::int64_t{1}, ""}}, "here"},
        {{"block of spec 0", grain, "tokens"}, "block = B", {{"B", grain, "tokens"}}, "here"},
        {{"length", std::int64_t{10}, "tokens"}, "as asked for", {}, ""},
        {{"max", 10 * grain, ""}, "max = L * block", {{"L", std::int64_t{10}, ""}, {"B", grain, "tokens"}}, "here"},
        {{"length", std::int64_t{20}, "tokens"}, "as asked for", {}, ""},
        {{"max", 20 * grain, ""}, "max = L * block", {{"L", std::int64_t{20}, ""}, {"B", grain, "tokens"}}, "here"}};
  };
  const Derivation a = derivation(1, 7), b = derivation(4, 7);
  const RowRules rules({{&a, 20}, {&b, 20}}, {{{"block of spec 0", "block of spec 0"}}, {{"max", "max"}}});
  const auto symbols = [](const std::vector<ComparedRule>& found) {
    std::vector<std::string> names;
    for (const ComparedRule& rule : found) names.push_back(rule.symbol);
    return names;
  };
  const std::vector<ComparedRule> block = rules.of_row(0);
  CHECK(symbols(block) == std::vector<std::string>{"B", "A", "k (gdn)"});
  const std::vector<ComparedRule> most = rules.of_row(1);
  REQUIRE(symbols(most) == std::vector<std::string>{"max"});
  CHECK(most[0].values == std::vector<ComparedValue>{std::int64_t{320}, std::int64_t{1280}});
  CHECK(most[0].inputs == std::vector<ComparedInput>{{"B", "tokens", {std::int64_t{16}, std::int64_t{64}}}});
  // Where the row of a block is but a part of it, the rule behind it is shown.
  const RowRules part({{&a, 20}, {&b, 20}}, {{{"block of spec 0", "block of spec 0"}, true}, {{"max", "max"}}});
  CHECK(symbols(part.of_row(1)) == std::vector<std::string>{"max", "B", "A", "k (gdn)"});
  const RowRules same({{&a, 20}, {&a, 20}}, {{{"max", "max"}}});
  CHECK(same.of_row(0).empty());
}

TEST_CASE("law: a rule that two others come from stands once, and no more than eight are followed") {
  const auto symbols = [](const Derivation& a, const Derivation& b, const std::string& root) {
    const RowRules rules({{&a, 1}, {&b, 1}}, {{{root, root}}});
    std::vector<std::string> names;
    for (const ComparedRule& rule : rules.of_row(0)) names.push_back(rule.symbol);
    return names;
  };
  const auto meeting = [](std::int64_t k) {
    return Derivation{{{"k", k, ""}, "as set", {}, "engine.k"},
                      {{"B", 2 * k, ""}, "B = 2 * k", {{"k", k, ""}}, "here"},
                      {{"C", 3 * k, ""}, "C = 3 * k", {{"k", k, ""}}, "here"},
                      {{"sum", 5 * k, ""}, "sum = B + C", {{"B", 2 * k, ""}, {"C", 3 * k, ""}}, "here"}};
  };
  CHECK(symbols(meeting(1), meeting(7), "sum") == std::vector<std::string>{"sum", "B", "k", "C"});
  const auto row_of_twelve = [](std::int64_t first) {
    Derivation row{{{"x0", first, ""}, "as set", {}, "engine.x"}};
    for (std::int64_t i = 1; i < 12; ++i)
      row.push_back({{"x" + std::to_string(i), first + i, ""}, "one more", {{row.back().result}}, "here"});
    return row;
  };
  const std::vector<std::string> followed = symbols(row_of_twelve(0), row_of_twelve(100), "x11");
  CHECK(followed == std::vector<std::string>{"x11", "x10", "x9", "x8", "x7", "x6", "x5", "x4"});
}
