#include "tests/report/room_answers.h"

#include "tests/report/planning_rooms.h"
#include "tests/report/replaying_rooms.h"

namespace hybridkv::testing {

std::vector<RoomAnswer> room_answers(const RandomQuestion& question) {
  AskedQuestion asked{.file = question.file(), .scenario = {}, .plan = {}};
  std::vector<RoomAnswer> answers{plan_room(asked)};
  for (const auto& room : {planning_rooms(asked), replaying_rooms(asked)})
    answers.insert(answers.end(), room.begin(), room.end());
  return answers;
}

}  // namespace hybridkv::testing
