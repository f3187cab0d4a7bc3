#include "verify/forward/forward_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "verify/forward/forward_exports.h"
#include "verify/forward/forward_geometry.h"
#include "verify/forward/forward_run.h"
#include "verify/forward/forward_slot_case.h"
#include "verify/forward/forward_snapshot_case.h"
#include "verify/forward/forward_steps.h"
#include "verify/forward/forward_tree_case.h"

namespace hybridkv {

namespace {

constexpr std::array block_cases{ForwardCase::shared_prefix, ForwardCase::resume,     ForwardCase::branch,
                                 ForwardCase::copy_on_write, ForwardCase::preemption, ForwardCase::drafts,
                                 ForwardCase::fresh_blocks,  ForwardCase::recycling,  ForwardCase::window};
constexpr std::array tree_cases{ForwardCase::chunks,    ForwardCase::copy_on_match, ForwardCase::branch,
                                ForwardCase::tombstone, ForwardCase::eviction,      ForwardCase::decode_state,
                                ForwardCase::fresh_blocks, ForwardCase::recycling};
constexpr std::array slot_cases{ForwardCase::resume,    ForwardCase::branch, ForwardCase::drafts,
                                ForwardCase::fresh_blocks, ForwardCase::recycling, ForwardCase::chunks,
                                ForwardCase::eviction,  ForwardCase::decode_state, ForwardCase::saved_prompts,
                                ForwardCase::one_past};
constexpr std::array snapshot_cases{ForwardCase::resume,       ForwardCase::branch,    ForwardCase::copy_on_write,
                                    ForwardCase::fresh_blocks, ForwardCase::recycling, ForwardCase::chunks,
                                    ForwardCase::copy_on_match, ForwardCase::tombstone, ForwardCase::eviction};
constexpr std::array export_cases{ForwardCase::shared_prefix, ForwardCase::resume,     ForwardCase::branch,
                                  ForwardCase::copy_on_write, ForwardCase::preemption, ForwardCase::drafts,
                                  ForwardCase::fresh_blocks,  ForwardCase::recycling,  ForwardCase::window,
                                  ForwardCase::exported,      ForwardCase::fine_export, ForwardCase::junction,
                                  ForwardCase::lookahead};
constexpr std::array cases{ForwardCase::shared_prefix, ForwardCase::resume,        ForwardCase::branch,
                           ForwardCase::copy_on_write, ForwardCase::preemption,    ForwardCase::drafts,
                           ForwardCase::fresh_blocks,  ForwardCase::recycling,     ForwardCase::window,
                           ForwardCase::chunks,        ForwardCase::copy_on_match, ForwardCase::tombstone,
                           ForwardCase::eviction,      ForwardCase::decode_state,  ForwardCase::exported,
                           ForwardCase::fine_export,   ForwardCase::junction,      ForwardCase::lookahead,
                           ForwardCase::saved_prompts, ForwardCase::one_past};
constexpr std::array<std::string_view, cases.size()> case_names{
    "shared-prefix", "resume", "branch",        "copy-on-write", "preemption", "drafts",      "fresh-blocks",
    "recycling",     "window", "chunks",        "copy-on-match", "tombstone",  "eviction",    "decode-state",
    "export",        "fine-export", "junction",    "lookahead",     "saved-prompts", "one-past"};

/// Two requests that run at once, of whom one loses its blocks.
struct PreemptingPrompts {
  std::int64_t tokens = 0;       ///< of each prompt
  std::int64_t large_pages = 0;  ///< null page included
};

constexpr std::int64_t preempted_outputs = 10;

/// Do two requests of so many tokens preempt each other, and both end?
bool preempts(const CacheGeometry& geometry, std::int64_t tokens) {
  bool all_end = true;
  Scheduler scheduler(geometry, false,
                      [&](const RequestRecord& record) { all_end = all_end && record.status == RequestStatus::ok; });
  for (std::int64_t index = 0; index < 2; ++index) {
    TraceRequest request;
    request.index = index;
    request.input_length = tokens;
    request.output_length = preempted_outputs;
    const ContentRun prompt{static_cast<std::uint64_t>(index + 1), tokens};
    scheduler.submit(request, runs_of({&prompt, 1}));
  }
  while (scheduler.num_in_flight() > 0) {
    scheduler.schedule(0);
    scheduler.complete(0);
  }
  return all_end && scheduler.num_preemptions() > 0;
}

/// With large pages that all arenas share a request goes on in what one has left over, so the prompts have to end where
/// one ends: found by trying, the scheduler alone.
std::optional<PreemptingPrompts> preempting_prompts(CacheGeometry geometry) {
  const std::int64_t block = geometry.block_size_tokens, most_pages = geometry.num_large_pages();
  for (std::int64_t blocks = 2; (blocks + 1) * block + preempted_outputs <= longest_forward_run; ++blocks)
    for (std::int64_t pages = 2; pages <= most_pages; ++pages) {
      geometry.set_large_pages(pages);
      if (preempts(geometry, blocks * block - 4)) return PreemptingPrompts{blocks * block - 4, pages};
    }
  return std::nullopt;
}

/// Ids of an arena in which one of two requests loses its blocks, with room in all other arenas: found by trying as
/// well, since windows give blocks back and some engines ask for blocks of states that a request does not take.
std::optional<std::int64_t> preempting_ids(CacheGeometry geometry, std::int64_t arena) {
  const std::int64_t tokens = 2 * geometry.block_size_tokens - 4;
  const auto most = [&, all = geometry](std::int64_t of) { return 2 * most_block_ids(all, of, 2 * tokens); };
  for (std::int64_t ids = 1; ids < most(arena); ++ids) {
    size_arenas(geometry, [&](std::int64_t of) { return of == arena ? ids : most(of); });
    if (preempts(geometry, tokens)) return ids;
  }
  return std::nullopt;
}

bool can_preempt(const CacheGeometry& geometry) {
  if (geometry.shares_large_pages()) return preempting_prompts(geometry).has_value();
  for (std::int64_t arena = 0; arena < geometry.num_arenas(); ++arena)
    if (preempting_ids(geometry, arena)) return true;
  return false;
}

void run_shared_prefix(const ForwardSetting& setting, ForwardResult& result) {
  const CacheGeometry geometry = forward_geometry(setting.plan);
  const std::int64_t block = geometry.block_size_tokens;
  ForwardRun run(setting, geometry, result);
  const std::int64_t first = run.submit({{1, 2 * block + 5}}, 6);
  run.run_prompt(first);
  run.expect(run.is_running(first), "the first request has ended before the second began");
  const std::vector<ContentRun> prompt{{1, 2 * block}, {2, 9}};
  const bool wrong = setting.fault == ForwardFault::wrong_prefix;
  const std::int64_t second = run.submit(wrong ? std::vector<ContentRun>{{3, 2 * block}, {2, 9}} : prompt, 3, prompt);
  run.run_all();
  run.count();
  if (wrong) result.planted = run.record(second).hit_tokens;
  run.expect(run.record(second).hit_tokens == 2 * block, "the second request found no shared prefix");
}

std::int64_t num_held(const CacheManager& cache) {
  std::int64_t held = 0;
  for (std::int64_t arena = 0; arena < cache.geometry().num_arenas(); ++arena) held += cache.pool(arena).num_held();
  return held;
}

void run_resume(const ForwardSetting& setting, ForwardResult& result) {
  const CacheGeometry geometry = forward_geometry(setting.plan);
  const std::int64_t block = geometry.block_size_tokens;
  ForwardRun run(setting, geometry, result);
  run.submit({{1, 2 * block + 5}}, 3);
  run.run_all();
  run.expect(num_held(run.scheduler().cache()) == 0, "the first request still holds blocks");
  const std::int64_t second = run.submit({{1, 2 * block}, {2, 9}}, 3);
  run.run_all();
  run.count();
  run.expect(run.record(second).hit_tokens == 2 * block, "the second request found no checkpoint");
}

void run_branch(const ForwardSetting& setting, ForwardResult& result) {
  CacheGeometry geometry = forward_geometry(setting.plan);
  const std::int64_t block = geometry.block_size_tokens;
  geometry.max_num_batched_tokens = 4 * block;  // the first prompt in one chunk: it leaves no checkpoint but its last
  ForwardRun run(setting, geometry, result);
  run.submit({{1, 3 * block + 3}}, 1);
  run.run_all();
  const std::int64_t second = run.submit({{1, block + block / 2}, {3, block + 5}}, 1);
  run.run_all();
  const std::int64_t third = run.submit({{1, block + block / 2}, {4, 9}}, 2);
  run.run_all();
  run.count();
  // In 0.33 windows keep only the blocks before the last boundary of a prompt, long ones also the first.
  const auto has_window = [](const KeyMask& mask) { return mask.kind != MaskKind::full; };
  const auto& masks = geometry.attention_masks;
  const bool keeps_few =
      geometry.rules.blocks->retains_windows() && std::any_of(masks.begin(), masks.end(), has_window);
  const bool makes_branch = (geometry.mode == CacheMode::align && geometry.state_groups > 0) ||
                            (keeps_few && run.record(second).hit_tokens == 0);
  run.expect(run.record(second).hit_tokens == (makes_branch ? 0 : block), "the second request hit something else");
  run.expect(run.record(third).hit_tokens == block, "the branch point was not found");
}

/// A match unit with which prefixes may end within a block.
std::int64_t half_block(const CacheGeometry& geometry) { return geometry.common_block() / 2; }

bool can_end_within_block(CacheGeometry geometry) {
  geometry.match_unit_tokens = half_block(geometry);
  return geometry.has_partial_tails();
}

void run_copy_on_write(const ForwardSetting& setting, ForwardResult& result) {
  CacheGeometry geometry = forward_geometry(setting.plan);
  const std::int64_t block = geometry.block_size_tokens;
  geometry.match_unit_tokens = half_block(geometry);
  ForwardRun run(setting, geometry, result);
  const std::int64_t shared = block + block / 2;
  run.submit({{1, shared + 3}}, 2);
  run.run_all();
  const std::int64_t second = run.submit({{1, shared}, {5, block}}, 3);
  run.run_all();
  run.count();
  run.expect(run.record(second).hit_tokens == shared, "the second request found no partial block");
  run.expect(run.engine().work().page_copies > 0, "no block was copied");
}

void run_preemption(const ForwardSetting& setting, ForwardResult& result) {
  CacheGeometry geometry = forward_geometry(setting.plan);
  const std::int64_t block = geometry.block_size_tokens;
  std::int64_t tokens = 2 * block - 4;
  if (geometry.shares_large_pages()) {
    const auto found = preempting_prompts(geometry);
    tokens = found->tokens;
    geometry.set_large_pages(found->large_pages);
  } else {
    size_arenas(geometry, [&, all = geometry](std::int64_t arena) {
      return preempting_ids(all, arena).value_or(2 * most_block_ids(all, arena, 3 * block));
    });
  }
  ForwardRun run(setting, geometry, result);
  run.submit({{1, tokens}}, preempted_outputs);
  run.submit({{2, tokens}}, preempted_outputs);
  run.run_all();
  run.count();
  run.expect(run.scheduler().num_preemptions() > 0, "no request was preempted");
}

void run_fresh_blocks(const ForwardSetting& setting, ForwardResult& result) {
  CacheGeometry geometry = forward_geometry(setting.plan);
  const std::int64_t block = geometry.block_size_tokens;
  size_arenas(geometry, [&, all = geometry](std::int64_t arena) { return most_block_ids(all, arena, block + 9); });
  ForwardRun run(setting, geometry, result);
  run.submit({{1, block + 7}}, 2);
  run.run_all();
  const std::int64_t before = run.engine().work().zeroed_dirty_states;
  run.submit({{2, block + 7}}, 2);
  run.run_all();
  run.count();
  run.expect(run.engine().work().zeroed_dirty_states > before, "no fresh state block held other bytes");
}

/// Was every arena handed out so many times over? Of large pages that all share each of them, or all blocks of one
/// arena inside of them.
bool went_round(const CacheManager& cache, std::int64_t rounds) {
  if (const PageLedger* const ledger = cache.ledger()) {
    // Blocks of a large page are used again inside of it, too, without its going to another pool.
    bool went = ledger->num_given() >= rounds * (ledger->num_pages() - 1);
    for (std::int64_t arena = 0; arena < cache.geometry().num_arenas(); ++arena)
      went = went || cache.pool(arena).stats().allocations >= rounds * usable_ids(cache.geometry(), arena);
    return went;
  }
  for (std::int64_t arena = 0; arena < cache.geometry().num_arenas(); ++arena)
    if (cache.pool(arena).stats().allocations < rounds * usable_ids(cache.geometry(), arena)) return false;
  return true;
}

void run_recycling(const ForwardSetting& setting, ForwardResult& result) {
  CacheGeometry geometry = forward_geometry(setting.plan);
  const std::int64_t block = geometry.block_size_tokens;
  size_arenas(geometry, [&, all = geometry](std::int64_t arena) {
    return most_block_ids(all, arena, block + 5) + groups_of_arena(all, arena).attention;
  });
  ForwardRun run(setting, geometry, result);
  constexpr std::int64_t rounds = 4;
  // Large pages go to others only when nobody keeps a prompt in them, so that each prompt there is a new one.
  const bool shares_pages = geometry.shares_large_pages();
  for (std::uint64_t i = 0; i < (shares_pages ? 400 : 24); ++i) {
    run.submit({{1 + (shares_pages ? i : i % 3), block + 3}}, 2);
    run.run_all();
    if (went_round(run.scheduler().cache(), rounds)) break;
  }
  run.count();
  run.expect(went_round(run.scheduler().cache(), rounds), "blocks were hardly used again");
}

bool needs_prefix_cache(ForwardCase forward_case) {
  return forward_case == ForwardCase::shared_prefix || forward_case == ForwardCase::resume ||
         forward_case == ForwardCase::branch || forward_case == ForwardCase::copy_on_write;
}

/// Why the case has nothing to show under this plan; empty where it has.
std::string reason_not_to_run(ForwardCase forward_case, const CacheGeometry& geometry) {
  if (!geometry.rules.blocks->finds_chunks())
    for (const KeyMask& mask : geometry.attention_masks)
      if (mask.kind == MaskKind::chunked_local)
        return fmt::format("prefixes of chunked attention are not simulated with the rules of {}, so none is proven",
                           geometry.rules.engine->name);
  if (needs_prefix_cache(forward_case) && !geometry.caches_prefixes())
    return std::string(geometry.why_no_prefixes());
  if (forward_case == ForwardCase::copy_on_write && !can_end_within_block(geometry))
    return "hits end at whole blocks: by these rules only those of states end inside, beside windows with short blocks";
  if (forward_case >= ForwardCase::exported) return why_no_export_case(forward_case, geometry);
  if (forward_case == ForwardCase::fresh_blocks && geometry.state_groups == 0) return "the model keeps no state";
  if (forward_case == ForwardCase::branch && geometry.mode == CacheMode::align)
    if (const std::string why = why_none_parts(geometry); !why.empty()) return why;
  if (forward_case == ForwardCase::preemption && geometry.attention_groups == 0)
    return "without attention a request never needs more blocks";
  if (forward_case == ForwardCase::preemption && geometry.state_block_size_tokens)
    return "states are kept more often than the blocks of all attention end, and no pool is sized for that here";
  if (forward_case == ForwardCase::preemption && !can_preempt(geometry))
    return geometry.shares_large_pages() ? "large pages have room to the end for all that two requests take"
                                         : "behind its windows a request gives back as many blocks as it takes";
  if (forward_case != ForwardCase::window) return "";
  const std::int64_t give_back = first_give_back(geometry);
  if (give_back == 0) return "no layer has a window or chunk";
  if (give_back > longest_forward_run)
    return fmt::format("blocks go back behind {} tokens, more than the {} that a forward pass runs; take a larger "
                       "--scale", give_back, longest_forward_run);
  if (!fits_window_pools(geometry))
    return "before its chunks end a request holds more than it does beside a short one afterwards";
  return "";
}

ForwardResult empty_result(ForwardCase forward_case, const ForwardSetting& setting) {
  ForwardResult result{.forward_case = forward_case, .mode = setting.plan.cache_mode};
  if (!setting.tree) return result;
  result.strategy = setting.tree->strategy;
  result.page_tokens = setting.tree->page;
  return result;
}

void run_block_case(ForwardCase forward_case, const ForwardSetting& setting, ForwardResult& result) {
  switch (forward_case) {
    case ForwardCase::shared_prefix: return run_shared_prefix(setting, result);
    case ForwardCase::resume: return run_resume(setting, result);
    case ForwardCase::branch: return run_branch(setting, result);
    case ForwardCase::copy_on_write: return run_copy_on_write(setting, result);
    case ForwardCase::preemption: return run_preemption(setting, result);
    case ForwardCase::drafts: return run_drafts(setting, result);
    case ForwardCase::fresh_blocks: return run_fresh_blocks(setting, result);
    case ForwardCase::recycling: return run_recycling(setting, result);
    case ForwardCase::window: return run_window(setting, result);
    case ForwardCase::exported:
    case ForwardCase::fine_export:
    case ForwardCase::junction:
    case ForwardCase::lookahead: return run_export_case(forward_case, setting, result);
    default: throw std::logic_error("a case of block tables");
  }
}

/// With a fault planted a case passes nothing: an output is wrong, or the fault had no effect here, or it was missed.
void judge_fault(const ForwardSetting& setting, ForwardResult& result) {
  if (result.times_allowed() > 1) return;
  if (setting.fault && result.planted == 0) {
    result.status = ForwardStatus::does_not_apply;
    result.message = fmt::format("nowhere to plant {}: {}", to_string(*setting.fault), info_of(*setting.fault).without);
    return;
  }
  result.status = ForwardStatus::missed;
  if (result.message.empty()) result.message = "the planted fault changes no output";
}

}  // namespace

std::span<const ForwardCase> all_forward_cases() { return cases; }

std::span<const ForwardCase> forward_cases_of(const EngineRules& rules) {
  switch (forward_path_of(rules)) {
    case ForwardPath::tree: return tree_cases;
    case ForwardPath::exports: return export_cases;
    case ForwardPath::slots: return slot_cases;
    case ForwardPath::snapshots: return snapshot_cases;
    case ForwardPath::blocks: break;
  }
  return block_cases;
}

std::string_view to_string(ForwardCase forward_case) { return case_names[static_cast<std::size_t>(forward_case)]; }

ForwardResult unproven_result(ForwardCase forward_case, const ForwardSetting& setting, std::string reason) {
  ForwardResult result = empty_result(forward_case, setting);
  result.status = ForwardStatus::does_not_apply;
  result.message = std::move(reason);
  return result;
}

ForwardResult run_forward_case(ForwardCase forward_case, const ForwardSetting& setting) {
  std::string reason = setting.tree        ? reason_not_to_run(*setting.tree)
                       : setting.slots     ? reason_not_to_run(forward_case, *setting.slots)
                       : setting.snapshots ? reason_not_to_run(forward_case, *setting.snapshots)
                                           : reason_not_to_run(forward_case, forward_geometry(setting.plan));
  if (!reason.empty()) return unproven_result(forward_case, setting, std::move(reason));
  ForwardResult result = empty_result(forward_case, setting);
  if (setting.tree)
    run_tree_case(forward_case, setting, result);
  else if (setting.slots)
    run_slot_case(forward_case, setting, result);
  else if (setting.snapshots)
    run_snapshot_case(forward_case, setting, result);
  else
    run_block_case(forward_case, setting, result);
  if (setting.fault || setting.layout_fault) judge_fault(setting, result);
  return result;
}

}  // namespace hybridkv
