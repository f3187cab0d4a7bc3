#include "verify/attention_case.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "attention/kv_view.h"
#include "layout/convert.h"
#include "layout/npy.h"

namespace hybridkv {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

/// What case.json says; every key has a default.
struct CaseSettings {
  std::optional<double> scale;
  std::vector<bool> is_decode;
  std::optional<DType> dtype;
  KeyMask mask;
  double soft_cap = 0;
};

KeyMask read_mask(const fs::path& file, const json& content) {
  if (!content.contains("mask")) return {};
  const auto name = content.at("mask").get<std::string>();
  if (name == to_string(MaskKind::full)) return {};
  for (const MaskKind kind : {MaskKind::sliding_window, MaskKind::chunked_local})
    if (name == to_string(kind)) return {kind, content.at("window_tokens").get<std::int64_t>()};
  throw InputError(fmt::format("{}: unknown mask \"{}\"; take full, sliding_window or chunked_local", file.string(), name));
}

CaseSettings read_settings(const fs::path& file) {
  CaseSettings settings;
  if (!fs::exists(file)) return settings;
  std::ifstream stream(file);
  try {
    const json content = json::parse(stream);
    if (content.contains("scale")) settings.scale = content.at("scale").get<double>();
    if (content.contains("is_decode")) settings.is_decode = content.at("is_decode").get<std::vector<bool>>();
    if (content.contains("soft_cap")) settings.soft_cap = content.at("soft_cap").get<double>();
    settings.mask = read_mask(file, content);
    if (content.contains("dtype")) {
      const auto name = content.at("dtype").get<std::string>();
      settings.dtype = parse_dtype(name);
      if (!settings.dtype)
        throw InputError(fmt::format("{}: unknown dtype \"{}\"; take fp32, fp16, bf16, fp8_e4m3 or fp8_e5m2",
                                     file.string(), name));
    }
  } catch (const json::exception& error) {
    throw InputError(fmt::format("{}: {}", file.string(), error.what()));
  }
  return settings;
}

/// Element type of a tensor file: what NumPy says, or the bit patterns of the dtype in case.json.
DType tensor_dtype(const NpyArray& array, const CaseSettings& settings) {
  if (array.type == NpyType::float32) return DType::fp32;
  if (array.type == NpyType::float16) return DType::fp16;
  if (array.type == NpyType::int8) return DType::int8;
  if (array.type != NpyType::uint16 && array.type != NpyType::uint8)
    throw InputError(fmt::format("{}: holds {}; save tensors as float32, or as uint16 or uint8 bit patterns with their "
                                 "\"dtype\" in case.json",
                                 array.source, to_string(array.type)));
  if (!settings.dtype)
    throw InputError(fmt::format("{}: holds {} bit patterns, but case.json names no \"dtype\" (bf16, fp16, fp8_e4m3 …)",
                                 array.source, to_string(array.type)));
  if (element_bytes(*settings.dtype) != element_bytes(array.type))
    throw InputError(fmt::format("{}: holds {}, which are no bit patterns of {}", array.source, to_string(array.type),
                                 to_string(*settings.dtype)));
  return *settings.dtype;
}

std::vector<float> as_floats(const NpyArray& array, const CaseSettings& settings) {
  const DType dtype = tensor_dtype(array, settings);
  std::vector<float> values(array.bytes.size() / element_bytes(dtype));
  load_elements(array.bytes.data(), dtype, values);
  return values;
}

void require_equal(const fs::path& file, const std::vector<std::int64_t>& given,
                   const std::vector<std::int64_t>& derived, const char* from) {
  if (given.size() != derived.size())
    throw InputError(fmt::format("{}: holds {} values, {} are expected", file.string(), given.size(), derived.size()));
  for (std::size_t i = 0; i < given.size(); ++i)
    if (given[i] != derived[i])
      throw InputError(fmt::format("{}: value {} is {}, but {} make it {}", file.string(), i, given[i], from, derived[i]));
}

CommonAttentionMetadata read_metadata(const fs::path& folder, std::int64_t block_size, const KeyMask& mask) {
  const NpyArray table = read_npy(folder / "block_table.npy");
  table.check_shape({-1, -1});
  const auto query_lens = read_npy(folder / "query_lens.npy").integers();
  std::vector<std::int64_t> seq_lens;
  if (!fs::exists(folder / "seq_lens.npy") && fs::exists(folder / "context_lens.npy")) {
    seq_lens = read_npy(folder / "context_lens.npy").integers();
    for (std::size_t i = 0; i < std::min(seq_lens.size(), query_lens.size()); ++i)
      seq_lens[i] = Checked(seq_lens[i]) + query_lens[i];
  } else {
    seq_lens = read_npy(folder / "seq_lens.npy").integers();
  }
  CommonAttentionMetadata metadata =
      make_metadata(query_lens, seq_lens, table.integers(), table.shape[1], block_size, mask);
  if (fs::exists(folder / "context_lens.npy"))
    require_equal(folder / "context_lens.npy", read_npy(folder / "context_lens.npy").integers(),
                  metadata.num_computed_tokens, "seq_lens and query_lens");
  if (fs::exists(folder / "slot_mapping.npy"))
    require_equal(folder / "slot_mapping.npy", read_npy(folder / "slot_mapping.npy").integers(), metadata.slot_mapping,
                  "block_table and seq_lens");
  return metadata;
}

}  // namespace

AttentionCase load_attention_case(const fs::path& folder) {
  if (!fs::is_directory(folder))
    throw InputError(fmt::format("{}: no such folder; give one with q.npy, k_new.npy, v_new.npy, kv_cache.npy, "
                                 "block_table.npy, seq_lens.npy and query_lens.npy",
                                 folder.string()));
  const CaseSettings settings = read_settings(folder / "case.json");
  AttentionCase batch;
  AttentionInputs& inputs = batch.inputs;

  NpyArray cache = read_npy(folder / "kv_cache.npy");
  cache.check_shape({-1, 2, -1, -1, -1});
  const DType dtype = tensor_dtype(cache, settings);
  const Layout layout = row_major(std::vector<Axis>{{"block", cache.shape[0], 0},
                                                    {"kv", 2, 0},
                                                    {"token", cache.shape[2], 0},
                                                    {"head", cache.shape[3], 0},
                                                    {"channel", cache.shape[4], 0}});
  batch.cache = std::move(cache.bytes);
  const auto [key, value] = key_value_layouts(BackendForm::paged, layout, cache.shape[4], cache.shape[4]);
  inputs.key = make_view(batch.cache, dtype, key);
  inputs.value = make_view(batch.cache, dtype, value);

  inputs.mask = settings.mask;
  inputs.soft_cap = settings.soft_cap;
  inputs.metadata = read_metadata(folder, cache.shape[2], inputs.mask);
  const NpyArray query = read_npy(folder / "q.npy");
  const NpyArray key_new = read_npy(folder / "k_new.npy");
  const NpyArray value_new = read_npy(folder / "v_new.npy");
  query.check_shape({inputs.num_tokens(), -1, cache.shape[4]});
  key_new.check_shape({inputs.num_tokens(), cache.shape[3], cache.shape[4]});
  value_new.check_shape({inputs.num_tokens(), cache.shape[3], cache.shape[4]});
  batch.query = as_floats(query, settings);
  batch.key_new = as_floats(key_new, settings);
  batch.value_new = as_floats(value_new, settings);
  inputs.num_query_heads = query.shape[1];
  inputs.query = batch.query;
  inputs.key_new = batch.key_new;
  inputs.value_new = batch.value_new;
  if (fs::exists(folder / "sinks.npy")) batch.sinks = as_floats(read_npy(folder / "sinks.npy"), settings);
  inputs.sinks = batch.sinks;
  inputs.is_decode = settings.is_decode;
  if (inputs.is_decode.empty()) inputs.is_decode.assign(inputs.metadata.num_reqs, false);
  inputs.scale = settings.scale.value_or(1.0 / std::sqrt(static_cast<double>(cache.shape[4])));
  check_inputs(inputs);
  return batch;
}

template <class Real>
void write_attention_output(const fs::path& folder, const AttentionInputs& inputs,
                            const AttentionOutput<Real>& output) {
  const std::vector<std::int64_t> out_shape{inputs.num_tokens(), inputs.num_query_heads, inputs.head_size_v()};
  const std::vector<std::int64_t> lse_shape{inputs.num_tokens(), inputs.num_query_heads};
  // Both are complete before either has its name, so that a killed run leaves no half of a result.
  write_npy<Real>(folder / "out.npy.part", out_shape, output.out);
  write_npy<Real>(folder / "lse.npy.part", lse_shape, output.lse);
  fs::rename(folder / "out.npy.part", folder / "out.npy");
  fs::rename(folder / "lse.npy.part", folder / "lse.npy");
}

template void write_attention_output(const fs::path&, const AttentionInputs&, const AttentionOutput<float>&);
template void write_attention_output(const fs::path&, const AttentionInputs&, const AttentionOutput<double>&);

}  // namespace hybridkv
