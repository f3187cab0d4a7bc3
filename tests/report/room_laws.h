#pragma once

#include <string>
#include <vector>

#include "tests/random_question.h"
#include "tests/report/room_answer.h"

/// The laws between rooms: what several rooms say of one question is one thing.
namespace hybridkv::testing {

/// Every law that the answers break, a sentence each: a number that two rooms say differently, one above what it can
/// be, a room that answers what `plan` refuses, another refusal than that of `plan`, or one of its own that is not
/// known. The first answer is that of `plan`.
std::vector<std::string> broken_laws(const RandomQuestion& question, const std::vector<RoomAnswer>& answers);

}  // namespace hybridkv::testing
