// What `plan` shows people: nothing wider than 100 columns, nothing said twice, nothing left out.
#include "report/plan/plan_report.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "engines/vllm/rules.h"
#include "report/json_text.h"
#include "report/plan/explain_report.h"
#include "report/plan/plan_sections.h"
#include "report/plan/warning_summary.h"
#include "report/text.h"
#include "tests/planner/models.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

PlanSet reported_plans(std::vector<std::int64_t> packs, std::vector<std::int64_t> lengths = {32'768},
                   CacheMode mode = CacheMode::align) {
  const EngineSpec engine{.tensor_parallel = 2, .cache_mode = mode, .memory_bytes = 40 * gib};
  return make_plans(qwen35_397b(), engine, {.max_model_lens = std::move(lengths)}, packs);
}

std::string planned(const PlanSet& set, Format format) { return render_plan(set, plan_answer(set), format); }

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, display_width(line));
  return widest;
}

/// What `explain` writes of these plans.
std::string explained(const PlanSet& set, Format format) {
  std::string text;
  write_explain({set.model, set.tensor_parallel, set.plans.size(), {}, [&](std::size_t i) { return set.plans[i]; }},
                format, {}, [&](const std::string& piece) { text += piece; });
  return text;
}

std::size_t lines_with(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) count += line.find(part) != std::string::npos ? 1 : 0;
  return count;
}

/// The lines of a section up to the next empty line.
std::string section(const std::string& text, const std::string& heading) {
  const std::size_t begin = text.find("\n" + heading + "\n");
  if (begin == std::string::npos) return "";
  return text.substr(begin + 1, text.find("\n\n", begin + 1) - begin - 1);
}

}  // namespace

TEST_CASE("law: no line of plan and explain is wider than 100 columns") {
  EngineSpec engine{.cache_mode = CacheMode::align, .speculative_tokens = 3, .memory_bytes = 70 * gib};
  engine.kernel_block_sizes = {16, 32};
  for (const char* name : {"Qwen3.5-397B-A17B", "Nemotron-3-Ultra-550B-A55B", "Kimi-K3", "LFM2.5-1.2B",
                           "Qwen3.8-Flash-Next", "granite-4.0-h-small", "Falcon-H1-3B"})
    for (const std::vector<std::int64_t>& packs : {std::vector<std::int64_t>{3}, {1, 2, 3, 4, 5, 8}}) {
      CAPTURE(name);
      const PlanSet set = make_plans(published_model(name), engine, {.max_model_lens = {1024, 131'072}}, packs,
                                     WorkspaceSpec{8192, 10000, 128, 64, DType::bf16});
      CHECK(widest_line(planned(set, Format::table)) <= 100);
      CHECK(widest_line(explained(set, Format::table)) <= 100);
    }
}

TEST_CASE("law: explain writes plan by plan, in every format what it writes of each alone") {
  const std::vector<std::int64_t> packs{1, 3, 5};
  const PlanSet set = reported_plans(packs);
  for (const Format format : all_formats) {
    std::string text, log;
    const auto plan_at = [&](std::size_t i) {
      log += "m";
      return set.plans[i];
    };
    write_explain({set.model, set.tensor_parallel, packs.size(), {}, plan_at}, format, {},
                  [&](const std::string& piece) {
                    text += piece;
                    log += "w";
                  });
    CHECK(log == (format == Format::json ? "wmwmwmww" : "mwmwmw"));
    std::string joined;
    nlohmann::ordered_json plans = nlohmann::ordered_json::array();
    for (const std::int64_t pack : packs) {
      const std::string alone = explained(reported_plans({pack}), format);
      // The title, and in csv the header, stand once.
      const std::size_t title = format == Format::csv ? alone.find("\n") : alone.find("\n\n", alone.find("rules"));
      const std::size_t begin = joined.empty() ? 0 : title + 1;
      if (format == Format::json) plans.push_back(nlohmann::ordered_json::parse(alone)["plans"][0]);
      else joined += alone.substr(begin);
    }
    if (format == Format::json) CHECK(nlohmann::ordered_json::parse(text)["plans"] == plans);
    else CHECK(text == joined);
    if (format == Format::json) CHECK(text == json_text(nlohmann::ordered_json::parse(text)));
  }
}

TEST_CASE("golden: how many tokens are drafted stands behind the mode") {
  const auto caching_with = [](std::int64_t speculative_tokens) {
    const EngineSpec engine{.tensor_parallel = 2, .cache_mode = CacheMode::align,
                            .speculative_tokens = speculative_tokens, .memory_bytes = 40 * gib};
    const std::int64_t packs[] = {1};
    const std::string text =
        planned(make_plans(qwen35_397b(), engine, {.max_model_lens = {32'768}}, packs), Format::table);
    const std::size_t begin = text.find("\n  caching ");
    REQUIRE(begin != std::string::npos);
    return text.substr(begin + 1, text.find('\n', begin + 1) - begin - 1);
  };
  CHECK(caching_with(0).ends_with(" mode align"));
  CHECK(caching_with(1).ends_with(" mode align, 1 speculative token"));
  CHECK(caching_with(3).ends_with(" mode align, 3 speculative tokens"));
}

TEST_CASE("golden: like pools share a row, and so do like groups") {
  const std::string text = planned(reported_plans({1}), Format::table);
  CHECK(section(text, "Pools") ==
        "Pools\n"
        "pools      size  gdn layers    full_attention layers\n"
        "        of each  of the first  of the first\n"
        "-----  --------  ------------  ---------------------\n"
        "0-14   2.67 GiB  0, 1, 2       3");
  CHECK(section(text, "Groups").find("\n0-2     gdn") != std::string::npos);
  // N = 4: the last pool has no fourth layer and fewer states.
  const std::string packed = section(planned(reported_plans({4}), Format::table), "Pools");
  CHECK(packed.find("\n0-2 ") != std::string::npos);
  CHECK(packed.find("\n3 ") != std::string::npos);
}

TEST_CASE("golden: warnings of several packs that differ in numbers alone are one") {
  PlanSet set = reported_plans({1, 2, 4, 8});
  const std::vector<WarningSummary> warnings = summarised_warnings(set);
  const auto short_pack = std::find_if(warnings.begin(), warnings.end(), [](const WarningSummary& warning) {
    return warning.text.starts_with("the last pack");
  });
  REQUIRE(short_pack != warnings.end());
  CHECK(short_pack->packs == std::vector<std::int64_t>{2, 4, 8});
  CHECK(short_pack->text ==
        "the last pack of the 15 full_attention layers holds 1 / 3 / 7 of 2 / 4 / 8: every block wastes 1,081,344 / "
        "540,672 / 278,528 bytes for the missing 1");
  CHECK(warnings.size() < set.plans[0].warnings.size() + set.plans[1].warnings.size() + set.plans[2].warnings.size() +
                              set.plans[3].warnings.size());
  for (CachePlan& plan : set.plans) plan.warnings = {{"same", "the same for 7 packs"}};
  REQUIRE(summarised_warnings(set).size() == 1);
  CHECK(summarised_warnings(set)[0].text == "the same for 7 packs");
  CHECK(summarised_warnings(set)[0].packs.size() == 4);
}

TEST_CASE(
    "edge: numbers too many to stand side by side are those of the first plan, two warnings of one plan stay two") {
  PlanSet set = reported_plans({1, 2, 3, 4, 5, 8, 15});
  const auto number = [&](std::size_t places) {
    for (std::size_t i = 0; i < set.plans.size(); ++i) {
      std::string message = "numbers";
      for (std::size_t place = 0; place < places; ++place) message += " " + std::to_string(10 * i + place);
      set.plans[i].warnings = {{"numbered", message}};
    }
    return summarised_warnings(set);
  };
  REQUIRE(number(1).size() == 1);
  CHECK(number(1)[0].text == "numbers 0 / 10 / 20 / 30 / 40 / 50 / 60");
  CHECK(number(1)[0].alike.empty());
  REQUIRE(number(2).size() == 1);
  CHECK(number(2)[0].text == "numbers 0 1");
  CHECK(number(2)[0].packs == std::vector<std::int64_t>{1});
  CHECK(number(2)[0].alike == std::vector<std::int64_t>{2, 3, 4, 5, 8, 15});
  CHECK(section(planned(set, Format::table), "Warnings").find(
            "! N = 1: numbers 0 1; the same, with other numbers, of N = 2, 3, 4, 5, 8, 15") != std::string::npos);
  set.plans.resize(1);
  set.plans[0].warnings = {{"twice", "length 5"}, {"twice", "length 6"}};
  CHECK(summarised_warnings(set).size() == 2);
}

TEST_CASE("golden: which pack beats which is one sentence, whatever their number") {
  CHECK(section(planned(reported_plans({1, 2, 3, 4, 5, 8, 15}), Format::table), "Warnings") ==
        "Warnings\n"
        "! N = 3 beats N = 1, 2; N = 5 beats N = 4; N = 15 beats N = 5, 8: as good or better in block, bytes\n"
        "  of a request and requests at once\n"
        "! N = 2, 4, 8: the last pack of the 15 full_attention layers holds 1 / 3 / 7 of 2 / 4 / 8: every\n"
        "  block wastes 1,081,344 / 540,672 / 278,528 bytes for the missing 1\n");
  CHECK(section(planned(reported_plans({3, 15}), Format::table), "Warnings").find("beats") == std::string::npos);
}

TEST_CASE("regression: several lengths and several packs: every length of every pack is shown") {
  const std::string text = planned(reported_plans({1, 3, 5}, {1024, 262'144, 32'768}), Format::table);
  const std::string shorter = section(text, "Shorter requests");
  CHECK(lines_with(shorter, " 1,024  ") == 3);
  CHECK(lines_with(shorter, "32,768  ") == 3);
  CHECK(text.find("N = 3 costs fewest bytes per request of 262,144 tokens") == std::string::npos);  // N = 5 does
  CHECK(text.find("costs fewest bytes per request of 262,144 tokens") != std::string::npos);
  CHECK(section(planned(reported_plans({1, 3}), Format::table), "Shorter requests").empty());
}

TEST_CASE("regression: plans whose layers are forgotten are compared by the same table") {
  const std::int64_t packs[] = {1, 4, 5};
  const EngineSpec engine{.tensor_parallel = 2, .cache_mode = CacheMode::align, .memory_bytes = 40 * gib};
  const LimitsSpec limits{.max_model_lens = {1024, 32'768}};
  const PlanSet full = make_plans(qwen35_397b(), engine, limits, packs);
  const PlanSet summary = make_plans(qwen35_397b(), engine, limits, packs, std::nullopt, PlanDetail::summary);
  for (Format format : {Format::table, Format::csv, Format::markdown})
    CHECK(planned(summary, format) == planned(full, format));
}

TEST_CASE("golden: a wide table is folded behind its first column") {
  Table table({{"a", "name", "", Align::left}, {"b", "first"}, {"c", "second"}, {"d", "third"}});
  table.add_row({std::string("x"), std::int64_t{1}, std::int64_t{2}, std::int64_t{3}});
  CHECK(render_text(table, {.width = 20}) ==
        "name  first  second\n----  -----  ------\nx         1       2\n\nname  third\n----  -----\nx         3\n");
  CHECK(render_text(table, {.width = 40}).find("\n\n") == std::string::npos);
}

namespace {

PlanSet plans_of_0_33(BackendProfile profile, std::optional<CacheOrder> order, std::optional<DraftSpec> draft = {}) {
  const EngineSpec engine{.rules = &rules_of_vllm_0_33, .backend_profile = profile, .tensor_parallel = 2,
                          .cache_mode = CacheMode::align, .cache_order = order,
                          .speculative_tokens = draft ? 1 : 0, .draft = draft, .memory_bytes = 40 * gib};
  const std::int64_t packs[] = {1};
  return make_plans(qwen35_397b(), engine, {.max_model_lens = {32'768}}, packs);
}

}  // namespace

TEST_CASE("golden: a plan of one allocation says its order, W, its ids by cause and its tensors") {
  const std::string text = planned(plans_of_0_33(BackendProfile::sm90, CacheOrder::lbnhc), Format::table);
  CAPTURE(text);
  CHECK(text.find("rules      vLLM 0.33.0, backends of sm90 (FlashAttention)") != std::string::npos);
  CHECK(text.find("LBNHC: a layer holds all its blocks") != std::string::npos);
  CHECK(text.find("1,323 blocks of W = 32,440,320 bytes") != std::string::npos);
  CHECK(text.find("25: 16 of tokens, 6 of states, 3 of states that chunks export") != std::string::npos);
  CHECK(text.find("hits floor((n - 1) / 2112) * 2112 tokens: nothing up to n =\n  2,112.") != std::string::npos);
  CHECK(lines_with(text, "pages each") == 0);
  CHECK(section(text, "Pools").empty());
  CHECK(text.find("2,861,236,224") != std::string::npos);  // layer stride: 1,323 pages of 2,162,688 bytes
}

TEST_CASE("golden: what a stage of a pipeline has no layer of is said to be on other stages") {
  EngineSpec engine{.rules = &rules_of_vllm_0_33, .tensor_parallel = 2, .cache_mode = CacheMode::align};
  engine.memory_bytes = 40 * gib;
  engine.pipeline_parallel = 2;
  engine.hidden_state_size = 4096;
  const std::int64_t packs[] = {1};
  const std::string text =
      planned(make_plans(qwen35_397b(), engine, {.max_model_lens = {32'768}}, packs), Format::table);
  CAPTURE(text);
  CHECK(text.find("attention  hidden_state layers on other stages alone, one vector of 4096") != std::string::npos);
  CHECK(section(text, "Groups").find("hidden_state          0            8  on other stages") != std::string::npos);
  CHECK(section(text, "Tensors of the allocation").find("hidden_state") == std::string::npos);
}

TEST_CASE("golden: refused views stand among the warnings, and no view is shown") {
  const std::string text = planned(plans_of_0_33(BackendProfile::sm100_flashinfer, CacheOrder::blhnc), Format::table);
  CHECK(text.find("refuses to make its views") != std::string::npos);
  CHECK(text.find("Views: extents and strides") == std::string::npos);
}

TEST_CASE("law: no line of plans of one allocation is wider than 100 columns") {
  for (const CacheOrder order : {CacheOrder::lbnhc, CacheOrder::blnhc})
    for (const bool drafts : {false, true}) {
      const auto draft = drafts ? std::optional(DraftSpec{1, full_attention(8, 128, 32)}) : std::nullopt;
      const PlanSet set = plans_of_0_33(BackendProfile::sm90, order, draft);
      CHECK(widest_line(planned(set, Format::table)) <= 100);
      CHECK(widest_line(explained(set, Format::table)) <= 100);
    }
}
