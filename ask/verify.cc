#include "ask/verify.h"

#include <utility>

#include "ask/plan.h"
#include "base/error.h"
#include "verify/export.h"
#include "verify/fault/plant.h"

namespace hybridkv {

namespace {

/// The fault may have no place in the plan where it is one of a catalogue; asked for by name it must have one.
VerifyReport verify_planted(const CachePlan& plan, const VerifySpec& spec, Planted planted,
                            const VerifyProgress& progress) {
  try {
    return verify_plan(plan, spec, progress);
  } catch (const NoPlaceError& error) {
    if (planted != Planted::catalogue) throw;
    return {.attention_pack_size = plan.attention_pack_size, .fault = spec.fault, .no_place = error.why()};
  }
}

}  // namespace

VerifySpec verify_spec(const Scenario& scenario) {
  VerifySpec spec;
  spec.requests = requests_of_lengths(scenario.verify.request_tokens);
  spec.seed = scenario.verify.seed;
  spec.resident_budget_bytes = scenario.verify.resident_budget_bytes;
  return spec;
}

std::vector<std::int64_t> verified_packs(const Scenario& scenario, bool packs_chosen) {
  if (packs_chosen || scenario.verify.pack_sizes.empty()) return scenario.pack_sizes;
  return scenario.verify.pack_sizes;
}

VerifyAnswer verify_plans(const Scenario& scenario, PlanSet plans, const VerifyQuestion& question,
                          const VerifyAnswerProgress& progress) {
  expects(question.export_folder.empty() || (plans.plans.size() == 1 && question.faults.size() == 1),
          "batches are exported of one plan and one verification");
  VerifyAnswer answer{.plans = std::move(plans)};
  VerifySpec spec = verify_spec(scenario);
  spec.until_caught = question.planted == Planted::catalogue;
  spec.export_folder = question.export_folder;
  for (const CachePlan& plan : answer.plans.plans)
    for (const std::optional<Fault>& fault : question.faults) {
      spec.fault = fault;
      answer.reports.push_back(
          verify_planted(plan, spec, question.planted, [&](std::string_view step, int done, int total) {
            if (progress) progress(plan, fault, step, done, total);
          }));
    }
  answer.verdict = verdict_of(answer.reports, question.planted);
  return answer;
}

VerifyAnswer verify_scenario(const Scenario& scenario, const VerifyQuestion& question,
                             const VerifyAnswerProgress& progress) {
  if (!question.export_folder.empty()) check_export_folder(question.export_folder);
  return verify_plans(scenario, plan_scenario(scenario, question.pack_sizes), question, progress);
}

}  // namespace hybridkv
