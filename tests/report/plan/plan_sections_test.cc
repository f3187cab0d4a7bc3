// What a plan says of prefixes, in sentences.
#include "report/plan/plan_sections.h"

#include <doctest/doctest.h>

#include "tests/contains.h"
#include "tests/report/plan/slots_plan.h"

using namespace hybridkv;
using testing::contains;

TEST_CASE("golden: prompts in slots go on from what these hold, or, beside windows, from behind a window alone") {
  CachePlan plan = testing::slots_plan();
  const std::string whole = prefix_sentences(plan).front();
  CAPTURE(whole);
  CHECK(whole.starts_with("A prompt goes on in a slot whose last sequence it continues, else from a checkpoint "));
  // The last checkpoint of a prompt lies four tokens before its end.
  CHECK(contains(whole, " a second copy of a prompt of n tokens hits n - 4 tokens, "));
  plan.rows->window_tokens = 128;
  const std::string windowed = prefix_sentences(plan).front();
  CAPTURE(windowed);
  CHECK(windowed.starts_with("A prompt goes on from a checkpoint of its slot "));
  CHECK(contains(windowed, " more than the window of 128 tokens before the end of what both share"));
}
