#pragma once

#include <span>

#include "planner/arrangement.h"
#include "planner/derivation.h"
#include "planner/engine_spec.h"

namespace hybridkv {

// An exact page is as large as its layers need, rounded up only to whole elements and to the alignment that the user
// asks for.

/// What such pages are multiples of: the elements of the states that are given and the user's alignment, so that each
/// of several side by side begins on an element.
std::int64_t exact_unit(std::span<const SpecPlan> specs, const EngineSpec& engine);

/// The unpadded page of a spec, rounded up to the unit.
std::int64_t exact_page_bytes(const SpecPlan& spec, std::int64_t unit);

/// Notes the padding of a spec whose only group has exact pages, and derives the size of these pages by `rule`.
void note_exact_page(SpecPlan& spec, std::int64_t unit, RuleOf rule, const DerivationLog& log);

}  // namespace hybridkv
