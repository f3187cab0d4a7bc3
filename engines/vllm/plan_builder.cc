#include "engines/vllm/plan_builder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/checked.h"
#include "base/error.h"
#include "engines/embedded_files.h"
#include "engines/vllm/builder_backends.h"
#include "engines/vllm/builder_cases.h"
#include "engines/vllm/conformance.h"
#include "planner/allocated_tensors.h"
#include "planner/primary_attention.h"

namespace hybridkv {

namespace {

using Json = nlohmann::ordered_json;

std::string_view template_of(std::string_view name) {
  const std::string path = "vllm/builder/" + std::string(name);
  for (const EmbeddedFile& file : embedded_builders())
    if (file.path == path) return file.text;
  throw std::logic_error("a file of the builder was not embedded");
}

std::string filled(std::string_view name, const std::vector<std::pair<std::string_view, std::string>>& words) {
  std::string text(template_of(name));
  for (const auto& [word, value] : words)
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + value.size()))
      text.replace(at, word.size(), value);
  return text;
}

/// Bytes of a page of one layer without padding: of a block, or of a state.
std::int64_t dense_bytes(const SpecPlan& spec) {
  return spec.state ? spec.state->bytes : spec.bytes_of_tokens(spec.block_size_tokens);
}

std::int64_t window_of(const SpecPlan& spec) { return spec.attention ? spec.attention->window_tokens : 0; }

[[noreturn]] void refuse(const std::string& what, const std::string& instead) {
  throw InputError(fmt::format("no builder is written of this plan: {}; {}", what, instead));
}

/// The engine makes a block as wide as the layers of its widest group, without room for those that a short pack lacks.
void require_full_packs(const CachePlan& plan) {
  std::int64_t planned = 0, by_layers = 0;
  for (const GroupPlan& group : plan.groups) {
    const SpecPlan& spec = plan.spec_of(group);
    const std::int64_t page = plan.page_bytes(group);
    planned = std::max(planned, std::int64_t(Checked(std::ssize(group.pages)) * page));
    by_layers = std::max(by_layers, std::int64_t(Checked(std::ssize(group.layers())) * (page / spec.layers_per_page)));
  }
  if (planned != by_layers)
    refuse(fmt::format("a pack with fewer than {} layers makes its blocks wider than the engine's, {} in place of {} "
                       "bytes", plan.attention_pack_size, planned, by_layers),
           "take an N that divides the attention layers");
}

void require_plain(const EmitQuestion& question) {
  const CachePlan& plan = question.plan;
  const EngineSpec& engine = question.engine;
  if (!plan.cache_order) refuse("its layers lie in several pools", "leave engine.strategy out");
  if (engine.pipeline_parallel > 1) refuse("it is that of one of several stages", "take engine.pipeline_parallel 1");
  if (engine.decode_context_parallel > 1)
    refuse("ranks share the tokens of a request", "take engine.decode_context_parallel 1");
  if (plan.what_if.page_bytes || plan.what_if.states != StatePlacement{})
    refuse("pages or places of states are supposed", "leave all of engine.what_if but groups and block_formula out");
  for (const GroupPlan& group : plan.groups) {
    const SpecPlan& spec = plan.spec_of(group);
    if (spec.auxiliary || spec.is_cross() || spec.ring_tokens > 0 || group.shares_table)
      refuse(fmt::format("{} lie beside the model's own layers", spec_label(spec)), "take a model without any");
    if (!lie_evenly(plan, group))
      refuse(fmt::format("packs of {} leave padding in their pages", spec_label(spec)), "take another N");
  }
  require_full_packs(plan);
  for (const SpecPlan& spec : plan.specs)
    for (const SpecPlan& other : plan.specs)
      if (spec.id < other.id && spec.state.has_value() == other.state.has_value() &&
          window_of(spec) == window_of(other) && dense_bytes(spec) == dense_bytes(other))
        refuse(fmt::format("nothing tells {} and {} apart in the engine", spec_label(spec), spec_label(other)),
               "plan another model");
}

/// The element type by its name in PyTorch; what is quantised is kept as bytes.
std::string torch_name(DType dtype) {
  switch (dtype) {
    case DType::bf16: return "bfloat16";
    case DType::fp16: return "float16";
    case DType::fp32: return "float32";
    default: return "uint8";
  }
}

Json told_state(const SpecPlan& spec) {
  Json shapes = Json::array(), dtypes = Json::array();
  for (const StateTensor& tensor : spec.state->tensors) {
    Json shape = Json::array();
    for (const Axis& axis : tensor.layout.axes()) shape.push_back(axis.extent);
    shapes.push_back(std::move(shape));
    dtypes.push_back(torch_name(tensor.dtype));
  }
  return {{"shapes", std::move(shapes)}, {"dtypes", std::move(dtypes)}, {"checkpoint_blocks", spec.checkpoint_blocks}};
}

Json told_attention(const AttentionGeometry& attention) {
  return {{"latent", is_latent(attention.kind)},
          {"kv_heads", attention.kv_heads},
          {"head_size", attention.head_size_k},
          {"head_size_v", attention.head_size_v},
          {"dtypes", Json::array({torch_name(attention.dtype)})}};
}

Json specs_of(const CachePlan& plan) {
  Json specs = Json::array();
  for (const SpecPlan& spec : plan.specs) {
    const auto group = std::find_if(plan.groups.begin(), plan.groups.end(),
                                    [&](const GroupPlan& one) { return one.spec == spec.id; });
    const bool counts_tokens = !spec.state || plan.cache_mode != CacheMode::none;
    Json told = spec.state ? told_state(spec) : told_attention(*spec.attention);
    told.update({{"name", spec.kind},
                 {"kind", spec.state ? "state" : "attention"},
                 {"window", window_of(spec)},
                 {"layers", spec.layers},
                 {"bytes", dense_bytes(spec)},
                 {"page", spec.state || spec.layers_per_page == 1 ? plan.page_bytes(*group) : dense_bytes(spec)},
                 {"block_tokens", counts_tokens ? spec.block_size_tokens : 0}});
    specs.push_back(std::move(told));
  }
  return specs;
}

/// Layers by their number among those of the spec.
Json groups_of(const CachePlan& plan) {
  Json groups = Json::array();
  for (const GroupPlan& group : plan.groups) {
    const std::vector<std::int64_t>& all = plan.spec_of(group).layers;
    Json layers = Json::array();
    for (const std::int64_t layer : group.layers())
      layers.push_back(std::lower_bound(all.begin(), all.end(), layer) - all.begin());
    groups.push_back({{"spec", group.spec}, {"layers", std::move(layers)}});
  }
  return groups;
}

/// Strides of layers that hold all their blocks are those of one block times the blocks.
Json tensors_of(const CachePlan& plan) {
  const bool by_blocks = !is_block_outermost(*plan.cache_order);
  Json tensors = Json::array();
  for (const AllocatedTensor& tensor : allocated_tensors(plan))
    tensors.push_back({{"layers", tensor.layers},
                       {"layer_stride", by_blocks ? 0 : tensor.layer_stride},
                       {"layer_stride_per_block", by_blocks ? tensor.layer_stride / plan.num_blocks() : 0},
                       {"block_stride", tensor.block_stride},
                       {"offset", tensor.offset_bytes}});
  return tensors;
}

/// One entry a line, so that people can read it.
std::string plan_text(const Json& plan) {
  std::vector<std::string> lines;
  for (const auto& [key, value] : plan.items()) {
    if (!value.is_array()) {
      lines.push_back(fmt::format("  \"{}\": {}", key, value.dump()));
      continue;
    }
    std::vector<std::string> items;
    for (const Json& item : value) items.push_back("    " + item.dump());
    lines.push_back(fmt::format("  \"{}\": [\n{}\n  ]", key, fmt::join(items, ",\n")));
  }
  return fmt::format("{{\n{}\n}}", fmt::join(lines, ",\n"));
}

}  // namespace

std::vector<EmittedFile> emit_vllm_builder(const EmitQuestion& question) {
  require_plain(question);
  const std::string version(conformance_of_vllm_0_33.version);  // the interface of builders is experimental
  const CachePlan& plan = question.plan;
  const SpecPlan* const attention = primary_attention(plan);
  if (attention == nullptr) refuse("its blocks are those of states alone", "take a model with attention");
  const CapacityPlan& capacity = plan.capacity.back();
  const Json facts{{"model", question.model.name},
                   {"version", version},
                   {"made_by", question.made_by},
                   {"tensor_parallel", question.engine.tensor_parallel},
                   {"cache_mode", to_string(plan.cache_mode)},
                   {"layers_per_page", plan.attention_pack_size},
                   {"block_tokens", attention->block_size_tokens},
                   {"page_bytes", plan.page_bytes(plan.groups.front())},
                   {"block_bytes", plan.arenas.front().bytes_per_id},
                   {"order", to_string(*plan.cache_order)},
                   {"memory_bytes", question.engine.memory_bytes},
                   {"num_blocks", plan.num_blocks()},
                   {"max_num_batched_tokens", plan.max_num_batched_tokens},
                   {"concurrent_batches", plan.concurrent_batches},
                   {"max_model_len", capacity.max_model_len},
                   {"max_concurrency", capacity.max_concurrency},
                   {"kv_cache_tokens", capacity.kv_cache_tokens},
                   {"specs", specs_of(plan)},
                   {"groups", groups_of(plan)},
                   {"tensors", tensors_of(plan)}};
  const std::vector<std::pair<std::string_view, std::string>> words{
      {"@VERSION@", version}, {"@PLAN@", plan_text(facts)}, {"@MADE_BY@", question.made_by},
      {"@MODEL@", question.model.name},    {"@ORDER@", std::string(to_string(*plan.cache_order))},
      {"@BACKENDS@", table_of_backends(plan)}, {"@KERNELS@", list_of_kernels(question.kernels)},
      {"@STEPS@", steps_of_kernels(plan)}};
  std::vector<EmittedFile> files;
  for (const std::string_view name : {"hybridkv_builder.py", "test_builder.py", "pyproject.toml", "README.md"})
    files.push_back({std::string(name), filled(name, words)});
  if (question.parts == EmitParts::package)
    for (EmittedFile& file : vllm_builder_cases(question)) files.push_back(std::move(file));
  return files;
}

}  // namespace hybridkv
