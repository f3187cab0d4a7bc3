#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "engines/vllm/rules.h"
#include "layout/scale.h"
#include "planner/plan.h"
#include "tests/report/sample_plan.h"

/// Plans whose every field is random, for the laws of reading and writing; they plan nothing. To be called inside a
/// rapidcheck property.
namespace hybridkv::testing {

/// Small numbers, and large ones whose sums over the fields of a struct still fit.
inline std::int64_t random_count(std::int64_t least = 0) {
  return *rc::gen::oneOf(rc::gen::inRange<std::int64_t>(least, 100),
                         rc::gen::inRange<std::int64_t>(least, std::int64_t{1} << 59));
}

/// Any finite bit pattern, subnormal numbers included.
inline double random_real() {
  const auto bits = *rc::gen::arbitrary<std::uint64_t>() & ~(std::uint64_t{1} << 63);
  const auto value = std::bit_cast<double>(bits);
  return std::isfinite(value) ? value : 0.1;
}

/// So small that a few hundred of its products still fit.
inline std::int64_t small_count() { return *rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 40); }

inline bool random_flag() { return *rc::gen::arbitrary<bool>(); }

/// Text with everything that JSON has to escape.
inline std::string random_text() {
  static const std::vector<std::string> pieces{"a", "B1", " ", "\"", "\\", "\n", "\x01", "ö", "日本", "🙂", "{", ",", "/"};
  std::string text;
  for (auto i : *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, pieces.size())))
    text += pieces[i];
  return text;
}

template <class Enum, std::size_t n>
Enum random_of(const Enum (&values)[n]) {
  return values[*rc::gen::inRange<std::size_t>(0, n)];
}
template <class Values>
auto random_of(const Values& values) {
  return values[*rc::gen::inRange<std::size_t>(0, values.size())];
}
inline std::string random_word(const std::vector<std::string>& words) {
  return words[*rc::gen::inRange<std::size_t>(0, words.size())];
}

/// `make` called a few times.
template <class Make>
auto random_list(Make make, std::size_t least = 0, std::size_t most = 3) {
  std::vector<decltype(make())> values;
  const auto count = *rc::gen::inRange<std::size_t>(least, most + 1);
  for (std::size_t i = 0; i < count; ++i) values.push_back(make());
  return values;
}
template <class Make>
auto random_option(Make make) {
  return random_flag() ? std::optional(make()) : std::nullopt;
}
inline std::vector<std::int64_t> random_counts() {
  return random_list([] { return random_count(); });
}

inline DType random_dtype() { return random_of(all_dtypes); }

inline std::vector<Axis> random_axes() {
  static const std::vector<const char*> names{"block",   "kv",   "token", "head",
                                              "channel", "step", "x",     "fifteen letters"};
  std::vector<Axis> axes;
  const auto rank = *rc::gen::inRange<std::size_t>(0, names.size() + 1);
  for (std::size_t i = 0; i < rank; ++i)
    axes.push_back({names[i], *rc::gen::inRange<std::int64_t>(0, 100), *rc::gen::inRange<std::int64_t>(0, 1 << 20)});
  return axes;
}

inline StateSpec random_state() {
  return {random_list([] {
            return StateTensor{random_text(), random_dtype(), row_major(random_axes()), random_count()};
          }),
          random_count(), random_count()};
}

inline AttentionGeometry random_attention() {
  using enum AttentionKind;
  return {.kind = random_of({full, sliding_window, chunked_local, mla, hidden_state}),
          .dtype = random_dtype(),
          .format = random_option([] { return random_of(all_kv_formats); }),
          .cells = random_option([] { return CellTypes{random_of(all_cell_types), random_of(all_cell_types)}; }),
          .form = random_of({BackendForm::paged, BackendForm::flex, BackendForm::cpu, BackendForm::diff_kv,
                             BackendForm::kv_first, BackendForm::kv_first_unordered, BackendForm::mla}),
          .order = random_of({PhysicalOrder::nhd, PhysicalOrder::hnd, PhysicalOrder::head_major}),
          .query_heads = random_count(),
          .kv_heads = random_count(),
          .head_size_k = random_count(),
          .head_size_v = random_count(),
          .window_tokens = random_count()};
}

inline SpecPlan random_spec(std::size_t id) {
  SpecPlan spec;
  spec.id = static_cast<std::int64_t>(id);
  spec.kind = random_word({"full_attention", "mla", "sliding_window", "gdn", "mamba2", "hidden_state"});
  spec.draft = random_flag();
  spec.auxiliary = random_flag();
  spec.layers = random_counts();
  spec.layers_per_page = random_count();
  spec.num_pages = random_count();
  spec.block_size_tokens = random_count();
  spec.kernel_block_size_tokens = random_count();
  spec.unpadded_page_bytes = random_count();
  spec.padding_percent = random_real();
  spec.checkpoint_blocks = random_count();
  spec.ring_tokens = random_count();
  spec.encoder_tokens = random_count();
  if (random_flag()) {
    spec.attention = random_attention();
    spec.bytes_per_token = random_count(1);
  } else {
    spec.state = random_state();
  }
  return spec;
}

inline LoadWaste random_load() {
  LoadWaste load;
  load.sequence_tokens = random_counts();
  for (std::int64_t LoadWaste::*field :
       {&LoadWaste::pool_bytes, &LoadWaste::token_bytes, &LoadWaste::state_bytes, &LoadWaste::extra_state_bytes,
        &LoadWaste::state_padding_bytes, &LoadWaste::attention_padding_bytes, &LoadWaste::short_pack_bytes,
        &LoadWaste::empty_position_bytes, &LoadWaste::block_tail_bytes, &LoadWaste::unused_entry_bytes,
        &LoadWaste::null_block_bytes, &LoadWaste::free_bytes})
    load.*field = random_count();
  return load;
}

inline Term random_term() {
  Term term{random_text(), random_count(), random_text()};
  const auto type = *rc::gen::inRange(0, 3);
  if (type == 1) term.value = random_real();
  if (type == 2) term.value = random_text();
  return term;
}

/// Below `count`.
inline std::int64_t random_index(std::size_t count) {
  return *rc::gen::inRange<std::int64_t>(0, static_cast<std::int64_t>(count));
}

/// What a page and a number of blocks say alone.
inline void set_equal_pages(Arrangement& plan) {
  const std::int64_t page = small_count();
  std::int64_t bytes = std::ssize(plan.pools) * page;
  for (const ExtraPlan& extra : plan.extras) bytes += extra.bytes_per_block;
  plan.arenas = {{"blocks", random_count(), bytes}};
  for (std::int64_t pool = 0; pool < std::ssize(plan.pools); ++pool)
    plan.lanes.push_back({{0}, {pool}, 0, page, page});
}

inline void set_arenas_apart(Arrangement& plan) {
  plan.arenas = random_list([] { return ArenaPlan{random_text(), random_count(), random_count(), random_flag()}; }, 2);
  plan.lanes = random_list(
      [&] {
        return LanePlan{{random_index(plan.arenas.size())}, {random_index(plan.pools.size())}, random_count(),
                        random_count(), random_count()};
      },
      1);
  std::stable_sort(plan.lanes.begin(), plan.lanes.end(),
                   [](const LanePlan& a, const LanePlan& b) { return a.arena.value < b.arena.value; });
}

inline GroupPlan random_group(const Arrangement& plan) {
  return {random_index(plan.specs.size()),
          random_list(random_counts),
          random_count(),
          {random_index(plan.arenas.size())},
          {random_index(plan.lanes.size())},
          random_count(1),
          random_count(1),
          random_flag(),
          *rc::gen::inRange<std::int64_t>(1, 4),
          random_option([] { return PagesInLane{random_count(), random_count()}; }),
          random_flag(),
          random_count(),
          std::nullopt};
}

/// A tensor of the state of its spec, where it has one.
inline void choose_tensor(const Arrangement& plan, GroupPlan& group) {
  const auto& state = plan.spec_of(group).state;
  if (state && !state->tensors.empty() && random_flag()) group.tensor = random_index(state->tensors.size());
}

inline PoolGroups random_pool_groups() {
  PoolGroups groups{random_flag(),  random_count(1), random_count(), random_count(), random_count(1), random_count(),
                    random_count(1), random_count(), random_count(), random_count(), random_count(), random_count()};
  groups.points = {random_count(), random_list([] { return random_count(1); }),
                   random_list([] { return random_count(); }), random_flag()};
  groups.partial_reuse = random_flag();
  groups.evicts_alone = random_flag();
  if (random_flag()) groups.host = {random_count(1), random_count(), random_count(1), random_count(1)};
  return groups;
}

inline CellBytes random_cells() { return {random_count(), random_count()}; }

inline SequenceRows random_rows() {
  const auto few = [](std::int64_t least) { return *rc::gen::inRange<std::int64_t>(least, 1000); };
  return {few(1), random_count(1), random_flag(), random_count(1), random_count(1), random_count(1), random_count(1),
          random_count(), few(0), random_count(), few(0), random_count(), random_flag(), random_count(), random_flag(),
          {random_count(), random_count(), random_count(1), random_count(), random_cells(),
           random_option(random_cells), random_count(), random_option(random_cells)}};
}

inline TreePools random_tree() {
  using Count = StateSlotCount;
  const TokenStateSplit split{random_of({Count::explicit_size, Count::requests, Count::ratio}),
                              random_count(), random_count(), random_count(), random_count(), random_count(),
                              random_count(), random_count(), random_count()};
  return {random_of({TreeStrategy::no_buffer, TreeStrategy::extra_buffer_lazy}),
          random_count(), random_count(), random_count(), random_count(), random_count(), split,
          random_option([] {
            return UnifiedPool{random_count(), random_count(), random_count(), random_count(), random_count()};
          }),
          TreeHost{random_count(), random_count(), random_of({HostCopies::write_through, HostCopies::write_back})},
          random_list([] {
            return LengthAdvice{random_count(), random_real(), random_real(), random_count(), random_count(),
                                random_count(), random_count(), random_real()};
          })};
}

inline SupposedLayout random_supposed() {
  SupposedLayout what_if{random_flag() ? random_text() : "", random_option([] { return random_count(1); }), {}, {}};
  what_if.groups = random_list(random_counts);
  what_if.states = {random_count(), random_count(1), random_flag()};
  return what_if;
}

/// Pools, in which nothing agrees with anything.
inline Arrangement random_pools() {
  Arrangement plan;
  plan.rules = random_of(all_engine_rules());
  plan.backend_profile = random_option([] { return random_of(all_backend_profiles); });
  plan.specs = random_list([] { return SpecPlan{}; }, 1);
  for (std::size_t i = 0; i < plan.specs.size(); ++i) plan.specs[i] = random_spec(i);
  plan.attention_pack_size = random_count(1);
  plan.cache_mode = random_of({CacheMode::none, CacheMode::align, CacheMode::all});
  plan.speculative_tokens = random_count();
  plan.max_num_batched_tokens = random_count();
  plan.concurrent_batches = random_count(1);
  plan.lookahead_tokens = random_count();
  plan.decode_context_parallel = random_count(1);
  plan.strategy = random_of(all_strategies);
  if (random_flag()) plan.what_if = random_supposed();
  plan.pools = random_list(
      [&] {
        return PoolPlan{random_count(), random_count(), random_list([&] {
                          return LayerRef{random_index(plan.specs.size()), random_count()};
                        })};
      },
      1);
  plan.extras = random_list([] { return ExtraPlan{random_text(), small_count(), random_count()}; });
  if (random_flag())
    set_equal_pages(plan);
  else
    set_arenas_apart(plan);
  plan.groups = random_list([&] { return random_group(plan); }, 1);
  for (GroupPlan& group : plan.groups) choose_tensor(plan, group);
  plan.tree_pools = random_option(random_tree);
  plan.pool_groups = random_option(random_pool_groups);
  plan.rows = random_option(random_rows);
  return plan;
}

/// One allocation, whose tensors follow from the rest: a real one.
inline Arrangement random_one_allocation() {
  EngineSpec engine{.rules = &rules_of_vllm_0_33, .memory_bytes = 1 << 22};
  engine.backend_profile = random_option([] { return random_of({BackendProfile::sm80, BackendProfile::sm90}); });
  ModelSpec model = tiny_model();
  if (random_flag()) {
    engine.cache_order = random_of({CacheOrder::lbhnc, CacheOrder::lbnhc, CacheOrder::blhnc, CacheOrder::blnhc});
    engine.cache_mode = random_of({CacheMode::none, CacheMode::align});
  } else {
    model = hybrid_model("dense", 3, full_attention(2, 16, 4), GdnSpec{}, [](std::int64_t) { return true; });
    engine.cache_order = random_of(all_cache_orders);
  }
  return make_plan(model, engine, {.max_model_lens = {1000}});
}

inline IdsByCause random_ids() {
  return {random_count(), random_count(), random_count(), random_count(), random_count(), random_count(),
          random_count()};
}

inline CachePlan random_plan() {
  CachePlan plan{*rc::gen::inRange(0, 4) == 0 ? random_one_allocation() : random_pools()};
  plan.shared_kv = random_list([] { return SharedLayer{random_count(), random_count()}; });
  const auto any_spec = [&] { return random_index(plan.specs.size()); };
  plan.capacity = random_list(
      [] {
        return CapacityPlan{random_count(1), random_count(), random_count(), random_count(), random_flag(),
                            random_real(),   random_real(),  random_ids(),   random_count(), random_count(),
                            random_count()};
      },
      1);
  plan.max_fitting_tokens = random_count();
  plan.max_running_requests = random_count();
  plan.max_running_requests_by_states = random_count();
  plan.one_token_request_bytes = random_count();
  plan.prefix = {random_flag(), random_count(), random_option([] { return random_count(1); }), random_count(),
                 random_option([] { return random_count(1); }), random_count(), random_count(), random_text()};
  plan.waste.per_block = random_list([&] {
    return BlockWaste{random_index(plan.groups.size()), random_count(), random_count(), random_count(), random_count()};
  });
  plan.waste.at_load = random_load();
  plan.waste.unallocated_bytes = random_count();
  plan.views = random_list([&] {
    const DType dtype = random_dtype();
    const std::int64_t element = element_bytes(dtype);
    return ViewPlan{any_spec(), random_count(), random_text(), random_index(plan.pools.size()), dtype,
                    scale(Layout(random_axes(), random_count() / element), element), {random_index(plan.lanes.size())},
                    random_count(), random_count()};
  });
  plan.view_error = random_text();
  plan.workspace = random_option([] {
    return WorkspacePlan{{random_count(1), random_count(1), random_count(1), random_count(1), random_dtype()},
                         random_count(), random_count(), random_count()};
  });
  plan.derivation =
      random_list([] { return Decision{random_term(), random_text(), random_list(random_term), random_text()}; });
  plan.warnings = random_list([] { return Warning{random_text(), random_text()}; });
  plan.kernels = random_list([] {
    return KernelFit{random_text(), kernel_verdict_words[random_index(kernel_verdict_words.size())].verdict,
                     random_list(random_text)};
  });
  return plan;
}

inline PlanSet random_plan_set() {
  return {random_text(), random_count(1), random_word({"uniform_page", "packed_attention"}),
          random_list(random_plan, 1, 2)};
}

}  // namespace hybridkv::testing
