// The attention that tables, comparisons, limits and benches mean when they say "the attention" of a plan.
#include "planner/primary_attention.h"

#include <doctest/doctest.h>

using namespace hybridkv;

namespace {

SpecPlan spec_with(AttentionKind kind, std::int64_t window = 0) {
  SpecPlan spec;
  spec.attention = AttentionGeometry{.kind = kind, .window_tokens = window};
  return spec;
}

SpecPlan draft() {
  SpecPlan spec = spec_with(AttentionKind::sliding_window, 64);
  spec.draft = true;
  return spec;
}

SpecPlan hidden_states() {
  SpecPlan spec = spec_with(AttentionKind::hidden_state);
  spec.auxiliary = true;
  return spec;
}

SpecPlan state_spec(bool auxiliary = false) {
  SpecPlan spec;
  spec.state = StateSpec{};
  spec.auxiliary = auxiliary;
  return spec;
}

/// One group a spec, blocks of 100, 101, … tokens.
Arrangement arrangement_of(std::vector<SpecPlan> specs) {
  Arrangement arrangement;
  for (SpecPlan& spec : specs) {
    spec.id = std::ssize(arrangement.specs);
    spec.block_size_tokens = 100 + spec.id;
    arrangement.groups.push_back({.spec = spec.id});
    arrangement.specs.push_back(std::move(spec));
  }
  return arrangement;
}

/// Its number, or -1.
std::int64_t primary_of(std::vector<SpecPlan> specs) {
  const Arrangement arrangement = arrangement_of(std::move(specs));
  const SpecPlan* primary = primary_attention(arrangement);
  return primary == nullptr ? -1 : primary->id;
}

}  // namespace

TEST_CASE("golden: what a spec is to its model") {
  CHECK(spec_with(AttentionKind::full).role() == SpecRole::attention);
  CHECK(spec_with(AttentionKind::mla).role() == SpecRole::attention);
  CHECK(spec_with(AttentionKind::sliding_window, 64).role() == SpecRole::window);
  CHECK(spec_with(AttentionKind::chunked_local, 64).role() == SpecRole::window);
  CHECK(state_spec().role() == SpecRole::state);
  CHECK(state_spec(true).role() == SpecRole::auxiliary);
  CHECK(hidden_states().role() == SpecRole::auxiliary);
  CHECK(draft().role() == SpecRole::draft);
}

TEST_CASE("golden: the primary attention sees every token where some attention of the model does") {
  const SpecPlan full = spec_with(AttentionKind::full), window = spec_with(AttentionKind::sliding_window, 64);
  CHECK(primary_of({state_spec(), full, spec_with(AttentionKind::mla)}) == 1);
  CHECK(primary_of({window, state_spec(), full, hidden_states()}) == 2);
  CHECK(primary_of({state_spec(), spec_with(AttentionKind::chunked_local, 64), window, draft()}) == 1);
}

TEST_CASE("edge: without attention of the model hidden states stand in, drafts and states never") {
  CHECK(primary_of({state_spec(), draft(), hidden_states()}) == 2);
  CHECK(primary_of({state_spec(), draft(), state_spec(true)}) == -1);
}

TEST_CASE("edge: without any attention the first group and its block are the ones that people compare") {
  const Arrangement states = arrangement_of({state_spec(), draft()});
  CHECK(&primary_group(states) == &states.groups[0]);
  CHECK(primary_block_tokens(states) == 100);
  CHECK(&primary_spec(states) == &states.specs[0]);
  const Arrangement hybrid = arrangement_of({state_spec(), spec_with(AttentionKind::sliding_window, 64), draft()});
  CHECK(&primary_group(hybrid) == &hybrid.groups[1]);
  CHECK(primary_block_tokens(hybrid) == 101);
  CHECK(&primary_spec(hybrid) == &hybrid.specs[1]);
}

TEST_CASE("golden: tokens of a request that a layer still reads") {
  CHECK(spec_with(AttentionKind::full).live_tokens(1000) == 1000);
  CHECK(spec_with(AttentionKind::sliding_window, 64).live_tokens(1000) == 64);
  CHECK(spec_with(AttentionKind::sliding_window, 64).live_tokens(10) == 10);
}
