#include "verify/forward/forward_tree_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/checked.h"
#include "planner/tree_split.h"
#include "simulator/tree/plan_tree.h"
#include "verify/forward/forward_tree.h"

namespace hybridkv {

namespace {

/// Tokens of a chunk of the scan, as the cases have it.
constexpr std::int64_t small_scan_chunk = 16;

using Prompts = std::vector<TreePrompt>;
using Records = std::span<const TreeRecord>;
using Shows = std::function<bool(Records)>;

/// Sizes both pools as small as they may be for a case to show what it is about: pages first.
TreeSettings with_smallest_pools(TreeSettings settings, const Prompts& requests, const Shows& shows) {
  settings.token_slots = smallest_pool(settings, &TreeSettings::token_slots, requests, shows);
  settings.state_slots = smallest_pool(settings, &TreeSettings::state_slots, requests, shows);
  return settings;
}

std::int64_t evicted_tokens(Records records) {
  return std::accumulate(records.begin(), records.end(), std::int64_t{0},
                         [](std::int64_t sum, const TreeRecord& record) { return sum + record.evicted_tokens; });
}

std::int64_t hit_tokens(Records records) {
  return std::accumulate(records.begin(), records.end(), std::int64_t{0},
                         [](std::int64_t sum, const TreeRecord& record) { return sum + record.hit_tokens; });
}

/// A case under one setting of the tree. G is its grid of states.
class TreeCase {
 public:
  TreeCase(const ForwardSetting& setting, ForwardResult& result)
      : setting_(setting), result_(result), settings_(*setting.tree), grid_(settings_.checkpoint_grid()) {}

  void chunks();
  void copy_on_match();
  void branch();
  void tombstone();
  void eviction();
  void decode_state();
  void fresh_blocks();
  void recycling();

 private:
  /// Runs all requests, in order.
  std::vector<TreeRecord> run_all(TreeRun& run, const Prompts& requests) {
    std::vector<TreeRecord> records;
    for (const TreePrompt& request : requests) records.push_back(run.run(request));
    run.count();
    return records;
  }
  bool tracks() const { return settings_.has_tracking(); }

  const ForwardSetting& setting_;
  ForwardResult& result_;
  TreeSettings settings_;
  std::int64_t grid_;
};

void TreeCase::chunks() {
  settings_.chunk_tokens = round_up(grid_ + grid_ / 2, settings_.page);
  const Prompts requests{{{{1, 4 * grid_ + 5}}}, {{{1, 4 * grid_ + 5}}, {101, 2}}, {{{1, 3 * grid_}, {2, 9}}}};
  TreeRun run(setting_, with_smallest_pools(settings_, requests, [](Records records) {
                 return records[1].hit_tokens > 0 && records[2].hit_tokens > 0 && evicted_tokens(records) == 0;
              }), result_);
  const std::vector<TreeRecord> records = run_all(run, requests);
  run.expect(records[0].chunks.size() > 2 && records[0].states_made > 1, "the first prompt left no states in chunks");
  run.expect(records[1].hit_tokens >= 2 * grid_, "the second request found no state of a chunk");
}

void TreeCase::copy_on_match() {
  settings_.chunk_tokens = 2 * grid_;
  const std::int64_t hit = 2 * grid_;
  const Prompts requests{{{{1, hit + 5}}, {101, 3}},
                         {{{1, hit + 5}}, {102, 3}},
                         {{{1, hit}, {2, 9}}, {102, 2}},
                         {{{1, hit}, {3, 4}}, {103, 2}}};
  const Shows shows = [&](Records records) {
    return std::all_of(records.begin() + 1, records.end(),
                       [&](const TreeRecord& record) { return record.hit_tokens == hit; });
  };
  TreeRun run(setting_, with_smallest_pools(settings_, requests, shows), result_);
  run.expect(shows(run_all(run, requests)), "the state was not hit by all that follow");
}

void TreeCase::branch() {
  settings_.chunk_tokens = 4 * grid_;
  const std::int64_t shared = 2 * grid_ + grid_ / 2;
  Prompts requests{{{{1, 3 * grid_ + 3}}},
                   {{{1, shared}, {2, 6 * grid_ - shared}}},
                   {{{1, shared}, {3, 9}}, {101, 2}},
                   {{{1, shared}, {2, 2 * grid_}, {4, 5}}}};
  // Without tracking slots no state is taken where prompts part: one goes on from the end of a chunk.
  if (!tracks()) std::swap(requests[2], requests[3]);
  const std::int64_t hit = tracks() ? 2 * grid_ : 4 * grid_;
  const Shows shows = [&](Records records) {
    return records[1].hit_tokens == 0 && records[1].branch_tokens >= 2 * grid_ && records[1].evicted_tokens == 0 &&
           records[2].hit_tokens == hit;
  };
  // No page is left when the second request has its first chunk: those that the tree has already are its next ones.
  settings_.token_slots = smallest_pool(settings_, &TreeSettings::token_slots, requests, shows);
  TreeRun run(setting_, settings_, result_);
  std::vector<TreeRecord> records;
  for (const TreePrompt& request : requests) {
    if (records.size() == 2) run.plant(ForwardFault::neighbour_state, run.state_slots_at(hit, true));
    records.push_back(run.run(request));
  }
  run.count();
  run.expect(run.tree().num_splits() > 0, "no node was split");
  run.expect(result_.reused_blocks > 0, "no page that the tree had already was taken again");
  run.expect(shows(records), "the state of the branch was not hit");
}

void TreeCase::tombstone() {
  settings_.chunk_tokens = 2 * grid_;
  const std::int64_t before = 2 * grid_, dead = 4 * grid_;
  // The second request uses the state before, so that the one behind it is the least recently used.
  const Prompts requests{{{{1, 6 * grid_ + 3}}},
                         {{{1, before}, {2, 9}}},
                         {{{3, 2 * grid_ + 3}}},
                         {{{1, dead}, {4, 7}}, {101, 2}},
                         {{{1, dead}, {5, 3}}}};
  const Shows shows = [&](Records records) {
    return records[1].hit_tokens == before && records[1].evicted_states == 0 && records[2].evicted_states > 0 &&
           records[2].evicted_tokens == 0 && records[3].kv_match_tokens == dead && records[3].hit_tokens == before &&
           records[4].hit_tokens == dead;
  };
  TreeRun run(setting_, with_smallest_pools(settings_, requests, shows), result_);
  std::vector<TreeRecord> records;
  std::vector<StateSlot> slots;
  for (const TreePrompt& request : requests) {
    if (records.size() == 2) slots = run.state_slots_at(dead);
    if (records.size() == 3) run.plant(ForwardFault::tombstone_slot, slots);
    records.push_back(run.run(request));
  }
  run.count();
  run.expect(shows(records), "no state was evicted between KV that stays and the state before");
}

void TreeCase::eviction() {
  settings_.chunk_tokens = 2 * grid_;
  const std::int64_t left = 2 * grid_;
  const Prompts requests{{{{1, 4 * grid_ + 3}}}, {{{2, 3 * grid_}}}, {{{1, 4 * grid_}, {3, 5}}, {101, 2}}};
  const Shows shows = [&](Records records) {
    return records[0].evicted_tokens == 0 && records[1].evicted_tokens > 0 && records[1].evicted_states > 0 &&
           records[2].hit_tokens == left && records[2].kv_match_tokens == left;
  };
  TreeRun run(setting_, with_smallest_pools(settings_, requests, shows), result_);
  run.expect(shows(run_all(run, requests)), "no leaf went while its path stayed");
  run.expect(result_.reused_blocks > 0, "no page of a leaf was taken again");
}

void TreeCase::decode_state() {
  settings_.chunk_tokens = 4 * grid_;
  const std::int64_t end = 2 * settings_.decode_grid();  // the last state while decoding
  const std::int64_t prompt = grid_ + 3, known = end + 4 - prompt;
  // The last token generated is not computed; without tracking the state is that of all that are.
  const Prompts requests{{{{1, prompt}}, {101, known + 1}}, {{{1, prompt}, {101, known}, {2, 5}}, {102, 3}}};
  const std::int64_t hit = tracks() ? end : end + 4;
  const Shows shows = [&](Records records) { return records[1].hit_tokens == hit; };
  const bool lazy = settings_.strategy == TreeStrategy::extra_buffer_lazy;
  TreeSettings pools = with_smallest_pools(settings_, requests, shows);
  const auto runs = [&](std::int64_t slots_in_turn) {
    TreeRun run(setting_, pools, result_);
    std::vector<TreeRecord> records{run.run(requests[0])};
    run.expect(!tracks() || run.num_tracking_slots() >= slots_in_turn, "the tracking slots were not used in turn");
    records.push_back(run.run(requests[1]));
    run.count();
    run.expect(shows(records), "the state of the decode was not hit");
  };
  runs(settings_.tracking_slots());
  if (!lazy) return;
  ++pools.state_slots;  // With no slot free a lazy request writes over the one it has; with one free it takes turns.
  runs(2);
}

void TreeCase::fresh_blocks() {
  const Prompts requests{{{{1, grid_ + 7}}, {101, 2}}, {{{2, grid_ + 7}}, {102, 2}}};
  TreeRun run(setting_, with_smallest_pools(settings_, requests, [](Records) { return true; }), result_);
  run.run(requests[0]);
  const std::int64_t before = run.engine().work().zeroed_dirty_states;
  run.run(requests[1]);
  run.count();
  run.expect(run.engine().work().zeroed_dirty_states > before, "no fresh state slot held other bytes");
}

void TreeCase::recycling() {
  settings_.chunk_tokens = 2 * grid_;
  Prompts requests;
  for (int round = 0; round < 4; ++round)
    for (const std::uint64_t last_id : {2, 3, 4, 5})
      requests.push_back(last_id == 5 ? TreePrompt{{{6, grid_ + 9}}, {101, 2}}
                                      : TreePrompt{{{1, 2 * grid_}, {last_id, 5}}, {101, 2}});
  const Shows shows = [](Records records) { return hit_tokens(records) > 0 && evicted_tokens(records) > 0; };
  TreeRun run(setting_, with_smallest_pools(settings_, requests, shows), result_);
  run.expect(shows(run_all(run, requests)), "nothing was hit or nothing evicted");
  run.expect(result_.reused_blocks > 2 * run.tree().token_pool().num_pages(), "pages were hardly used again");
}

}  // namespace

std::int64_t most_forward_tree_tokens(std::int64_t page_tokens) {
  return 24 * tree_checkpoint_grid(small_scan_chunk, page_tokens);
}

std::string reason_not_to_run(const TreeSettings& settings) {
  if (settings.host.exists())
    return "what lies on the host is replayed and not computed with; leave engine.enable_hierarchical_cache out";
  const std::int64_t longest = 8 * settings.checkpoint_grid();
  if (longest <= longest_forward_run) return "";
  return fmt::format("states every {} tokens make prompts of {}, more than the {} that a forward pass runs; take a "
                     "smaller engine.page_size", settings.checkpoint_grid(), longest, longest_forward_run);
}

TreeSettings tree_case_settings(const CachePlan& plan, const ModelSpec& model, const EngineSpec& engine) {
  TreeSettings settings = tree_settings_of(plan, model, engine);
  settings.model_chunk = small_scan_chunk;
  settings.track_interval = 2 * settings.checkpoint_grid();
  settings.chunk_tokens = 4 * settings.checkpoint_grid();
  settings.decodes = settings.numbers_pages = true;
  return settings;
}

void run_tree_case(ForwardCase forward_case, const ForwardSetting& setting, ForwardResult& result) {
  TreeCase run(setting, result);
  switch (forward_case) {
    case ForwardCase::chunks: return run.chunks();
    case ForwardCase::copy_on_match: return run.copy_on_match();
    case ForwardCase::branch: return run.branch();
    case ForwardCase::tombstone: return run.tombstone();
    case ForwardCase::eviction: return run.eviction();
    case ForwardCase::decode_state: return run.decode_state();
    case ForwardCase::fresh_blocks: return run.fresh_blocks();
    case ForwardCase::recycling: return run.recycling();
    default: throw std::logic_error("a case of radix trees");
  }
}

}  // namespace hybridkv
