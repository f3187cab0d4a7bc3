#include "report/plan_json.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/checked.h"
#include "layout/scale.h"
#include "planner/allocated_tensors.h"
#include "planner/uniform_pages.h"
#include "report/arena_json.h"
#include "report/json_archive.h"
#include "report/json_text.h"
#include "report/plan_references.h"
#include "report/radix_json.h"
#include "report/read_pools_json.h"

namespace hybridkv {

template <>
inline constexpr auto enum_values<KvFormat> = all_kv_formats;
template <>
inline constexpr auto enum_values<AttentionKind> = all_attention_kinds;
template <>
inline constexpr auto enum_values<BackendForm> = all_backend_forms;
template <>
inline constexpr auto enum_values<PhysicalOrder> = all_physical_orders;
template <>
inline constexpr auto enum_values<CacheMode> = all_cache_modes;
template <>
inline constexpr auto enum_values<DType> = all_dtypes;
template <>
inline constexpr auto enum_values<Strategy> = all_strategies;
template <>
inline const auto enum_values<const EngineRules*> = all_engine_rules();
template <>
inline constexpr auto enum_values<BackendProfile> = all_backend_profiles;
template <>
inline constexpr auto enum_values<CacheOrder> = all_cache_orders;

/// The axes of a layout from its parts, with everything Layout takes for granted checked first.
static std::vector<Axis> checked_axes(const std::string& path, const std::vector<std::string>& names,
                                      const std::vector<std::int64_t>& shape,
                                      const std::vector<std::int64_t>& strides) {
  if (names.size() != shape.size() || names.size() != strides.size())
    JsonReader::fail(path, "axes, shape and strides must have the same length");
  if (names.size() > Layout::max_rank) JsonReader::fail(path, "at most 8 axes");
  std::vector<Axis> axes;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty() || names[i].size() > AxisName::max_length)
      JsonReader::fail(path, "the name of an axis has 1 to 15 bytes, not \"" + names[i] + "\"");
    if (!seen.insert(names[i]).second) JsonReader::fail(path, "two axes are called \"" + names[i] + "\"");
    if (shape[i] < 0 || strides[i] < 0) JsonReader::fail(path, "extents and strides must not be negative");
    axes.push_back({AxisName(std::string_view(names[i])), shape[i], strides[i]});
  }
  return axes;
}

/// A layout as the keys axes, shape, strides and offset; a dense one needs axes and shape alone.
template <class Archive, Is<Layout> T>
static void layout_fields(Archive& archive, T& layout, bool dense) {
  std::vector<std::string> names;
  std::vector<std::int64_t> shape, strides;
  std::int64_t offset = layout.offset();
  for (const Axis& axis : layout.axes()) {
    names.emplace_back(axis.name.view());
    shape.push_back(axis.extent);
    strides.push_back(axis.stride);
  }
  archive("axes", names);
  archive("shape", shape);
  if (!dense) {
    archive("strides", strides);
    archive("offset", offset);
  }
  if constexpr (Archive::reads) {
    if (dense) strides.assign(shape.size(), 0);
    if (offset < 0) JsonReader::fail(archive.path_of("offset"), "must not be negative");
    const std::vector<Axis> axes = checked_axes(archive.path(), names, shape, strides);
    try {
      layout = dense ? row_major(axes) : Layout(axes, offset);
    } catch (const InputError& error) {  // the extent of the layout passes 64 bits
      JsonReader::fail(archive.path(), error.what());
    }
  }
}

template <class Archive, Is<StateTensor> T>
static void fields(Archive& archive, T& tensor) {
  archive("name", tensor.name);
  archive("dtype", tensor.dtype);
  layout_fields(archive, tensor.layout, true);
  archive("byte_offset", tensor.byte_offset);
}

template <class Archive, Is<StateSpec> T>
static void fields(Archive& archive, T& state) {
  archive("bytes", state.bytes);
  archive("padding_bytes", state.padding_bytes);
  archive("tensors", state.tensors);
}

template <class Archive, Is<AttentionGeometry> T>
static void fields(Archive& archive, T& geometry) {
  archive("kind", geometry.kind);
  archive("dtype", geometry.dtype);
  archive.unless_default("format", geometry.format);
  archive("form", geometry.form);
  archive("order", geometry.order);
  archive("query_heads", geometry.query_heads);
  archive("kv_heads", geometry.kv_heads);
  archive("head_size_k", geometry.head_size_k);
  archive("head_size_v", geometry.head_size_v);
  archive("window_tokens", geometry.window_tokens);
}

template <class Archive, Is<SpecPlan> T>
static void fields(Archive& archive, T& spec) {
  archive("id", spec.id);
  archive("kind", spec.kind);
  archive("layers", spec.layers);
  archive("block_size_tokens", spec.block_size_tokens);
  archive("kernel_block_size_tokens", spec.kernel_block_size_tokens);
  archive.unless_default("bytes_per_token", spec.bytes_per_token);
  archive.unless_default("state", spec.state);
  archive("unpadded_page_bytes", spec.unpadded_page_bytes);
  archive("padding_percent", spec.padding_percent);
  archive("draft", spec.draft);
  archive.unless_default("auxiliary", spec.auxiliary);
  archive("layers_per_page", spec.layers_per_page);
  archive("num_pages", spec.num_pages);
  archive.unless_default("checkpoint_blocks", spec.checkpoint_blocks);
  archive.unless_default("ring_tokens", spec.ring_tokens);
  archive.unless_default("attention", spec.attention);
}

template <class Archive, Is<PagesInLane> T>
static void fields(Archive& archive, T& pages) {
  archive("offset_bytes", pages.first);
  archive("bytes", pages.bytes);
}

template <class Archive, Is<GroupPlan> T>
static void fields(Archive& archive, T& group) {
  archive("spec", group.spec);
  archive.derived("layers", [&group] { return group.layers(); });
  archive("padding_slots", group.padding_slots);
  archive("pages", group.pages);
  archive.unless_default("arena", group.arena.value);
  archive.unless_default("first_lane", group.first_lane.value);
  archive.unless("ids_per_entry", group.ids_per_entry, 1);
  archive.unless("entries_per_id", group.entries_per_id, 1);
  archive.unless_default("shares_table", group.shares_table);
  archive.unless("lanes_per_page", group.lanes_per_page, 1);
  archive.unless_default("in_lane", group.in_lane);
  archive.unless_default("drafts", group.drafts);
  archive.unless_default("hole_bytes", group.hole_bytes);
  archive.unless_default("tensor", group.tensor);
}

template <class Archive, Is<AllocatedTensor> T>
static void fields(Archive& archive, T& tensor) {
  archive("layers", tensor.layers);
  archive("layer_stride", tensor.layer_stride);
  archive("block_stride", tensor.block_stride);
  archive("offset_bytes", tensor.offset_bytes);
  archive("size_bytes", tensor.size_bytes);
}

template <class Archive, Is<LanePlan> T>
static void fields(Archive& archive, T& lane) {
  archive("arena", lane.arena.value);
  archive("pool", lane.pool.value);
  archive("offset", lane.offset);
  archive("stride", lane.stride);
  archive("bytes", lane.bytes);
}

template <class Archive, Is<LayerRef> T>
static void fields(Archive& archive, T& layer) {
  archive("spec", layer.spec);
  archive("layer", layer.layer);
}

template <class Archive, Is<PoolPlan> T>
static void fields(Archive& archive, T& pool) {
  archive("bytes", pool.bytes);
  archive("page_bytes", pool.page_bytes);
  archive("shared_by", pool.shared_by);
}

template <class Archive, Is<ExtraPlan> T>
static void fields(Archive& archive, T& extra) {
  archive("what", extra.what);
  archive.unless_default("bytes_per_block", extra.bytes_per_block);
  archive.unless_default("blocks_per_request", extra.blocks_per_request);
}

template <class Archive, Is<IdsByCause> T>
static void fields(Archive& archive, T& ids) {
  archive("tokens", ids.tokens);
  archive("states", ids.states);
  archive("speculative", ids.speculative);
  archive("checkpoints", ids.checkpoints);
  archive("in_flight_window", ids.in_flight_window);
  archive("other", ids.other);
}

template <class Archive, Is<CapacityPlan> T>
static void fields(Archive& archive, T& capacity) {
  archive("max_model_len", capacity.max_model_len);
  archive("blocks_per_request", capacity.blocks_per_request);
  archive("bytes_per_request", capacity.bytes_per_request);
  archive("ideal_bytes_per_request", capacity.ideal_bytes_per_request);
  archive("max_concurrency", capacity.max_concurrency);
  archive("kv_cache_tokens", capacity.kv_cache_tokens);
  archive("fits", capacity.fits);
  archive("usable_concurrency", capacity.usable_concurrency);
  archive("ids_by_cause", capacity.ids_by_cause);
  archive("kv_cache_tokens_by_concurrency", capacity.kv_cache_tokens_by_concurrency);
  archive("kv_cache_tokens_by_floor", capacity.kv_cache_tokens_by_floor);
}

template <class Archive, Is<PrefixPlan> T>
static void fields(Archive& archive, T& prefix) {
  archive("match_unit_tokens", prefix.match_unit_tokens);
  archive("min_cacheable_prefix_tokens", prefix.min_cacheable_prefix_tokens);
  archive("cacheable", prefix.cacheable);
  archive("duplicate_misses_up_to_tokens", prefix.duplicate_misses_up_to_tokens);
  archive("duplicate_misses_multiples_of_tokens", prefix.duplicate_misses_multiples_of_tokens);
  archive.unless_default("scheduler_block_tokens", prefix.scheduler_block_tokens);
  archive.unless_default("hash_block_tokens", prefix.hash_block_tokens);
  archive.unless_default("match_error", prefix.match_error);
}

template <class Archive, Is<BlockWaste> T>
static void fields(Archive& archive, T& waste) {
  archive("group", waste.group);
  archive("state_padding_bytes", waste.state_padding_bytes);
  archive("attention_padding_bytes", waste.attention_padding_bytes);
  archive("short_pack_bytes", waste.short_pack_bytes);
  archive("empty_slot_bytes", waste.empty_slot_bytes);
  archive.derived("total_bytes", [&waste] { return waste.total(); });
}

template <class Archive, Is<LoadWaste> T>
static void fields(Archive& archive, T& waste) {
  archive("sequence_tokens", waste.sequence_tokens);
  archive("pool_bytes", waste.pool_bytes);
  archive.derived("used_bytes", [&waste] { return waste.used_bytes(); });
  archive.derived("wasted_bytes", [&waste] { return waste.wasted_bytes(); });
  archive("free_bytes", waste.free_bytes);
  archive("token_bytes", waste.token_bytes);
  archive("state_bytes", waste.state_bytes);
  archive("extra_state_bytes", waste.extra_state_bytes);
  archive("state_padding_bytes", waste.state_padding_bytes);
  archive("attention_padding_bytes", waste.attention_padding_bytes);
  archive("short_pack_bytes", waste.short_pack_bytes);
  archive("empty_slot_bytes", waste.empty_slot_bytes);
  archive("block_tail_bytes", waste.block_tail_bytes);
  archive.unless_default("unused_entry_bytes", waste.unused_entry_bytes);
  archive("null_block_bytes", waste.null_block_bytes);
}

template <class Archive, Is<WastePlan> T>
static void fields(Archive& archive, T& waste) {
  archive("per_block", waste.per_block);
  archive("at_load", waste.at_load);
  archive("unallocated_bytes", waste.unallocated_bytes);
}

template <class Archive, Is<ViewPlan> T>
static void fields(Archive& archive, T& view) {
  archive("spec", view.spec);
  archive("layer", view.layer);
  archive("tensor", view.tensor);
  archive("pool", view.pool);
  archive("dtype", view.dtype);
  Layout elements;
  if constexpr (!Archive::reads) elements = view.elements();
  layout_fields(archive, elements, false);
  if constexpr (Archive::reads) {
    try {
      view.bytes = scale(elements, element_bytes(view.dtype));
    } catch (const InputError& error) {  // the extent of the layout passes 64 bits
      JsonReader::fail(archive.path(), error.what());
    }
  }
  archive.derived("strides_bytes", [&view] {
    std::vector<std::int64_t> strides;
    for (const Axis& axis : view.bytes.axes()) strides.push_back(axis.stride);
    return strides;
  });
  archive.derived("offset_bytes", [&view] { return view.bytes.offset(); });
  archive.unless("lane", view.lane.value, view.pool);
  archive.unless_default("piece", view.piece);
  archive.unless_default("first_element", view.first_element);
}

template <class Archive, Is<WorkspaceSpec> T>
static void fields(Archive& archive, T& batch) {
  archive("query_tokens", batch.query_tokens);
  archive("shared_blocks", batch.shared_blocks);
  archive("block_size_tokens", batch.block_size_tokens);
  archive("chunk_blocks", batch.chunk_blocks);
  archive("dtype", batch.dtype);
}

template <class Archive, Is<WorkspacePlan> T>
static void fields(Archive& archive, T& workspace) {
  archive("batch", workspace.batch);
  archive("full_bias_bytes", workspace.full_bias_bytes);
  archive("chunked_bias_bytes", workspace.chunked_bias_bytes);
  archive("block_usage_bytes", workspace.block_usage_bytes);
}

template <class Archive, Is<Term> T>
static void fields(Archive& archive, T& term) {
  archive("symbol", term.symbol);
  archive("value", term.value);
  archive("unit", term.unit);
}

template <class Archive, Is<Decision> T>
static void fields(Archive& archive, T& decision) {
  archive("result", decision.result);
  archive("rule", decision.rule);
  archive("inputs", decision.inputs);
  archive("source", decision.source);
}

template <class Archive, Is<Warning> T>
static void fields(Archive& archive, T& warning) {
  archive("code", warning.code);
  archive("message", warning.message);
}

/// What a uniform page alone says of arenas and lanes.
static void set_plain(Arrangement& arrangement, std::int64_t page_bytes, std::int64_t num_blocks) {
  arrangement.arenas.clear();
  arrangement.lanes.clear();
  set_only_arena(arrangement, page_bytes, num_blocks);
}

/// Do page and number of blocks say everything of arenas and lanes?
static bool is_plain(const Arrangement& arrangement) {
  if (!arrangement.is_uniform() || arrangement.lanes.empty()) return false;
  Arrangement plain;
  plain.pools = arrangement.pools;
  plain.extras = arrangement.extras;
  set_plain(plain, arrangement.page_bytes(), arrangement.num_blocks());
  return plain.arenas == arrangement.arenas && plain.lanes == arrangement.lanes;
}

/// Who has which ids and bytes. Written in full; a reader takes page and number of blocks alone where they say all.
template <class Archive, Is<CachePlan> T>
static void fields_of_ids(Archive& archive, T& plan) {
  using Number = std::optional<std::int64_t>;
  const bool plain = archive.omits("arenas", false);
  std::int64_t page_bytes = 0, num_blocks = 0;
  if (plain)
    archive("page_bytes", page_bytes);
  else
    archive.derived_if_any("page_bytes", [&plan] { return plan.is_uniform() ? Number(plan.page_bytes()) : Number(); });
  archive("groups", plan.groups);
  archive("pools", plan.pools);
  archive("extras", plan.extras);
  if constexpr (Archive::reads) {
    if (plain) {
      archive("num_blocks", num_blocks);
      set_plain(plan, page_bytes, num_blocks);
    }
  }
  const auto of_only_arena = [&](const char* name, auto number) {
    archive.derived_if_any(name, [&plan, number] {
      return plan.arenas.size() == 1 ? Number(number(plan.arenas.front())) : Number();
    });
  };
  if (!plain) of_only_arena("num_blocks", [](const ArenaPlan& arena) { return arena.num_ids; });
  of_only_arena("usable_blocks", [](const ArenaPlan& arena) { return arena.usable_ids(); });
  if (plain) return;
  of_only_arena("bytes_per_block", [](const ArenaPlan& arena) { return arena.bytes_per_id; });
  std::vector<ArenaWithLanes> arenas;
  if constexpr (!Archive::reads) arenas = arenas_with_lanes(plan);
  archive("arenas", arenas);
  if constexpr (Archive::reads) set_arenas(plan, arenas, archive.path_of("arenas"));
  archive.derived_if_any("lanes", [&plan] {
    return is_plain(plan) || plan.cache_order ? std::nullopt : std::optional(plan.lanes);
  });
}

template <class Archive, Is<CachePlan> T>
static void fields(Archive& archive, T& plan) {
  archive("release", plan.rules);
  archive.unless_default("backend_profile", plan.backend_profile);
  archive("attention_pack_size", plan.attention_pack_size);
  archive("cache_mode", plan.cache_mode);
  archive("speculative_tokens", plan.speculative_tokens);
  archive("max_num_batched_tokens", plan.max_num_batched_tokens);
  archive.unless("concurrent_batches", plan.concurrent_batches, 1);
  archive.unless("lookahead_tokens", plan.lookahead_tokens, 0);
  archive.unless("decode_context_parallel", plan.decode_context_parallel, 1);
  archive.unless("strategy", plan.strategy, Strategy::packed_attention);
  archive("specs", plan.specs);
  archive.unless_default("physical_order", plan.cache_order);
  fields_of_ids(archive, plan);
  archive.unless_default("radix", plan.radix);
  archive.unless_default("pool_groups", plan.pool_groups);
  archive.unless_default("sequence_rows", plan.rows);
  archive("capacity", plan.capacity);
  archive("max_fitting_tokens", plan.max_fitting_tokens);
  archive.derived_if_any("any_length_fits", [&plan] {
    return plan.max_fitting_tokens >= largest_tokens ? std::optional(true) : std::nullopt;
  });
  archive("max_running_requests", plan.max_running_requests);
  archive("max_running_requests_by_states", plan.max_running_requests_by_states);
  archive("one_token_request_bytes", plan.one_token_request_bytes);
  archive("prefix", plan.prefix);
  archive("waste", plan.waste);
  archive.derived_if_any("tensors", [&plan] {
    return plan.cache_order ? std::optional(allocated_tensors(plan)) : std::nullopt;
  });
  archive("views", plan.views);
  archive.unless_default("view_error", plan.view_error);
  archive("workspace", plan.workspace);
  archive("warnings", plan.warnings);
  archive("derivation", plan.derivation);
  if constexpr (Archive::reads) check_references(plan, archive.path());  // before what is derived follows them
}

template <class Archive, Is<PlanSet> T>
static void fields(Archive& archive, T& set) {
  archive.derived("schema", [] { return std::string(plan_schema_id); });
  archive("model", set.model);
  archive("tensor_parallel", set.tensor_parallel);
  archive("strategy", set.strategy);
  archive("plans", set.plans);
}

nlohmann::ordered_json to_json(const PlanSet& plans) { return JsonWriter::encode(plans); }

void write_json(const PlanSet& set, const std::function<CachePlan(std::size_t)>& plan_at,
                const std::function<void(const std::string&)>& write) {
  expects(!set.plans.empty(), "at least one plan");
  const PlanSet shell{set.model, set.tensor_parallel, set.strategy, {}};
  nlohmann::ordered_json fields_of_set = to_json(shell);
  fields_of_set.erase("plans");
  write_json_list(fields_of_set, "plans", set.plans.size(),
                  [&](std::size_t i) { return JsonWriter::encode(plan_at(i)); }, write);
}

nlohmann::ordered_json to_json(const Decision& decision) { return JsonWriter::encode(decision); }

PlanSet plan_set_from_json(const nlohmann::ordered_json& json) {
  if (!json.is_object() || !json.contains("schema") || json["schema"] != plan_schema_id)
    throw InputError(fmt::format("no plan this version reads: its \"schema\" must be \"{}\"", plan_schema_id));
  PlanSet set;
  JsonReader reader(json, "");
  fields(reader, set);
  reader.finish();
  if (set.plans.empty()) JsonReader::fail("plans", "needs at least one plan");
  return set;
}

}  // namespace hybridkv
