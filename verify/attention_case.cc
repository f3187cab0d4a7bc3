#include "verify/attention_case.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <system_error>
#include <utility>

#include "attention/kv_view.h"
#include "base/convert.h"
#include "base/npy_file.h"
#include "base/resident_budget.h"
#include "verify/case_settings.h"

namespace hybridkv {

namespace {

namespace fs = std::filesystem;

/// Element type of a tensor file: what NumPy says, or the bit patterns of the dtype in case.json.
DType tensor_dtype(const NpyHeader& array, const CaseSettings& settings) {
  if (array.type == NpyType::float32) return DType::fp32;
  if (array.type == NpyType::float16) return DType::fp16;
  if (array.type == NpyType::int8) return DType::int8;
  if (array.type != NpyType::uint16 && array.type != NpyType::uint8)
    throw InputError(fmt::format("{}: holds {}; save tensors as float32, or as uint16 or uint8 bit patterns with their "
                                 "\"dtype\" in case.json",
                                 array.source, to_string(array.type)));
  if (!settings.dtype)
    throw InputError(fmt::format("{}: holds {} bit patterns, but case.json names no \"dtype\" (bf16, fp16, "
                                 "fp8_e4m3 …)",
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

bool is_there(const fs::path& file) {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  return status.type() != fs::file_type::not_found;  // what cannot be told is tried, and the error says why
}

/// The headers of all files of a case. Their shapes are compared before any element is read: a file of another case, or
/// a huge one, costs nothing.
struct CaseHeaders {
  NpyHeader cache, query, key_new, value_new, block_table, query_lens;
  std::optional<NpyHeader> seq_lens, context_lens, slot_mapping, sinks;

  std::int64_t tokens() const { return query.shape[0]; }
  std::int64_t query_heads() const { return query.shape[1]; }
  std::int64_t block_tokens() const { return cache.shape[2]; }
  std::int64_t kv_heads() const { return cache.shape[3]; }
  std::int64_t head_size() const { return cache.shape[4]; }
  std::int64_t requests() const { return block_table.shape[0]; }
};

CaseHeaders read_headers(const fs::path& folder) {
  const auto optional = [&](const char* name) -> std::optional<NpyHeader> {
    if (!is_there(folder / name)) return std::nullopt;
    return read_npy_header(folder / name);
  };
  CaseHeaders headers{.cache = read_npy_header(folder / "kv_cache.npy"),
                      .query = read_npy_header(folder / "q.npy"),
                      .key_new = read_npy_header(folder / "k_new.npy"),
                      .value_new = read_npy_header(folder / "v_new.npy"),
                      .block_table = read_npy_header(folder / "block_table.npy"),
                      .query_lens = read_npy_header(folder / "query_lens.npy"),
                      .seq_lens = optional("seq_lens.npy"),
                      .context_lens = optional("context_lens.npy"),
                      .slot_mapping = optional("slot_mapping.npy"),
                      .sinks = optional("sinks.npy")};
  if (!headers.seq_lens && !headers.context_lens) headers.seq_lens = read_npy_header(folder / "seq_lens.npy");
  return headers;
}

void check_headers(const CaseHeaders& headers, const CaseSettings& settings) {
  headers.cache.check_shape({-1, 2, -1, -1, -1});
  headers.query.check_shape({-1, -1, headers.head_size()});
  headers.key_new.check_shape({headers.tokens(), headers.kv_heads(), headers.head_size()});
  headers.value_new.check_shape({headers.tokens(), headers.kv_heads(), headers.head_size()});
  headers.block_table.check_shape({-1, -1});
  headers.query_lens.check_shape({headers.requests()});
  if (headers.seq_lens) headers.seq_lens->check_shape({headers.requests()});
  if (headers.context_lens) headers.context_lens->check_shape({headers.requests()});
  if (headers.slot_mapping) headers.slot_mapping->check_shape({headers.tokens()});
  if (headers.sinks) headers.sinks->check_shape({headers.query_heads()});
  for (const NpyHeader* tensor : {&headers.cache, &headers.query, &headers.key_new, &headers.value_new})
    tensor_dtype(*tensor, settings);
  for (const NpyHeader* integers : {&headers.block_table, &headers.query_lens}) integers->check_integers();
  for (const auto* integers : {&headers.seq_lens, &headers.context_lens, &headers.slot_mapping})
    if (*integers) (*integers)->check_integers();
  if (headers.block_tokens() < 1 || headers.kv_heads() < 1 || headers.head_size() < 1)
    throw InputError(fmt::format("{}: the shape is {}; a block, a head and a channel are the least",
                                 headers.cache.source, shape_text(headers.cache.shape)));
  if (headers.query_heads() < 1)
    throw InputError(fmt::format("{}: the shape is {}; a head is the least", headers.query.source,
                                 shape_text(headers.query.shape)));
  settings.check_size("block_size", headers.block_tokens());
  settings.check_size("num_blocks", headers.cache.shape[0]);
  settings.check_size("num_heads", headers.query_heads());
  settings.check_size("num_kv_heads", headers.kv_heads());
  settings.check_size("head_size", headers.head_size());
}

/// What the files take once they are read: bytes as they are, and floats of the queries and new keys.
void require_memory(const fs::path& folder, const CaseHeaders& headers) {
  Checked bytes = headers.cache.data_bytes();
  for (const NpyHeader* tensor : {&headers.query, &headers.key_new, &headers.value_new}) {
    bytes += tensor->data_bytes();
    bytes += Checked(tensor->data_bytes()) / element_bytes(tensor->type) * std::int64_t{sizeof(float)};
  }
  bytes += headers.block_table.data_bytes();
  bytes += Checked(headers.query_lens.data_bytes()) * 4;  // with starts, sequences and contexts
  ResidentBudget().require(bytes, fmt::format("attend of {}", folder.string()));
}

void require_equal(const std::string& source, const std::vector<std::int64_t>& given,
                   const std::vector<std::int64_t>& derived, const char* from) {
  if (given.size() != derived.size())
    throw InputError(fmt::format("{}: holds {} values, {} are expected", source, given.size(), derived.size()));
  for (std::size_t i = 0; i < given.size(); ++i)
    if (given[i] != derived[i])
      throw InputError(fmt::format("{}: value {} is {}, but {} make it {}", source, i, given[i], from, derived[i]));
}

CommonAttentionMetadata read_metadata(const fs::path& folder, const CaseHeaders& headers,
                                      const CaseSettings& settings) {
  const auto query_lens = read_npy(folder / "query_lens.npy").integers();
  Checked tokens = 0;
  for (const std::int64_t length : query_lens) tokens += std::max<std::int64_t>(length, 0);  // negative: refused below
  if (tokens != headers.tokens())
    throw InputError(fmt::format("{}: the lengths sum to {} tokens, but {} holds {}", headers.query_lens.source,
                                 std::int64_t{tokens}, headers.query.source, headers.tokens()));
  std::vector<std::int64_t> seq_lens;
  if (headers.seq_lens) {
    seq_lens = read_npy(folder / "seq_lens.npy").integers();
  } else {
    seq_lens = read_npy(folder / "context_lens.npy").integers();
    for (std::size_t i = 0; i < seq_lens.size(); ++i) seq_lens[i] = Checked(seq_lens[i]) + query_lens[i];
  }
  CommonAttentionMetadata metadata =
      make_metadata(query_lens, seq_lens, read_npy(folder / "block_table.npy").integers(), headers.block_table.shape[1],
                    headers.block_tokens(), settings.mask);
  const auto equal_contexts = [&](const std::string& source, const std::vector<std::int64_t>& given) {
    require_equal(source, given, metadata.num_computed_tokens, "seq_lens and query_lens");
  };
  if (headers.context_lens)
    equal_contexts(headers.context_lens->source, read_npy(folder / "context_lens.npy").integers());
  if (settings.context_lens) equal_contexts(settings.source + ": context_lens", *settings.context_lens);
  if (settings.query_lens)
    require_equal(settings.source + ": query_lens", *settings.query_lens, query_lens, "the values of query_lens.npy");
  if (headers.slot_mapping)
    require_equal(headers.slot_mapping->source, read_npy(folder / "slot_mapping.npy").integers(), metadata.slot_mapping,
                  "block_table and seq_lens");
  return metadata;
}

}  // namespace

std::vector<std::string> input_files(const fs::path& folder) {
  std::vector<std::string> files;
  for (const char* name : {"kv_cache.npy", "q.npy", "k_new.npy", "v_new.npy", "block_table.npy", "query_lens.npy",
                           "seq_lens.npy", "context_lens.npy", "slot_mapping.npy", "sinks.npy", "case.json"})
    files.push_back((folder / name).string());
  return files;
}

AttentionCase load_attention_case(const fs::path& folder) {
  std::error_code error;
  const fs::file_status status = fs::status(folder, error);
  if (!fs::is_directory(status))
    throw InputError(fmt::format("{}: {}; give one with q.npy, k_new.npy, v_new.npy, kv_cache.npy, block_table.npy, "
                                 "seq_lens.npy and query_lens.npy",
                                 folder.string(),
                                 status.type() == fs::file_type::none ? "cannot be read: " + error.message()
                                                                      : "no such folder"));
  const CaseSettings settings = read_case_settings(folder / "case.json");
  const CaseHeaders headers = read_headers(folder);
  check_headers(headers, settings);
  require_memory(folder, headers);
  AttentionCase batch;
  AttentionInputs& inputs = batch.inputs;
  inputs.mask = settings.mask;
  inputs.soft_cap = settings.soft_cap;
  inputs.metadata = std::make_shared<const CommonAttentionMetadata>(read_metadata(folder, headers, settings));

  const Layout layout = row_major(std::vector<Axis>{{"block", headers.cache.shape[0], 0},
                                                    {"kv", 2, 0},
                                                    {"token", headers.block_tokens(), 0},
                                                    {"head", headers.kv_heads(), 0},
                                                    {"channel", headers.head_size(), 0}});
  batch.cache = std::move(read_npy(folder / "kv_cache.npy").bytes);
  const auto [key, value] = key_value_layouts(BackendForm::paged, layout, headers.head_size(), headers.head_size());
  const DType dtype = tensor_dtype(headers.cache, settings);
  inputs.key = make_view(batch.cache, dtype, key);
  inputs.value = make_view(batch.cache, dtype, value);
  batch.query = as_floats(read_npy(folder / "q.npy"), settings);
  batch.key_new = as_floats(read_npy(folder / "k_new.npy"), settings);
  batch.value_new = as_floats(read_npy(folder / "v_new.npy"), settings);
  inputs.num_query_heads = headers.query_heads();
  inputs.query = batch.query;
  inputs.key_new = batch.key_new;
  inputs.value_new = batch.value_new;
  if (headers.sinks) batch.sinks = as_floats(read_npy(folder / "sinks.npy"), settings);
  inputs.sinks = batch.sinks;
  inputs.is_decode = settings.is_decode;
  if (inputs.is_decode.empty()) inputs.is_decode.assign(inputs.metadata->num_reqs, false);
  inputs.scale = settings.scale.value_or(1.0 / std::sqrt(static_cast<double>(headers.head_size())));
  check_inputs(inputs);
  return batch;
}

AttentionOutputFiles::AttentionOutputFiles(const fs::path& folder) : out(folder / "out.npy"), lse(folder / "lse.npy") {}

template <class Real>
void write_attention_output(AttentionOutputFiles& files, const AttentionInputs& inputs,
                            const AttentionOutput<Real>& output) {
  const std::vector<std::int64_t> out_shape{inputs.num_tokens(), inputs.num_query_heads, inputs.head_size_v()};
  const std::vector<std::int64_t> lse_shape{inputs.num_tokens(), inputs.num_query_heads};
  write_npy<Real>(files.out, out_shape, output.out);
  write_npy<Real>(files.lse, lse_shape, output.lse);
  files.out.complete();
  files.lse.complete();
  files.out.finish();
  files.lse.finish();
}

template <class Real>
void write_attention_output(const fs::path& folder, const AttentionInputs& inputs,
                            const AttentionOutput<Real>& output) {
  AttentionOutputFiles files(folder);
  write_attention_output(files, inputs, output);
}

template void write_attention_output(AttentionOutputFiles&, const AttentionInputs&, const AttentionOutput<float>&);
template void write_attention_output(AttentionOutputFiles&, const AttentionInputs&, const AttentionOutput<double>&);
template void write_attention_output(const fs::path&, const AttentionInputs&, const AttentionOutput<float>&);
template void write_attention_output(const fs::path&, const AttentionInputs&, const AttentionOutput<double>&);

}  // namespace hybridkv
