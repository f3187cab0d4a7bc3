#include "tests/report/room_laws.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include "tests/report/room_answers.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

std::int64_t law_setting(const char* name, std::int64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
}

/// Every law that the rooms break on one question.
std::int64_t check_laws(const RandomQuestion& question) {
  CAPTURE(question.command_words());
  const std::vector<RoomAnswer> answers = room_answers(question);
  for (const std::string& broken : broken_laws(question, answers)) FAIL_CHECK(broken);
  return !answers.front().refusal;
}

}  // namespace

TEST_CASE("law: what several rooms say of one random question is one thing") {
  // More by HYBRIDKV_LAW_CASES, others by HYBRIDKV_LAW_SEED, later ones of a seed by HYBRIDKV_LAW_FIRST.
  const std::int64_t cases = law_setting("HYBRIDKV_LAW_CASES", 80), first = law_setting("HYBRIDKV_LAW_FIRST", 0);
  const auto seed = static_cast<std::uint64_t>(law_setting("HYBRIDKV_LAW_SEED", 29));
  std::int64_t planned = 0;
  for (std::int64_t i = first; i < first + cases; ++i) {
    const RandomQuestion question = random_question(mix(seed, static_cast<std::uint64_t>(i)));
    CAPTURE(i);
    planned += check_laws(question);
  }
  MESSAGE(planned << " of " << cases << " questions were planned");
  CHECK((planned * 2 > cases || cases < 10));
}

TEST_CASE("law: rooms agree about models without attention, whose block is that of their states") {
  const std::int64_t cases = law_setting("HYBRIDKV_LAW_CASES", 80) / 4, first = law_setting("HYBRIDKV_LAW_FIRST", 0);
  const auto seed = static_cast<std::uint64_t>(law_setting("HYBRIDKV_LAW_SEED", 31));
  std::int64_t planned = 0;
  for (const char* const model : {"Falcon-Mamba-7B", "Mamba-Codestral-7B-v0.1", "RWKV-4-7B-pile", "xLSTM-7B"})
    for (std::int64_t i = first; i < first + cases; ++i) {
      CAPTURE(i);
      planned += check_laws(random_question(mix(seed, static_cast<std::uint64_t>(i)), model));
    }
  MESSAGE(planned << " questions were planned");
  CHECK((planned > cases || cases < 10));
}
