#include "web/figures.h"

#include <variant>

#include "ask/compare/compare_rows.h"
#include "ask/kernels/kernel_fit.h"
#include "ask/plan.h"
#include "ask/plot/page_strip.h"
#include "base/error.h"
#include "planner/evidence.h"
#include "planner/plan_facts.h"
#include "report/plot/page_fills.h"
#include "web/kernels.h"
#include "web/question.h"
#include "web/value_text.h"

namespace hybridkv {

namespace {

using Json = nlohmann::ordered_json;

Json json_of(const ComparedValue& value) {
  return std::visit([](const auto& held) -> Json {
    if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::monostate>) return nullptr;
    else return held;
  }, value);
}

Json rows_of(const PlannedSetting& setting) {
  const ComparedDerivation derivation{&setting.plan.derivation, setting.capacity.max_model_len};
  Json rows = Json::array();
  for (const CompareRow& row : compare_rows()) {
    const ComparedValue value = row.value(setting);
    const std::string symbol = row.symbol ? row.symbol(setting) : std::string();
    rows.push_back({{"name", row.name}, {"title", row.title}, {"unit", row.unit}, {"key", row.key},
                    {"value", json_of(value)}, {"text", value_text(value, row.unit)},
                    {"symbol", derivation.find(symbol) != nullptr ? symbol : std::string()}});
  }
  return rows;
}

Json page_json(const CachePlan& plan, const PageStrip& strip) {
  const bool short_pack = is_short_pack(plan, strip);
  Json parts = Json::array();
  for (const PagePart& part : strip.parts)
    parts.push_back({{"begin", part.bytes.begin}, {"end", part.bytes.end}, {"kind", part_kind(plan, strip, part)},
                     {"layer", part.layer ? Json(*part.layer) : Json(nullptr)},
                     {"word", part_word(part, short_pack)}, {"title", part_title(part, short_pack)}});
  const ViewPlan& view = plan.views[strip.views.front()];
  return {{"title", page_title(plan, strip)},
          {"bytes", plan.page_bytes(plan.groups[static_cast<std::size_t>(strip.group)])},
          {"kernel_blocks", strip.kernel_blocks},
          {"kernel_block_bytes", strip.kernel_blocks > 1 ? view.bytes.stride("block") : 0},
          {"parts", std::move(parts)}};
}

}  // namespace

std::string figures_answer(const Json& question) {
  Scenario scenario = read_scenario(PageQuestion(question).file());
  const std::int64_t pack = scenario.pack_sizes.front();
  PlanSet set = plan_scenario(scenario, {pack});
  CachePlan& plan = set.plans.front();
  judge_kernels(asked_kernels(question), plan);
  const PlannedSetting setting{scenario, plan, capacity_of(plan, longest_length(set))};
  Json pages = Json::array(), warnings = Json::array(), start_errors = Json::array(), kernels = Json::array();
  std::string pages_refused;
  try {
    for (const PageStrip& strip : page_strips(plan)) pages.push_back(page_json(plan, strip));
  } catch (const InputError& error) {
    pages_refused = error.what();
  }
  for (const KernelFit& fit : plan.kernels)
    kernels.push_back({{"verdict", to_string(fit.verdict)}, {"text", kernel_sentence(fit)}});
  for (const Warning& warning : plan.warnings)
    warnings.push_back({{"code", warning.code}, {"message", warning.message}});
  for (const std::string& error : {plan.prefix.match_error, plan.view_error})
    if (!error.empty()) start_errors.push_back(error);
  return Json{{"model", set.model}, {"pack", pack}, {"num_packs", scenario.pack_sizes.size()},
              {"evidence", to_string(evidence_of(plan))}, {"rows", rows_of(setting)}, {"pages", std::move(pages)},
              {"pages_refused", pages_refused}, {"warnings", std::move(warnings)},
              {"start_errors", std::move(start_errors)}, {"kernels", std::move(kernels)}, {"notes", scenario.notes}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace hybridkv
