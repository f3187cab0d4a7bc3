#pragma once

#include <span>

#include "planner/arrangement.h"
#include "planner/derivation.h"
#include "planner/engine_spec.h"

namespace hybridkv {

// Pages of specs that nothing makes larger than their layers need, but for whole elements and the user's alignment.

/// What such pages are multiples of: the elements of the states that are given and the user's alignment, so that each
/// of several side by side begins on an element.
std::int64_t exact_unit(std::span<const SpecPlan> specs, const EngineSpec& engine);

/// The unpadded page of a spec, rounded up to the unit.
std::int64_t exact_page_bytes(const SpecPlan& spec, std::int64_t unit);

/// Notes the padding of a spec whose only group has such pages, and why they are what they are, by
/// `rule`.
void note_exact_page(SpecPlan& spec, std::int64_t unit, RuleOf rule, const DerivationLog& log);

}  // namespace hybridkv
