// Sentences about replays.
#include "report/replay/replay_text.h"

#include <doctest/doctest.h>

using namespace hybridkv;

namespace {

CacheGeometry cache(std::int64_t block) { return {.block_size_tokens = block, .num_blocks = 9, .state_groups = 1}; }

bool begins(const std::string& text, const std::string& start) { return text.find(start) == 0; }

}  // namespace

TEST_CASE("golden: why a cache hits nothing, the first reason that is enough") {
  const HitFacts long_prompts{.longest_prompt_tokens = 9000, .longest_repeat_tokens = 8000};
  CacheGeometry none = cache(528);
  none.mode = CacheMode::none;
  CHECK(begins(why_no_hits("the block", none, long_prompts), "mode none keeps no states"));
  CHECK(why_no_hits("the block", cache(2096), {.longest_prompt_tokens = 2096, .longest_repeat_tokens = 9}) ==
        "the block of 2,096 tokens can never hit on this trace: its longest prompt has 2,096 tokens, and one must be "
        "longer than 2,096 to match a whole block");
  CHECK(why_no_hits("the block", cache(2096), {.longest_prompt_tokens = 2097, .longest_repeat_tokens = 0}) ==
        "the block of 2,096 tokens hits nothing, nor would any other: no prompt begins like an earlier one");
  CHECK(
      why_no_hits("the block", cache(2096), {.longest_prompt_tokens = 2097, .longest_repeat_tokens = 2095}) ==
      "the block of 2,096 tokens can never hit on this trace: prompts have at most their first 2,095 tokens in common "
      "with an earlier one, and a whole block takes 2,096");
  HitFacts facts = long_prompts;
  CHECK(why_no_hits("the block", cache(528), facts) == "the block of 528 tokens hits nothing on this trace");
  facts.evictions = 2;
  CHECK(begins(why_no_hits("the block", cache(528), facts),
               "the block of 528 tokens hits nothing: 2 blocks were evicted"));
  facts.uncached_common_tokens = 1056;
  CHECK(begins(why_no_hits("the block", cache(528), facts),
               "the block of 528 tokens hits nothing: attention matched 1,056 tokens, but no recurrent state"));
}

TEST_CASE("edge: a match unit and a drafter change what is too short") {
  CacheGeometry geometry = cache(528);
  geometry.match_unit_tokens = 16;
  CHECK(begins(why_no_hits("The block", geometry, {.longest_prompt_tokens = 16}), "The block of 528 tokens can never"));
  CHECK(begins(why_no_hits("The block", geometry, {.longest_prompt_tokens = 17}),
               "The block of 528 tokens hits nothing"));
  geometry.drafter_drops_block = true;
  CHECK(why_no_hits("The block", geometry, {.longest_prompt_tokens = 32}) ==
        "The block of 528 tokens can never hit on this trace: its longest prompt has 32 tokens, and one must be longer "
        "than 32 to match two match units, of which the drafter drops one");
}

TEST_CASE("golden: requests that are too long, in numbers; modelled rules by name, each once") {
  CHECK(
      too_long_text(1, 20, 4096) ==
      "1 of 20 requests has a prompt of max_model_len (4,096 tokens) or more and is refused, as the engine refuses it");
  CHECK(too_long_text(1200, 2000, 32768) ==
        "1,200 of 2,000 requests have prompts of max_model_len (32,768 tokens) or more and are refused, as the engine "
        "refuses them");
  CHECK(modelled_sentence({}) ==
        "All of this follows rules that were checked against a real engine, request by request.");
  const ModelledRule rules[] = {ModelledRule::preemption, ModelledRule::decode, ModelledRule::decode};
  CHECK(modelled_sentence(rules) == "Modelled, not replayed from a real engine: decode, preemption.");
}

TEST_CASE("golden: requests that come faster than they are served, with the numbers") {
  CHECK(overload_text({.waiting = 1615, .running = 256}) ==
        "requests come faster than they are served, up to 1,615 wait where 256 run at most");
}
