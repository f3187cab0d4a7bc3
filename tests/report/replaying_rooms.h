#pragma once

#include <vector>

#include "tests/report/planning_rooms.h"

namespace hybridkv::testing {

/// What is said of the cache while requests run through it: the closed form of block ids, `simulate`, a request of the
/// longest length and one a token longer, the replays of `compare` and `sweep`, `bound`, and the cache of
/// `verify --forward`.
std::vector<RoomAnswer> replaying_rooms(const AskedQuestion& asked);

}  // namespace hybridkv::testing
