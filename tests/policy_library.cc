// A compiled policy, as a user writes one, that does what its settings say: nothing (the newest goes first), "nan",
// "no rank" or "refuse". It keeps no state of a prefix of fewer than 64 tokens.
#include <cmath>
#include <cstring>

#include "simulator/pool/hybridkv_policy.h"

namespace {

double newest_first(void*, const hybridkv_prefix* prefix) { return -static_cast<double>(prefix->last_use); }
double no_number(void*, const hybridkv_prefix*) { return std::nan(""); }
int of_64(void*, const hybridkv_prefix* prefix) { return prefix->tokens >= 64 ? 1 : 0; }

}  // namespace

extern "C" const char* hybridkv_make_policy(uint32_t version, const char* settings, hybridkv_policy* policy) {
  if (version != HYBRIDKV_POLICY_VERSION) return "another version";
  if (std::strcmp(settings, "refuse") == 0) return "these settings are refused";
  policy->rank = std::strcmp(settings, "nan") == 0 ? no_number : newest_first;
  if (std::strcmp(settings, "no rank") == 0) policy->rank = nullptr;
  policy->keeps = of_64;
  return nullptr;
}
