#pragma once

#include <cstdint>
#include <vector>

#include "scenarios/scenario.h"
#include "verify/verify.h"

namespace hybridkv {

/// What the scenario's verify section asks for, for any plan.
VerifySpec verify_spec(const Scenario& scenario);

/// Pack sizes to verify: where they were chosen on the command line those, else of the scenario's verify section, else
/// all of them.
std::vector<std::int64_t> verified_packs(const Scenario& scenario, bool packs_chosen);

}  // namespace hybridkv
