#pragma once

#include <vector>

#include "tests/random_question.h"
#include "tests/report/room_answer.h"

namespace hybridkv::testing {

/// The answers of all rooms, that of `plan` first; where it refuses, those rooms alone that plan themselves. Rooms that
/// do not speak of such an engine are left out.
std::vector<RoomAnswer> room_answers(const RandomQuestion& question);

}  // namespace hybridkv::testing
