#include "ask/verify_request.h"

namespace hybridkv {

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

}  // namespace hybridkv
