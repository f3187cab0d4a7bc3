// What the host keeps of sequences that slots gave away, by hand.
#include "simulator/slots/prompt_cache.h"

#include <doctest/doctest.h>

#include <utility>

using namespace hybridkv;

namespace {

SavedSequence sequence_of(std::uint64_t content, std::int64_t tokens) {
  return {.content = {{tokens, extend_chain(empty_chain, content, 0)}}};
}

}  // namespace

TEST_CASE("edge: saved prompts may take all of the room that they have, and not a byte more") {
  SlotSettings settings{.bytes = {.state_layers = 1, .row_bytes = 10, .tokens = {2, 4}}};
  const std::int64_t both = settings.bytes.prompt(30) + settings.bytes.prompt(50);
  for (const auto& [room, kept] : {std::pair{both, 2}, std::pair{both - 1, 1}}) {
    CAPTURE(room);
    settings.saved_bytes = room;
    const SlotLog log;
    PromptCache cache(settings, log);
    CHECK(cache.save(sequence_of(1, 30)));
    CHECK(cache.save(sequence_of(2, 50)));
    REQUIRE(std::ssize(cache.entries()) == kept);
    CHECK(cache.entries().back().tokens() == 50);
    CHECK(cache.bytes() == (kept == 2 ? both : settings.bytes.prompt(50)));
  }
}
