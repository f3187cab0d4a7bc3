#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ask/verdict.h"
#include "planner/cache_plan.h"
#include "scenarios/scenario.h"
#include "verify/verify.h"

namespace hybridkv {

/// What `verify` is asked beside what the scenario says.
struct VerifyQuestion {
  std::vector<std::int64_t> pack_sizes;               ///< N to verify, see verified_packs; at least one
  std::vector<std::optional<Fault>> faults{std::nullopt};  ///< planted one after the other; at least one, or nothing
  Planted planted = Planted::no_or_single;            ///< catalogue: a fault may have no place in a plan
  std::string export_folder;                          ///< of the batches; empty: none. Takes one pack and one fault
};

/// What the runs of all packs showed.
struct VerifyAnswer {
  PlanSet plans;                      ///< of the packs
  std::vector<VerifyReport> reports;  ///< plan by plan, of each in the order of the faults
  Verdict verdict = Verdict::passed;
};

/// Called as verification goes on: which plan and fault, the step that begins, and how many of how many are done.
using VerifyAnswerProgress = std::function<void(const CachePlan& plan, const std::optional<Fault>& fault,
                                                std::string_view step, int done, int total)>;

/// What the scenario's verify section asks for, for any plan.
VerifySpec verify_spec(const Scenario& scenario);

/// Pack sizes to verify: where they were chosen on the command line those, else of the scenario's verify section, else
/// all of them.
std::vector<std::int64_t> verified_packs(const Scenario& scenario, bool packs_chosen);

/// Verifies these plans of the scenario with every fault; the packs of the question are not looked at. Throws as
/// verify_plan.
VerifyAnswer verify_plans(const Scenario& scenario, PlanSet plans, const VerifyQuestion& question,
                          const VerifyAnswerProgress& progress = {});

/// Plans the packs and verifies each. Throws as plan_scenario and verify_plans; a folder to export to that cannot be is
/// refused before anything is planned.
VerifyAnswer verify_scenario(const Scenario& scenario, const VerifyQuestion& question,
                             const VerifyAnswerProgress& progress = {});

}  // namespace hybridkv
