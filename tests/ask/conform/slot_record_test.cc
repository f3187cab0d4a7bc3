// What becomes of prompts in slots, as a driver answers it, and whose rule each figure is.
#include "ask/conform/slot_record.h"

#include <doctest/doctest.h>

using namespace hybridkv;
using nlohmann::ordered_json;

namespace {

const SlotSettings four_slots{.slots = 4, .cells = 1024};

}  // namespace

TEST_CASE("golden: a copy goes on from the checkpoint before its end, and what idle slots hold is saved") {
  const ordered_json record = slot_record(four_slots, {{{1, 100}}, {{1, 100}}, {{2, 50}}});
  REQUIRE(record.size() == 3);
  CHECK(record[0] == ordered_json::parse(R"({"slot": 3, "saved": [], "loads": false, "entries": [], "restored": 0,
      "found": 0, "erased": [], "steps": [0, 96], "made": [96], "dropped": [], "gave_way": [], "computed": 100,
      "held": 100})"));
  CHECK(record[1] == ordered_json::parse(R"({"slot": 3, "saved": [], "loads": false, "entries": [], "restored": 96,
      "found": 96, "erased": [], "steps": [96], "made": [96], "dropped": [96], "gave_way": [], "computed": 4,
      "held": 100})"));
  CHECK(record[2]["slot"] == 2);
  CHECK(record[2]["saved"] == ordered_json{100});
  CHECK(record[2]["entries"] == ordered_json{100});
}

TEST_CASE("edge: a prompt that fills the slot is refused, and has been given a saved one by then") {
  const ordered_json record = slot_record(four_slots, {{{1, 100}}, {{2, 50}}, {{1, 1024}}});
  CHECK(record[2]["found"] == -1);
  CHECK(record[2]["computed"] == 0);
  CHECK(record[2]["loads"] == true);
  CHECK(record[2]["held"] == 100);
  CHECK(record[2]["steps"] == ordered_json::array());
}

TEST_CASE("edge: what an entry begins with is not saved again, and slots give way where cells run out") {
  SlotSettings settings{.slots = 2, .cells = 256, .unified = true, .saved_bytes = 0};
  CHECK(slot_record(settings, {{{1, 200}}, {{2, 100}}})[1]["gave_way"] == ordered_json{1});
  settings = {.slots = 2, .cells = 1024, .unified = false};
  // The first slot keeps its prompt, which is saved once.
  const ordered_json record = slot_record(settings, {{{1, 100}}, {{2, 100}}, {{2, 100}, {3, 5}}});
  CHECK(record[1]["saved"] == ordered_json{100});
  CHECK(record[2]["saved"] == ordered_json::array());
}

TEST_CASE("law: every figure of a prompt has a rule") {
  const ordered_json record = slot_record(four_slots, {{{1, 100}}});
  for (const auto& [figure, value] : record.front().items()) {
    CAPTURE(figure);
    CHECK(slot_rule_on("replay." + figure) != nullptr);
  }
  CHECK(slot_rule_on("replay.hits") == nullptr);
}
