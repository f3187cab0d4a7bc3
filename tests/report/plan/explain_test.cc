// Every number that `plan` prints has a derivation in `explain`, and every derivation with a formula comes out.
#include "report/plan/explain_report.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "base/error.h"
#include "planner/plan.h"
#include "report/human.h"
#include "report/plan/plan_json.h"
#include "report/plan/plan_report.h"
#include "tests/planner/derived_cases.h"
#include "tests/planner/models.h"
#include "tests/planner/random_specs.h"
#include "tests/report/derivation_lookup.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

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
  for (const std::string& number : numbers_of(std::string(plan.rules->title))) numbers.insert(number);
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
  for (const DerivedCase& one : derived_cases()) {
    CAPTURE(one.name);
    for (const std::string& number : underived(derived_plans(one))) FAIL_CHECK(number);
  }
}

TEST_CASE("law: every number of the printed plan is one that explain derives") {
  for (const DerivedCase& one : derived_cases()) {
    CAPTURE(one.name);
    const PlanSet set = derived_plans(one);
    const std::set<std::string> derived = written_numbers(set.plans.front());
    for (const std::string& number : numbers_of(render_plan(set, plan_answer(set), Format::table)))
      if (!derived.contains(number)) FAIL_CHECK(number);
  }
}

TEST_CASE("fault: a number without its derivation is found, wherever it stands") {
  const DerivedCase one = derived_cases()[1];
  const PlanSet set = derived_plans(one);
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

TEST_CASE("law: random plans are derived whole") {
  CHECK(check_plans("derivations", 300, SpecSize::real, [](const RandomSpecs& specs, const CachePlan& plan) {
    const PlanSet set{"random", specs.engine.tensor_parallel, "packed_attention", {plan}};
    PlanSet with_bias = set;
    with_bias.plans.front().workspace.reset();
    const std::vector<std::string> missing = underived(with_bias);
    RC_ASSERT(missing == std::vector<std::string>{});
  }, Strategies::all));
}

TEST_CASE("explain: one number alone, with what it stands on, of the plans that have it") {
  const CachePlan plan = derived_plans(derived_cases()[1]).plans.front();
  const auto plan_at = [&](std::size_t i) {
    CachePlan one = plan;
    if (i == 0) one.derivation.resize(1);  // a plan that does not come to it
    return one;
  };
  const auto explained = [&](const std::string& typed, Format format) {
    std::string text;
    write_explain({"a model", 1, 2, std::nullopt, plan_at, asked_number(typed)}, format, Style(),
                  [&](const std::string& piece) { text += piece; });
    return text;
  };
  const auto page = std::find_if(plan.derivation.begin(), plan.derivation.end(),
                                 [](const Decision& decision) { return decision.result.symbol == "P"; });
  REQUIRE(page != plan.derivation.end());
  const std::string number = human_count(std::get<std::int64_t>(page->result.value));
  const auto json = nlohmann::json::parse(explained(number, Format::json));
  REQUIRE(json.at("plans").size() == 1);
  std::set<std::string> asked, reasons;
  for (const auto& step : json["plans"][0]["derivation"]) {
    (step.at("asked").get<bool>() ? asked : reasons).insert(step["result"]["symbol"].get<std::string>());
    CHECK(step["result"]["symbol"] == plan.derivation[step.at("step").get<std::size_t>() - 1].result.symbol);
  }
  CHECK(asked.contains("P"));
  CHECK(!reasons.empty());
  const std::string text = explained(number, Format::table);
  CHECK(text.find("where " + number + " comes from") != std::string::npos);
  const std::size_t heading = text.find("It stands on");
  REQUIRE(heading != std::string::npos);
  CHECK(text.find("P = ") < heading);
  CHECK(text.find("It stands on", heading + 1) == std::string::npos);
  // A section of the document, as the pack above it is.
  CHECK(explained(number, Format::markdown).find("\n## It stands on\n") != std::string::npos);
  const std::string rows = explained(number, Format::csv);
  CHECK(static_cast<std::size_t>(std::count(rows.begin(), rows.end(), '\n')) == 1 + asked.size() + reasons.size());
  CHECK_THROWS_WITH_AS(explained("987654321987", Format::table),
                       "987654321987 is no number of these plans, nor is one near it; without it all of them are "
                       "explained",
                       InputError);
}
