#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "simulator/pool/own_policy.h"

namespace hybridkv {

/// A class of Python as a policy, or any callable without arguments that makes an object with `rank(prefix)` and, where
/// it wants them, `keeps`, `used` and `went`: PrefixPolicy says what they are asked and told. Replays make theirs on
/// their own threads, with Python's lock for each question. Throws InputError where the object cannot be called.
std::shared_ptr<const OwnPolicy> policy_of_python(const nanobind::object& maker);

void register_prefix(nanobind::module_& module);

}  // namespace hybridkv
