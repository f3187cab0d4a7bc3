#pragma once

#include <memory>
#include <string>

#include "simulator/pool/own_policy.h"

namespace hybridkv {

/// The policy of a shared library that has hybridkv_make_policy (simulator/pool/hybridkv_policy.h). The library stays
/// loaded as long as the policy is there. Throws InputError where it cannot be loaded, has no such function, or gives
/// no policy for these settings, with its own words.
std::shared_ptr<const OwnPolicy> policy_of_library(const std::string& file, const std::string& settings);

}  // namespace hybridkv
