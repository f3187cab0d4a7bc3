#include "verify/forward/forward.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>

#include "base/parallel.h"
#include "planner/cell_types.h"
#include "planner/encoder_tokens.h"
#include "planner/group_settings.h"
#include "planner/plan.h"
#include "planner/row_settings.h"
#include "planner/spec_plans.h"
#include "planner/validate.h"
#include "verify/fault/plant.h"
#include "verify/forward/forward_exports.h"
#include "verify/forward/forward_geometry.h"
#include "verify/forward/forward_slot_case.h"
#include "verify/forward/forward_snapshot_case.h"
#include "verify/forward/forward_tree_case.h"
#include "verify/forward/scaled_engine.h"
#include "verify/scaled_model.h"

namespace hybridkv {

namespace {

constexpr std::int64_t draft_tokens = 3;

/// A case or a fault that a release does not have; `known`: those that it has.
template <class Known>
[[noreturn]] void refuse_unknown(std::string_view flag, std::string_view name, const EngineRules& rules,
                                 const Known& known) {
  std::vector<std::string_view> names;
  for (const auto value : known) names.push_back(to_string(value));
  throw InputError(fmt::format("{} {}: requests of {} go through {}, which has no such {}; take one of {}", flag, name,
                               rules.title, to_string(forward_path_of(rules)),
                               flag == "--case" ? "case" : "fault", fmt::join(names, ", ")));
}

void check_spec(const ForwardSpec& spec, const EngineRules& rules) {
  if (spec.scale < 1) throw SpecError("--scale", fmt::format("is {}, but a scale divides; take 1 or more", spec.scale));
  if (spec.layout_fault && !info_of(*spec.layout_fault).in_forward)
    throw InputError(fmt::format("--inject {}: is planted into the checks of verify, no network runs with it; leave "
                                 "out --forward", to_string(*spec.layout_fault)));
  const std::vector<ForwardFault> has_faults = forward_faults_of(rules);
  if (spec.fault && std::find(has_faults.begin(), has_faults.end(), *spec.fault) == has_faults.end())
    refuse_unknown("--inject", to_string(*spec.fault), rules, has_faults);
  const auto has_cases = forward_cases_of(rules);
  for (const ForwardCase one : spec.cases)
    if (std::find(has_cases.begin(), has_cases.end(), one) == has_cases.end())
      refuse_unknown("--case", to_string(one), rules, has_cases);
}

/// Refuses a format that heads as large as the model's do not fit; those of the scaled one always do.
void check_format(const ModelSpec& model, const EngineSpec& engine) {
  if (!engine.kv_format) return;
  for (const LayerSpec& layer : model.layers)
    for (const auto& attention : {layer.attention, layer.cross})
      if (attention) head_bytes(*attention, *engine.kv_format);
  if (model.mtp) head_bytes(*model.mtp, *engine.kv_format);
}

/// Why no network can be run over what the cache holds; empty where one can.
std::string why_unproven(const ModelSpec& model, const EngineSpec& engine) {
  if (engine.kv_format && !has_codec(*engine.kv_format))
    return fmt::format("values of {} are not computed here", to_string(*engine.kv_format));
  if (!engine.kv_format && kv_dtype_of(model, engine) == DType::uint8)
    return "values of a network have a sign, and uint8 has none";
  if (engine.strategy == Strategy::pool_groups && !engine.own[group_key::use_kv_cache_manager_v2])
    return "how the first manager finds prefixes is not known";
  if (engine.strategy != Strategy::sequence_rows) return "";
  if (!cell_types_of(engine).element()) return "values of cells in blocks, or of two types, are not computed here";
  for (const LayerSpec& layer : model.layers)
    if (layer.attention && layer.attention->window_tokens > 0) return "slots with windows are not run here";
  return "";
}

CachePlan plan_with_small_pools(const ModelSpec& model, EngineSpec engine) {
  const LimitsSpec limits{.max_model_lens = {1}};
  const CachePlan large = make_plan(model, engine, limits);
  if (large.rows) {  // cells are what the rows leave of the memory
    engine.num_blocks.reset();
    engine.memory_bytes = slot_case_memory_bytes(large);
  } else {
    engine.num_blocks = large.pool_groups ? most_forward_snapshot_ids : forward_pool_blocks(large);
  }
  return make_plan(model, engine, limits);
}

/// One plan with all that its cases share.
struct Prepared {
  CachePlan plan;
  std::shared_ptr<ForwardReferences> references;
  std::vector<BoundView> views;
  std::optional<TreeSettings> tree;
  std::optional<SlotSettings> slots;
  std::optional<SnapshotSettings> snapshots;

  Prepared(const ModelSpec& model, CachePlan made, const ForwardSpec& spec, NetworkReferences& networks)
      : plan(std::move(made)),
        references(networks.of(make_network(model, plan, spec.width, spec.seed))),
        views(bind_views(plan)) {
    if (plan.rows) slots = slot_case_settings(plan);
    if (plan.pool_groups) snapshots = snapshot_case_settings(plan);
    // The null block is handed out by the case, not by a view.
    if (!spec.layout_fault || (spec.layout_fault == Fault::null_block_used && plan.arenas.front().has_null_id)) return;
    BlockAssignment unused;
    plant_fault(*spec.layout_fault, plan, views, unused);
    for (const BoundView& view : views)
      if (!contains(plan.pools[view.view.pool].bytes, view.placed()))
        throw InputError(fmt::format("--inject {}: the views leave the pool, so no engine would start; verify without "
                                     "--forward reports it", to_string(*spec.layout_fault)));
  }
};

}  // namespace

bool ForwardReport::passed() const {
  return !has_fault() && applies() && std::all_of(results.begin(), results.end(), [](const ForwardResult& result) {
    return result.status == ForwardStatus::passed || result.status == ForwardStatus::does_not_apply;
  });
}

bool ForwardReport::caught() const {
  return has_fault() && applies() && std::all_of(results.begin(), results.end(), [](const ForwardResult& result) {
    return result.times_allowed() > 1 || result.status == ForwardStatus::does_not_apply;
  });
}

bool ForwardReport::applies() const {
  return std::any_of(results.begin(), results.end(),
                     [](const ForwardResult& result) { return result.status != ForwardStatus::does_not_apply; });
}

const ForwardResult* ForwardReport::first_failure() const {
  for (const ForwardResult& result : results)
    if (result.status == ForwardStatus::failed) return &result;
  return nullptr;
}

const ForwardResult* ForwardReport::weakest_find() const {
  const ForwardResult* weakest = nullptr;
  if (!has_fault()) return weakest;
  for (const ForwardResult& result : results)
    if (result.times_allowed() > 1 && (!weakest || result.times_allowed() < weakest->times_allowed()))
      weakest = &result;
  return weakest;
}

namespace {

/// A case on one plan.
struct Task {
  ForwardCase forward_case;
  std::shared_ptr<const Prepared> on;
};

/// The cases asked for, or all of the release.
std::vector<ForwardCase> cases_of(const ForwardSpec& spec, const EngineRules& rules) {
  if (!spec.cases.empty()) return spec.cases;
  const auto all = forward_cases_of(rules);
  return {all.begin(), all.end()};
}

/// Mode by mode.
std::vector<Task> block_tasks(const ModelSpec& scaled, const EngineSpec& engine, const ForwardSpec& spec,
                              NetworkReferences& networks) {
  std::vector<Task> tasks;
  for (const CacheMode mode : spec.modes) {
    // Of several modes those that the release has; alone, one that it has not is refused by the planner.
    if (mode == CacheMode::all && spec.modes.size() > 1 && !engine.rules->has_mode_all) continue;
    // Beside an encoder every mode is none.
    if (mode != spec.modes.front() && has_cross_attention(scaled)) continue;
    const auto prepare = [&](std::int64_t speculative_tokens, std::optional<std::int64_t> block = std::nullopt) {
      EngineSpec small = scaled_engine(scaled, engine, mode, speculative_tokens);
      if (block) small.block_size_tokens = block;
      return std::make_shared<const Prepared>(scaled, plan_with_small_pools(scaled, small), spec, networks);
    };
    const auto plain = prepare(0);
    std::shared_ptr<const Prepared> drafting;
    for (const ForwardCase forward_case : cases_of(spec, *engine.rules)) {
      const bool drafts = forward_case == ForwardCase::drafts || forward_case == ForwardCase::lookahead;
      if (drafts && !drafting) drafting = prepare(draft_tokens);
      if (forward_case == ForwardCase::fine_export) {
        // Where scans export at multiples of so many tokens that none lies inside a block, blocks are twice as long.
        const CacheGeometry geometry = forward_geometry(plain->plan);
        const bool longer = geometry.rules.checkpoint_blocks > 0 && !find_fine_export(geometry);
        tasks.push_back({forward_case, longer ? prepare(0, 2 * geometry.state_block()) : plain});
        continue;
      }
      tasks.push_back({forward_case, drafts ? drafting : plain});
    }
  }
  return tasks;
}

/// What the model is refused by.
EngineSpec checked_engine(const ModelSpec& model, const EngineSpec& engine) {
  if (forward_path_of(*engine.rules) != ForwardPath::tree) return scaled_engine(model, engine, engine.cache_mode, 0);
  // The last one has pages of several tokens where it may, which models with indexers need.
  return scaled_tree_engine(engine, tree_variants(engine).back());
}

/// Strategy by strategy, page by page.
std::vector<Task> tree_tasks(const ModelSpec& scaled, const EngineSpec& engine, const ForwardSpec& spec,
                             NetworkReferences& networks) {
  std::vector<Task> tasks;
  for (const TreeVariant& variant : tree_variants(engine)) {
    const EngineSpec small = scaled_tree_engine(engine, variant);
    const auto on =
        std::make_shared<Prepared>(scaled, make_plan(scaled, small, {.max_model_lens = {1}}), spec, networks);
    on->tree = tree_case_settings(on->plan, scaled, small);
    for (const ForwardCase forward_case : cases_of(spec, *engine.rules)) tasks.push_back({forward_case, on});
  }
  return tasks;
}

ForwardTree tree_of(std::span<const Task> tasks) {
  const TreePools& pools = *tasks.front().on->plan.tree_pools;
  ForwardTree tree{.rules = tasks.front().on->plan.rules,
                   .page_tokens = {},
                   .token_bytes = pools.token_bytes,
                   .state_slot_bytes = pools.state_slot_bytes,
                   .grid_tokens = {}};
  for (const Task& task : tasks) {
    const TreeSettings& settings = *task.on->tree;
    const auto at = std::lower_bound(tree.page_tokens.begin(), tree.page_tokens.end(), settings.page);
    if (at != tree.page_tokens.end() && *at == settings.page) continue;
    tree.grid_tokens.insert(tree.grid_tokens.begin() + (at - tree.page_tokens.begin()), settings.checkpoint_grid());
    tree.page_tokens.insert(at, settings.page);
  }
  return tree;
}

ForwardSlots slots_of(const CachePlan& plan) {
  return {.rules = plan.rules,
          .cell_bytes = plan.arenas.front().bytes_per_id,
          .row_bytes = plan.rows->bytes.row_bytes,
          .step_tokens = slot_case_settings(plan).step_tokens};
}

ForwardSnapshots snapshots_of(const CachePlan& plan) {
  return {.rules = plan.rules,
          .block_bytes = plan.arenas[0].bytes_per_id,
          .state_bytes = plan.arenas[1].bytes_per_id,
          .chunk_tokens = snapshot_case_settings(plan).chunk_tokens};
}

}  // namespace

ForwardReport verify_forward(const ModelSpec& model, const EngineSpec& engine, const ForwardSpec& spec,
                             const ForwardProgress& progress) {
  NetworkReferences networks;
  return verify_forward(model, engine, spec, networks, progress);
}

ForwardReport verify_forward(const ModelSpec& model, const EngineSpec& engine, const ForwardSpec& spec,
                             NetworkReferences& networks, const ForwardProgress& progress) {
  check_spec(spec, *engine.rules);
  const bool through_tree = forward_path_of(*engine.rules) == ForwardPath::tree;
  validate(model, checked_engine(model, engine), {.max_model_lens = {1}});
  check_format(model, engine);
  const std::string unproven = why_unproven(model, engine);
  const auto start = std::chrono::steady_clock::now();
  const ModelSpec scaled = scaled_model(model, spec.scale, engine.kv_format);
  const std::vector<Task> tasks =
      through_tree ? tree_tasks(scaled, engine, spec, networks) : block_tasks(scaled, engine, spec, networks);
  ForwardReport report{.model = model.name,
                       .rules = engine.rules,
                       .attention_pack_size = engine.attention_pack_size,
                       .scale = spec.scale,
                       .layers = static_cast<std::int64_t>(tasks.front().on->references->network().layers.size()),
                       .page_bytes = tasks.front().on->plan.lanes.front().bytes,
                       .changed_ratios = changed_ratios(model, scaled),
                       .fault = spec.fault,
                       .layout_fault = spec.layout_fault,
                       .results = std::vector<ForwardResult>(tasks.size())};
  if (through_tree) report.tree = tree_of(tasks);
  if (tasks.front().on->slots) report.slots = slots_of(tasks.front().on->plan);
  if (tasks.front().on->snapshots) report.snapshots = snapshots_of(tasks.front().on->plan);
  for (const SpecPlan& layers : tasks.front().on->plan.specs)
    if (layers.attention && report.block_size_tokens == 0) report.block_size_tokens = layers.block_size_tokens;
  std::atomic<int> done{0};
  std::mutex reporting;
  parallel_for(tasks.size(), [&](std::size_t i) {
    const Prepared& on = *tasks[i].on;
    const ForwardSetting setting{on.plan,       on.references->network(), *on.references,    on.views,
                                 spec.backends, spec.fault,               spec.layout_fault, on.tree,
                                 on.slots,      on.snapshots};
    report.results[i] = unproven.empty() ? run_forward_case(tasks[i].forward_case, setting)
                                         : unproven_result(tasks[i].forward_case, setting, unproven);
    const std::lock_guard lock(reporting);
    if (progress) progress(++done, static_cast<int>(tasks.size()));
  });
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace hybridkv
