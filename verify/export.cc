#include "verify/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>

#include "attention/backend.h"
#include "attention/reference.h"
#include "base/convert.h"
#include "base/file_error.h"
#include "base/npy_file.h"
#include "base/output_file.h"
#include "base/output_folder.h"
#include "base/unfinished.h"
#include "verify/attention_batch.h"
#include "verify/attention_case.h"
#include "verify/layout/cache_codec.h"

namespace hybridkv {

namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr const char* readme = R"(One folder per attention layer, each readable by `hybridkv attend FOLDER`:
  q (T, Hq, d), k_new and v_new (T, Hkv, d) float32; kv_cache (blocks, 2, block, Hkv, d), new tokens already written,
  as float32 or as bit patterns of the "dtype" in case.json; where the pool keeps it with scales, the float32 values
  that it stands for; row i of kv_cache is block blocks.npy[i] of the pool;
  block_table (R, max blocks) counts rows of kv_cache; out and lse are hybridkv's, *_ref_f64 the dense reference;
  out_NAME and lse_NAME are of each further backend that claims the layer, backends.json says which one declines it.
pages/pool_J.npy holds the raw bytes of those blocks in pool J, row i = block pages/blocks.npy[i]; plan.json has the
shape, strides and offset (in elements) of every view: row i, taken as a pool of one page, holds the layer at that
offset with those strides.
)";

void write_integers(const fs::path& file, const std::vector<std::int64_t>& values) {
  write_npy<std::int64_t>(file, std::vector<std::int64_t>{static_cast<std::int64_t>(values.size())}, values);
}

NpyType file_type(DType dtype) {
  switch (element_bytes(dtype)) {
    case 4: return NpyType::float32;
    case 2: return NpyType::uint16;
    default: return dtype == DType::int8 ? NpyType::int8 : NpyType::uint8;
  }
}

/// K and V kept with scales are written as the values that they stand for.
DType file_dtype(const AttentionInputs& inputs) {
  return inputs.key_codec.has_scales() ? DType::fp32 : inputs.key.dtype;
}

/// The touched blocks of one layer, dense: (blocks, 2, block, heads, channels) of file_dtype.
void write_cache(const fs::path& file, const AttentionInputs& inputs, const std::vector<std::int64_t>& blocks) {
  const std::int64_t block_tokens = inputs.metadata->block_size_tokens;
  const std::int64_t kernel_tokens = inputs.kernel_block_tokens();
  const DType dtype = file_dtype(inputs);
  std::vector<float> values(inputs.head_size_k());
  std::vector<std::byte> row(values.size() * element_bytes(dtype)), bytes;
  for (std::int64_t block : blocks)
    for (const auto& [half, codec] :
         {std::pair{&inputs.key, &inputs.key_codec}, std::pair{&inputs.value, &inputs.value_codec}})
      for (std::int64_t token = 0; token < block_tokens; ++token)
        for (std::int64_t head = 0; head < inputs.num_kv_heads(); ++head) {
          const std::int64_t slot = block * block_tokens + token;
          const std::byte* first = half->address({slot / kernel_tokens, slot % kernel_tokens, head, 0});
          if (codec->has_scales()) {
            decode_row(*codec, half->dtype, first, values);
            store_elements(row.data(), dtype, values);
          } else {
            std::copy_n(first, row.size(), row.begin());
          }
          bytes.insert(bytes.end(), row.begin(), row.end());
        }
  write_npy(file, file_type(dtype),
            std::vector<std::int64_t>{static_cast<std::int64_t>(blocks.size()), 2, block_tokens, inputs.num_kv_heads(),
                                      inputs.head_size_k()},
            bytes);
}

void write_lengths_and_tables(const fs::path& folder, const AttentionInputs& inputs,
                              const std::vector<std::int64_t>& blocks) {
  const CommonAttentionMetadata& metadata = *inputs.metadata;
  std::map<std::int64_t, std::int64_t> row_of;
  for (std::size_t i = 0; i < blocks.size(); ++i) row_of[blocks[i]] = static_cast<std::int64_t>(i);
  std::vector<std::int64_t> table, query_lens, slots;
  for (std::int64_t id : metadata.block_table) table.push_back(row_of.contains(id) ? row_of[id] : 0);
  for (std::int64_t request = 0; request < metadata.num_reqs; ++request)
    query_lens.push_back(metadata.query_len(request));
  const std::int64_t block_tokens = metadata.block_size_tokens;
  for (std::int64_t slot : metadata.slot_mapping)
    slots.push_back(row_of[slot / block_tokens] * block_tokens + slot % block_tokens);
  write_npy<std::int64_t>(folder / "block_table.npy",
                          std::vector<std::int64_t>{metadata.num_reqs, metadata.max_blocks_per_req}, table);
  write_integers(folder / "query_lens.npy", query_lens);
  write_integers(folder / "seq_lens.npy", metadata.seq_lens);
  write_integers(folder / "context_lens.npy", metadata.num_computed_tokens);
  write_integers(folder / "slot_mapping.npy", slots);
  write_integers(folder / "blocks.npy", blocks);
}

/// What the backends made of the batch of one group.
using PlannedGroup = std::vector<std::unique_ptr<const BackendMetadata>>;

/// The output of every backend that claims the layer, that of unified without a name of its own; of the others why not.
void write_outputs(const fs::path& folder, const AttentionInputs& inputs, const PlannedGroup& planned) {
  const std::int64_t tokens = inputs.num_tokens(), heads = inputs.num_query_heads;
  ordered_json backends = ordered_json::array();
  for (const auto& metadata : planned) {
    const std::string name(to_string(metadata->backend()));
    const std::optional<std::string> declined = metadata->declines(inputs);
    backends.push_back({{"name", name}, {"ran", !declined}});
    if (declined) {
      backends.back()["reason"] = *declined;
      continue;
    }
    const AttentionOutput<float> output = metadata->run(inputs).output;
    if (metadata->backend() == AttentionBackend::unified) {
      write_attention_output(folder, inputs, output);
      continue;
    }
    write_npy<float>(folder / fmt::format("out_{}.npy", name),
                     std::vector<std::int64_t>{tokens, heads, inputs.head_size_v()}, output.out);
    write_npy<float>(folder / fmt::format("lse_{}.npy", name), std::vector<std::int64_t>{tokens, heads}, output.lse);
  }
  write_file(folder / "backends.json", backends.dump(1) + "\n");
}

void write_layer(const Traffic& traffic, std::size_t view_index, const fs::path& folder,
                 const std::vector<std::int64_t>& blocks, const GroupBatch& group, const PlannedGroup& planned) {
  const AttentionBatch batch = make_attention_batch(traffic, view_index, group);
  const AttentionInputs& inputs = batch.inputs;
  fs::create_directories(folder);
  const std::int64_t tokens = inputs.num_tokens();
  const std::vector<std::int64_t> query_shape{tokens, inputs.num_query_heads, inputs.head_size_k()};
  const std::vector<std::int64_t> new_shape{tokens, inputs.num_kv_heads(), inputs.head_size_k()};
  write_npy<float>(folder / "q.npy", query_shape, batch.query);
  write_npy<float>(folder / "k_new.npy", new_shape, batch.key_new);
  write_npy<float>(folder / "v_new.npy", new_shape, batch.value_new);
  write_cache(folder / "kv_cache.npy", inputs, blocks);
  write_lengths_and_tables(folder, inputs, blocks);
  ordered_json settings{{"layer", traffic.views[view_index].view.layer},
                        {"scale", inputs.scale},
                        {"is_decode", inputs.is_decode},
                        {"dtype", to_string(file_dtype(inputs))},
                        {"mask", to_string(inputs.mask.kind)}};
  if (inputs.mask.kind != MaskKind::full) settings["window_tokens"] = inputs.mask.window_tokens;
  write_file(folder / "case.json", settings.dump(1) + "\n");
  write_outputs(folder, inputs, planned);
  const AttentionOutput<double> reference = reference_attention(inputs);
  write_npy<double>(folder / "out_ref_f64.npy",
                    std::vector<std::int64_t>{tokens, inputs.num_query_heads, inputs.head_size_v()}, reference.out);
  write_npy<double>(folder / "lse_ref_f64.npy", std::vector<std::int64_t>{tokens, inputs.num_query_heads},
                    reference.lse);
}

/// Raw pages of all blocks that attention groups hold in one arena, lane by lane.
void write_pages(const Traffic& traffic, std::size_t arena, const fs::path& folder) {
  const CachePlan& plan = traffic.plan;
  std::vector<std::int64_t> blocks;
  for (std::size_t group = 0; group < plan.groups.size(); ++group) {
    if (!plan.spec_of(plan.groups[group]).attention || plan.groups[group].arena.index() != arena) continue;
    const std::vector<std::int64_t> held = traffic.assignment.ids_held_by(plan, group);
    blocks.insert(blocks.end(), held.begin(), held.end());
  }
  if (blocks.empty()) return;
  std::sort(blocks.begin(), blocks.end());
  blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());  // groups may share a block table
  fs::create_directories(folder);
  write_integers(folder / (plan.is_uniform() ? "blocks.npy" : fmt::format("blocks_{}.npy", arena)), blocks);
  for (std::size_t i = 0; i < plan.lanes.size(); ++i) {
    const LanePlan& lane = plan.lanes[i];
    if (lane.arena.index() != arena) continue;
    std::vector<std::byte> bytes;
    for (std::int64_t block : blocks) {
      const std::span<const std::byte> page = traffic.pools.piece({static_cast<std::int64_t>(i)}, block);
      bytes.insert(bytes.end(), page.begin(), page.end());
    }
    // A pool has a file of its name where it has one lane.
    const bool alone = plan.lanes.size() == plan.pools.size();
    write_npy(folder / (alone ? fmt::format("pool_{}.npy", lane.pool.value) : fmt::format("lane_{}.npy", i)),
              NpyType::uint8,
              std::vector<std::int64_t>{static_cast<std::int64_t>(blocks.size()), lane.bytes}, bytes);
  }
}

void write_all_layers(const Traffic& traffic, const fs::path& folder) {
  BackendOptions options;
  options.unified.unique_bias = UniqueBiasMode::gathered;
  const std::vector<std::optional<GroupBatch>> batches = group_batches(traffic);
  std::vector<PlannedGroup> planned(batches.size());
  for (std::size_t group = 0; group < batches.size(); ++group)
    if (batches[group]) planned[group] = build_metadata(compared_attention_backends, *batches[group], options);
  for (std::size_t i = 0; i < traffic.views.size(); ++i) {
    const BoundView& view = traffic.views[i];
    const SpecPlan& spec = traffic.plan.specs[view.view.spec];
    if (!spec.attention || spec.is_indexer()) continue;
    write_layer(traffic, i, folder / fmt::format("{}layer_{}", spec.draft ? "draft_" : "", view.view.layer),
                traffic.assignment.held_by(view.group), *batches[static_cast<std::size_t>(view.group)],
                planned[static_cast<std::size_t>(view.group)]);
  }
  for (std::size_t arena = 0; arena < traffic.plan.arenas.size(); ++arena)
    write_pages(traffic, arena, folder / "pages");
  write_file(folder / "README.txt", readme);
}

}  // namespace

void check_export_folder(const fs::path& folder) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(folder, error);
  if (status.type() == fs::file_type::not_found) return;
  if (error) throw_file_error(folder.string(), "cannot be written", error.value());
  throw InputError(fmt::format("{}: exists already; name a folder that does not, nothing is overwritten",
                               folder.string()));
}

void export_batches(const Traffic& traffic, const fs::path& folder) {
  for (const SpecPlan& spec : traffic.plan.specs) {
    if (!spec.attention || spec.is_indexer()) continue;
    if (!has_values(*spec.attention))
      throw InputError(fmt::format("--export: values of {} are not computed here; export with another engine.kv_dtype",
                                   stored_as(*spec.attention)));
    const KvCodec codec = cache_codec(*spec.attention, 1);
    const std::int64_t k = decoded_channels(codec, spec.attention->head_size_k);
    const std::int64_t v = decoded_channels(codec, spec.attention->head_size_v);
    if (k != v)
      throw InputError(fmt::format("--export: {} layers keep K of {} and V of {} channels, the folder format has one "
                                   "kv_cache for both; export a model with equal sizes",
                                   spec.kind, k, v));
  }
  check_export_folder(folder);
  const fs::path name = folder.has_filename() ? folder : folder.parent_path();
  const OutputFolder parent(name.has_parent_path() ? name.parent_path() : fs::path("."));
  Unfinished unfinished = Unfinished::folder_beside(name);
  try {
    write_all_layers(traffic, unfinished.path());
  } catch (const fs::filesystem_error& error) {
    throw_file_error(folder.string(), "cannot be written", error.code().value());
  }
  unfinished.take_name(name);
}

}  // namespace hybridkv
