// Every number that `plan` prints has a derivation in `explain`, and every derivation with a formula comes out.
#include "report/explain_report.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <set>

#include "planner/plan.h"
#include "report/human.h"
#include "report/plan_report.h"
#include "tests/planner/models.h"
#include "tests/planner/random_specs.h"
#include "tests/report/derivation_lookup.h"
#include "tests/report/formula.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

struct Case {
  std::string name;
  ModelSpec model;
  EngineSpec engine;
  LimitsSpec limits{.max_model_lens = {8192, 32'768}};
};

EngineSpec engine_of(CacheMode mode, std::int64_t pack, std::int64_t ranks = 1) {
  return {.tensor_parallel = ranks, .cache_mode = mode, .attention_pack_size = pack, .memory_bytes = 60 * gib};
}

ModelSpec with_windows(ModelSpec model, AttentionKind kind) {
  for (std::size_t i = 0; i < model.layers.size(); i += 3)
    if (model.layers[i].attention) {
      model.layers[i].attention->kind = kind;
      model.layers[i].attention->window_tokens = 1000;
    }
  return model;
}

/// Plans of one allocation: models with and without states, in all orders that they have.
void add_allocations(std::vector<Case>& all) {
  const auto add = [&](const std::string& name, const ModelSpec& model, CacheOrder order, CacheMode mode) -> Case& {
    all.push_back({fmt::format("vLLM 0.33, {}, {}, {}", name, to_string(order), to_string(mode)), model,
                   engine_of(mode, 1, 2)});
    all.back().engine.release = Release::vllm_0_33;
    all.back().engine.backend_profile = BackendProfile::sm90;
    all.back().engine.cache_order = order;
    return all.back();
  };
  const ModelSpec dense =
      hybrid_model("dense", 12, full_attention(8, 128, 32), GdnSpec{}, [](auto) { return true; });
  for (const CacheOrder order : all_cache_orders) {
    add("dense", dense, order, CacheMode::align);
    if (order == CacheOrder::lhbnc || order == CacheOrder::bhlnc) continue;
    for (const CacheMode mode : {CacheMode::none, CacheMode::align}) {
      add("gdn", qwen35_397b(), order, mode);
      add("both kinds", falcon_h1_3b(), order, mode);
    }
    add("windows", with_windows(qwen35_397b(), AttentionKind::sliding_window), order, CacheMode::align);
    add("chunks", with_windows(falcon_h1_3b(), AttentionKind::chunked_local), order, CacheMode::align);
    if (order == CacheOrder::blnhc || order == CacheOrder::blhnc) {
      Case& sparse = add("mla, indexer, ring", glm_flash(), order, CacheMode::align);
      sparse.model.ring_tokens = 4;
      sparse.model.ring_bytes_per_token = 512;
    }
    Case& drafted = add("a draft of other pages", qwen35_397b(), order, CacheMode::align);
    drafted.engine.speculative_tokens = 1;
    drafted.engine.draft = DraftSpec{1, full_attention(8, 128, 32)};
    Case& staged = add("the second of two stages, ranks that share tokens, a match unit", qwen35_27b(), order,
                       CacheMode::align);
    staged.engine.pipeline_parallel = 2;
    staged.engine.pipeline_rank = 1;
    staged.engine.decode_context_parallel = 2;
    staged.engine.prefix_match_unit_tokens = 64;
  }
  Case& split = add("kernel blocks", dense, CacheOrder::lbhnc, CacheMode::align);
  split.engine.backend_profile = BackendProfile::sm90_flashinfer;
  split.engine.block_size_tokens = 128;
}

/// Engines whose rules are read: pool groups in every mode, and rows by sequence.
void add_read(std::vector<Case>& all) {
  const auto add = [&](const char* name, const ModelSpec& model, Release release, CacheMode mode) -> EngineSpec& {
    all.push_back({name, model, engine_of(mode, 1)});
    EngineSpec& engine = all.back().engine;
    engine.release = release;
    engine.strategy = rules_of(release).strategy;
    return engine;
  };
  add("pool groups", qwen35_397b(), Release::tensorrt_llm, CacheMode::align).max_running_requests = 64;
  add("pool groups without prefixes", granite_h_small(), Release::tensorrt_llm, CacheMode::none).avg_seq_len = 1000;
  add("pool groups with an interval", qwen35_397b(), Release::tensorrt_llm, CacheMode::all).mamba_state_cache_interval =
      512;
  add("pool groups of latents", kimi_k3(), Release::tensorrt_llm, CacheMode::align).state_memory_ratio = 0.5;
  add("pool groups as set", qwen35_397b(), Release::tensorrt_llm, CacheMode::align).num_blocks = 5000;
  add("rows", qwen35_397b(), Release::llama_cpp, CacheMode::align).speculative_tokens = 2;
  add("rows without checkpoints", kimi_k3(), Release::llama_cpp, CacheMode::none).max_running_requests = 9;
}

void add_radix_pools(std::vector<Case>& all) {
  const auto add = [&](const char* name, const ModelSpec& model) -> EngineSpec& {
    all.push_back({name, model, engine_of(CacheMode::align, 1, 2)});
    all.back().engine.release = Release::sglang_0_5_23;
    all.back().engine.strategy = Strategy::dual_pool;
    return all.back().engine;
  };
  EngineSpec& elastic = add("radix pools, elastic, pages", qwen35_397b());
  elastic.unified_memory = true;
  elastic.page_size = 64;
  elastic.max_total_tokens = 300'000;
  EngineSpec& drafted = add("radix pools, drafts", qwen35_397b());
  drafted.speculative_tokens = 4;
  drafted.mtp_layers = 1;
  drafted.max_running_requests = 48;
  for (const ModelSpec& model : {qwen35_27b(), kimi_k3()}) {
    EngineSpec& replayed = add("radix pools, rings", model);
    replayed.speculative_tokens = 4;
    replayed.max_running_requests = 48;
    replayed.linear_replayssm_spec = true;
  }
  add("radix pools, no buffer", granite_h_small()).mamba_radix_cache_strategy = RadixStrategy::no_buffer;
  EngineSpec& sized = add("radix pools by size", lfm25());
  sized.max_mamba_cache_size = 300;
  sized.attention_data_parallel = 2;
  EngineSpec& plain = add("radix pools without a tree", falcon_h1_3b());
  plain.cache_mode = CacheMode::none;
  plain.max_running_requests = 12;
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (CacheMode mode : {CacheMode::none, CacheMode::align, CacheMode::all})
    for (std::int64_t pack : {1, 4, 5})
      all.push_back({fmt::format("gdn {} N {}", to_string(mode), pack), qwen35_397b(), engine_of(mode, pack, 2)});
  all.push_back({"both kinds", falcon_h1_3b(), engine_of(CacheMode::align, 3)});
  all.push_back({"mla, kda", kimi_k3(), engine_of(CacheMode::align, 2, 4)});
  all.push_back({"mla, indexer, ring", glm_flash(), engine_of(CacheMode::align, 1)});
  all.push_back({"auxiliary conv, indexer", qwen38_flash_next(), engine_of(CacheMode::align, 1, 2)});
  all.push_back({"short_conv", lfm25(), engine_of(CacheMode::align, 2)});
  all.push_back({"mamba1", hybrid_model("mamba1", 32, full_attention(8, 128, 32),
                                        Mamba1Spec{.inner_size = 8192, .state_size = 16, .conv_kernel = 4},
                                        [](std::int64_t i) { return i % 8 == 4; }),
                 engine_of(CacheMode::all, 3)});
  all.push_back({"linear", hybrid_model("linear", 16, full_attention(8, 128, 32),
                                        LinearAttentionSpec{.heads = 64, .head_dim = 128},
                                        [](std::int64_t i) { return i % 8 == 7; }),
                 engine_of(CacheMode::none, 2)});
  all.push_back(
      {"windows", with_windows(qwen35_397b(), AttentionKind::sliding_window), engine_of(CacheMode::align, 2)});
  all.push_back({"chunks", with_windows(falcon_h1_3b(), AttentionKind::chunked_local), engine_of(CacheMode::all, 2)});
  all.push_back({"states alone",
                 hybrid_model("states", 4, full_attention(1, 8), qwen_gdn(2, 2), [](auto) { return false; }),
                 engine_of(CacheMode::none, 1)});
  Case drafted{"MTP, a draft, hidden states", qwen35_27b(), engine_of(CacheMode::align, 3)};
  drafted.engine.speculative_tokens = 3;
  drafted.engine.mtp_layers = 1;
  drafted.engine.draft = DraftSpec{5, sliding_attention(2, 256, 2048)};
  drafted.engine.hidden_state_size = 5120;
  all.push_back(drafted);
  Case padded{"padded heads, a draft of full attention, groups as asked", qwen35_27b(),
              engine_of(CacheMode::align, 1, 3)};
  padded.engine.pad_heads = true;
  padded.engine.layers_per_group = 12;
  padded.engine.speculative_tokens = 3;
  padded.engine.draft = DraftSpec{2, full_attention(8, 128, 32)};
  all.push_back(padded);
  for (const Strategy strategy : all_strategies) {
    // Those of engines that were read have cases of their own.
    if (strategy == Strategy::packed_attention || keeps_tensors_apart(strategy)) continue;
    const std::int64_t pack = strategy == Strategy::two_level ? 1 : 2;
    all.push_back({std::string(to_string(strategy)), qwen35_397b(), engine_of(CacheMode::all, pack, 2)});
    all.back().engine.strategy = strategy;
    all.back().engine.mamba_block_size_tokens = 256;
  }
  add_read(all);
  add_radix_pools(all);
  add_allocations(all);
  Case split{"kernel blocks, head-major, two loads", granite_h_small(), engine_of(CacheMode::align, 2, 2)};
  split.engine.kernel_block_sizes = {16, 32};
  split.engine.physical_order = PhysicalOrder::head_major;
  split.engine.token_rule = TokenRule::floor;
  split.limits.load_tokens = {1000, 17, 1000};
  all.push_back(split);
  Case counted{"blocks as set, a format with scales", granite_h_small(), engine_of(CacheMode::align, 1)};
  counted.engine.num_blocks = 5000;
  counted.engine.kv_format = KvFormat::int8_per_token_head;
  all.push_back(counted);
  return all;
}

PlanSet plan_of(const Case& one) {
  const std::int64_t packs[] = {one.engine.attention_pack_size};
  return make_plans(one.model, one.engine, one.limits, packs, WorkspaceSpec{8192, 10000, 128, 64, DType::bf16});
}

/// The numbers of a text; digits inside of a word ("bf16", "int32", "Qwen3.5") are part of a name.
std::vector<std::string> numbers_of(const std::string& text) {
  std::vector<std::string> numbers;
  const auto digit = [&](std::size_t i) {
    return i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])) != 0;
  };
  const auto letter = [&](std::size_t i) {
    return i < text.size() && (std::isalpha(static_cast<unsigned char>(text[i])) != 0 || text[i] == '_');
  };
  for (std::size_t i = 0; i < text.size();) {
    if (letter(i)) {
      while (letter(i) || digit(i) ||
             (i < text.size() && (text[i] == '.' || text[i] == '-') && (digit(i + 1) || letter(i + 1))))
        ++i;
    } else if (digit(i)) {
      std::size_t end = i;
      while (digit(end) || (end < text.size() && (text[end] == ',' || text[end] == '.') && digit(end + 1))) ++end;
      numbers.push_back(text.substr(i, end - i));
      i = end;
    } else {
      ++i;
    }
  }
  return numbers;
}

/// Every way in which a derived number may be written.
std::set<std::string> written_numbers(const CachePlan& plan) {
  std::set<std::string> numbers{"0", "1", "2"};  // of sentences: "floor((n - 1) / 528)", "2 of 4"
  for (const std::string& number : numbers_of(std::string(rules_of(plan.release).title))) numbers.insert(number);
  const auto add_text = [&](const std::string& text) { numbers.insert(text.substr(0, text.find(' '))); };
  const auto add = [&](const Term& term) {
    if (const auto* count = std::get_if<std::int64_t>(&term.value)) {
      numbers.insert(human_count(*count));
      numbers.insert(std::to_string(*count));
      if (term.unit == "bytes") {
        add_text(human_bytes(*count));
        add_text(human_bytes(*count, Decimals::fixed));
      }
    } else if (const auto* real = std::get_if<double>(&term.value)) {
      numbers.insert(human_real(*real));
      numbers.insert(human_real(*real, 4));
    }
  };
  std::int64_t most_layers = 1;  // of a page
  for (const SpecPlan& spec : plan.specs) most_layers = std::max(most_layers, spec.layers_per_page);
  for (const Decision& decision : plan.derivation) {
    add(decision.result);
    if (decision.result.symbol.starts_with("offset between layers"))  // layer i of a pack begins i times as far
      for (std::int64_t i = 2; i < most_layers; ++i)
        numbers.insert(human_count(i * std::get<std::int64_t>(decision.result.value)));
    for (const Term& input : decision.inputs) add(input);
  }
  // A tensor of lane j begins j lanes behind that of the first.
  for (const Decision& lane : plan.derivation)
    for (const Decision& offset : plan.derivation)
      if (lane.result.symbol.starts_with("bytes of a lane") && offset.result.symbol.starts_with("offset of "))
        for (std::int64_t j = 0; j < std::ssize(plan.lanes); ++j)
          for (const std::int64_t element : {1, 2, 4})
            numbers.insert(human_count(j * std::get<std::int64_t>(lane.result.value) / element +
                                       std::get<std::int64_t>(offset.result.value)));
  // In one pool lanes of one size begin behind those of another.
  for (const Decision& before : plan.derivation)
    for (const Decision& lane : plan.derivation)
      for (const Decision& offset : plan.derivation) {
        if (plan.pools.size() > 1 || !before.result.symbol.starts_with("bytes of a lane") ||
            !lane.result.symbol.starts_with("bytes of a lane") || !offset.result.symbol.starts_with("offset "))
          continue;
        for (std::int64_t j = 0; j < std::ssize(plan.lanes); ++j)
          for (const std::int64_t element : {1, 2, 4}) {
            const std::int64_t begin = std::get<std::int64_t>(before.result.value) +
                                       j * std::get<std::int64_t>(lane.result.value);
            numbers.insert(human_count(begin / element));
            numbers.insert(human_count(begin / element + std::get<std::int64_t>(offset.result.value)));
          }
      }
  // Pages of an id that lie side by side begin so many pages behind the first, a tensor of a state inside of them.
  for (const Decision& page : plan.derivation) {
    const bool side_by_side = plan.pool_groups || is_one_allocation(plan.strategy);
    if (!side_by_side || !page.result.symbol.starts_with("page of ")) continue;
    std::vector<std::int64_t> begins{0};
    for (const Decision& inside : plan.derivation)
      if (inside.result.symbol.starts_with("byte offset"))
        begins.push_back(std::get<std::int64_t>(inside.result.value));
    for (const std::int64_t begin : begins)
      for (std::int64_t j = 0; j < std::ssize(plan.views); ++j)
        for (const std::int64_t element : {1, 2, 4})
          numbers.insert(human_count((j * std::get<std::int64_t>(page.result.value) + begin) / element));
  }
  // A layer of one allocation begins so many layer strides behind the first, a tensor of a state inside of it.
  for (const Decision& step : plan.derivation) {
    if (!step.result.symbol.starts_with("layer stride")) continue;
    for (const Decision& inside : plan.derivation) {
      const std::string& symbol = inside.result.symbol;
      if (!symbol.starts_with("offset of group") && !symbol.starts_with("byte offset")) continue;
      for (std::int64_t j = 0; j < std::ssize(plan.views); ++j)
        for (const std::int64_t element : {1, 2, 4})
          numbers.insert(human_count((j * std::get<std::int64_t>(step.result.value) +
                                      std::get<std::int64_t>(inside.result.value)) / element));
    }
  }
  // Names of layers, groups and pools, and how many a shortened list of layers has.
  for (const SpecPlan& spec : plan.specs)
    for (std::int64_t layer : spec.layers) numbers.insert(std::to_string(layer));
  for (std::size_t i = 0; i < std::max(plan.groups.size(), plan.pools.size()); ++i) numbers.insert(std::to_string(i));
  return numbers;
}

}  // namespace

TEST_CASE("law: every number of a plan's JSON is derived under its own name") {
  for (const Case& one : cases()) {
    CAPTURE(one.name);
    for (const std::string& number : underived(plan_of(one))) FAIL_CHECK(number);
  }
}

TEST_CASE("law: every number of the printed plan is one that explain derives") {
  for (const Case& one : cases()) {
    CAPTURE(one.name);
    const PlanSet set = plan_of(one);
    const std::set<std::string> derived = written_numbers(set.plans.front());
    for (const std::string& number : numbers_of(render_plan(set, findings_of(set), Format::table)))
      if (!derived.contains(number)) FAIL_CHECK(number);
  }
}

TEST_CASE("fault: a number without its derivation is found, wherever it stands") {
  const Case one = cases()[1];
  const PlanSet set = plan_of(one);
  REQUIRE(underived(set).empty());
  for (std::size_t i = 0; i < set.plans.front().derivation.size(); ++i) {
    PlanSet without = set;
    Derivation& derivation = without.plans.front().derivation;
    const std::string symbol = derivation[i].result.symbol;
    std::erase_if(derivation, [&](const Decision& decision) { return decision.result.symbol == symbol; });
    // What the JSON of a plan does not hold: steps on the way, and what the printed tables add.
    static const std::set<std::string> steps{
        "TP", "memory", "A", "B", "b", "C", "g", "over ideal"};
    const bool of_tables = symbol.starts_with("share of ") || symbol.ends_with(" of one block of each group") ||
                           symbol.starts_with("block ids of a group") ||
                           symbol == "block ids of a request of one token" || symbol == "running requests at the load";
    CAPTURE(symbol);
    CHECK(underived(without).empty() == (steps.contains(symbol) || of_tables));
  }
}

TEST_CASE("law: the values of a rule come to its result") {
  int formulas = 0;
  const auto check = [&](const CachePlan& plan) -> std::string {
    for (const Decision& decision : plan.derivation) {
      const auto values = substituted_rule(decision);
      if (!values) continue;
      const double result = std::holds_alternative<double>(decision.result.value)
                                ? std::get<double>(decision.result.value)
                                : static_cast<double>(std::get<std::int64_t>(decision.result.value));
      const double value = value_of_formula(*values);
      if (!(std::abs(value - result) <= 1e-9 * std::max(1.0, std::abs(result))))
        return fmt::format("{}: {} = {}", decision.result.symbol, *values, value);
      ++formulas;
    }
    return "";
  };
  for (const Case& one : cases()) {
    CAPTURE(one.name);
    CHECK(check(plan_of(one).plans.front()) == "");
  }
  CHECK(check_plans("formulas", 300, SpecSize::real, [&](const RandomSpecs&, const CachePlan& plan) {
    RC_ASSERT(check(plan) == "");
  }, Strategies::all));
  CHECK(formulas > 10'000);
}

TEST_CASE("law: random plans are derived whole") {
  CHECK(check_plans("derivations", 300, SpecSize::real, [](const RandomSpecs& specs, const CachePlan& plan) {
    const PlanSet set{"random", specs.engine.tensor_parallel, "packed_attention", {plan}};
    PlanSet with_bias = set;
    with_bias.plans.front().workspace.reset();
    const std::vector<std::string> missing = underived(with_bias);
    RC_ASSERT(missing == std::vector<std::string>{});
  }, Strategies::all));
}
