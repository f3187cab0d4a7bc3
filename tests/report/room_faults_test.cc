#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/report/room_answers.h"
#include "tests/report/room_laws.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

constexpr std::uint64_t questions = 40;

bool is_said(const RoomAnswer& answer, const std::string& what) {
  return !answer.refusal && answer.says.contains(what);
}

/// What was altered, and what of it a law noticed: "longest request in simulate".
struct Noticed {
  std::set<std::string> altered, noticed, facts;

  void add(const RandomQuestion& question, const std::vector<RoomAnswer>& answers, const std::string& what) {
    altered.insert(what);
    if (!broken_laws(question, answers).empty()) noticed.insert(what);
  }
};

/// Each number that another room says too, and each that has a limit, becomes another one.
void alter_numbers(const RandomQuestion& question, const std::vector<RoomAnswer>& answers, Noticed& noticed) {
  for (std::size_t i = 0; i < answers.size(); ++i) {
    for (const auto& [what, value] : answers[i].says) {
      const bool by_others = std::count_if(answers.begin(), answers.end(),
                                           [&](const RoomAnswer& one) { return is_said(one, what); }) > 1;
      if (!by_others) continue;
      std::vector<RoomAnswer> other = answers;
      other[i].says[what] = value + "0";
      noticed.facts.insert(what);
      noticed.add(question, other, what + " in " + answers[i].room);
    }
    for (std::size_t limit = 0; limit < answers[i].limits.size(); ++limit) {
      std::vector<RoomAnswer> other = answers;
      other[i].limits[limit].value = other[i].limits[limit].most + 1;
      noticed.add(question, other, "a limit in " + answers[i].room);
    }
  }
}

/// Each refusal becomes an answer, another message, or one at another place; each answer becomes a refusal.
void alter_refusals(const RandomQuestion& question, const std::vector<RoomAnswer>& answers, Noticed& noticed) {
  for (std::size_t i = 1; i < answers.size(); ++i) {
    std::vector<RoomAnswer> other = answers;
    if (!answers[i].refusal) {
      other[i].refusal = refusal_of("--pack 1", "engine.attention_pack_size: nobody takes it");
      noticed.add(question, other, "a refusal of " + answers[i].room);
      continue;
    }
    if (answers[i].refusal->problem == answers.front().refusal.value_or(RoomRefusal{}).problem) {
      other[i].refusal->problem += ", really";
      noticed.add(question, other, "another message of " + answers[i].room);
    }
    if (!answers[i].refusal->place.empty() && !answers[i].room.starts_with("sweep")) {  // whose points know no places
      other = answers;
      other[i].refusal->place.clear();
      noticed.add(question, other, "no place in " + answers[i].room);
    }
  }
}

}  // namespace

TEST_CASE("fault: a room that says another thing than the others is noticed, whatever it says") {
  Noticed noticed;
  for (std::uint64_t i = 0; i < questions; ++i) {
    const RandomQuestion question = random_question(mix(1, i));
    const std::vector<RoomAnswer> answers = room_answers(question);
    for (const std::string& broken : broken_laws(question, answers)) FAIL(broken);
    alter_numbers(question, answers, noticed);
    alter_refusals(question, answers, noticed);
  }
  for (const std::string& what : noticed.altered) {
    CAPTURE(what);
    CHECK(noticed.noticed.contains(what));
  }
  MESSAGE(noticed.altered.size() << " alterations of " << noticed.facts.size() << " numbers and of refusals");
  CHECK(noticed.facts.size() >= 30);
  CHECK(noticed.altered.size() >= 150);
}
