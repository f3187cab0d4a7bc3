#pragma once

#include "planner/arrangement.h"

namespace hybridkv {

/// Adds the groups of a spec to the last arena: one, or of a state one for each of its tensors, all with one table and
/// each with lanes of its own, a lane a page. Groups behind the first one of an arena share its table. Counts the
/// bytes of their pages to an id of the arena; lanes have no pool yet.
void add_tensor_groups(Arrangement& arrangement, const SpecPlan& spec);

/// A pool for each group, in which the pages of an id lie side by side: page j of id i begins at byte
/// i * (pages * page) + j * page.
void place_side_by_side(Arrangement& arrangement);

/// A pool for each page: that of id i begins at byte i * page.
void place_apart(Arrangement& arrangement);

}  // namespace hybridkv
