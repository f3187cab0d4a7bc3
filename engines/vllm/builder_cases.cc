#include "engines/vllm/builder_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "attention/key_mask.h"
#include "attention/metadata.h"
#include "attention/reference.h"
#include "base/convert.h"
#include "base/npy.h"
#include "base/random.h"
#include "planner/views.h"

namespace hybridkv {

namespace {

using Json = nlohmann::ordered_json;
using Extents = std::vector<std::int64_t>;

constexpr std::int64_t num_blocks = 6;       // enough for blocks of nobody before, between and behind those of requests
constexpr std::int64_t nobody = 3;           // a block that no request has, beside the null block
constexpr std::int64_t num_rows = 61;        // of K and V: a prime, so that no block or layer repeats another's
constexpr std::int64_t rows_a_request = 11;
constexpr std::int64_t rows_a_layer = 5;
constexpr std::int64_t num_requests = 3, columns = 2;

/// Requests of a first token, of a block that lacks one, and of a block and three tokens.
std::vector<std::int64_t> lengths_of(const SpecPlan& spec) {
  const std::int64_t block = spec.block_size_tokens;
  return {1, std::max<std::int64_t>(block - 1, 1), block + 3};
}
constexpr std::int64_t block_table[num_requests][columns] = {{4, nobody}, {2, nobody}, {5, 1}};

std::vector<float> values(std::uint64_t seed, std::size_t count) {
  std::vector<float> made(count);
  for (std::size_t i = 0; i < count; ++i) made[i] = unit_value(mix(seed, i));
  return made;
}

/// K and V of layers as attention reads them, by the sizes of one rank.
struct Sizes {
  std::int64_t heads, kv_heads, k, v;
};
Sizes sizes_of(const AttentionGeometry& attention) {
  return {attention.query_heads > 0 ? attention.query_heads : attention.kv_heads, attention.kv_heads,
          attention.head_size_k, attention.head_size_v};
}

/// The numbers that a request reads, one after the other, as a cache of float32 in blocks of one token.
std::vector<float> read_by_requests(const std::vector<float>& rows, const std::vector<std::int64_t>& lengths,
                                    std::int64_t layer) {
  const std::int64_t width = std::ssize(rows) / num_rows;
  std::vector<float> read;
  for (std::int64_t request = 0; request < num_requests; ++request)
    for (std::int64_t token = 0; token < lengths[static_cast<std::size_t>(request)]; ++token) {
      const std::int64_t row = (token + rows_a_request * request + rows_a_layer * layer) % num_rows;
      read.insert(read.end(), rows.begin() + row * width, rows.begin() + (row + 1) * width);
    }
  return read;
}

/// Float64 attention of the last token of each request.
class CaseAttention {
 public:
  CaseAttention(const SpecPlan& spec, const std::vector<float>& query, double scale)
      : sizes_(sizes_of(*spec.attention)), lengths_(lengths_of(spec)) {
    const std::int64_t longest = *std::max_element(lengths_.begin(), lengths_.end());
    inputs_.mask = key_mask(spec.attention->kind, spec.attention->window_tokens);
    inputs_.num_query_heads = sizes_.heads;
    inputs_.query = query;
    inputs_.scale = scale;
    inputs_.is_decode.assign(num_requests, true);
    Extents table;
    std::int64_t slot = 0;
    for (const std::int64_t length : lengths_)
      for (std::int64_t column = 0; column < longest; ++column) table.push_back(column < length ? slot++ : 0);
    tokens_ = slot;
    inputs_.metadata = std::make_shared<const CommonAttentionMetadata>(
        make_metadata(Extents(num_requests, 1), lengths_, std::move(table), longest, 1, inputs_.mask));
  }

  std::vector<std::int64_t> first_seen() const {
    std::vector<std::int64_t> seen;
    for (const std::int64_t length : lengths_) seen.push_back(inputs_.mask.first_visible(length - 1));
    return seen;
  }

  std::vector<double> of_layer(std::int64_t layer, const std::vector<float>& keys,
                               const std::vector<float>& of_values) {
    std::vector<float> k = read_by_requests(keys, lengths_, layer), v = read_by_requests(of_values, lengths_, layer);
    inputs_.key = view_of(k, sizes_.k);
    inputs_.value = view_of(v, sizes_.v);
    const std::vector<float> new_k = last_tokens(k, sizes_.k), new_v = last_tokens(v, sizes_.v);
    inputs_.key_new = new_k;
    inputs_.value_new = new_v;
    return reference_attention(inputs_).out;
  }

 private:
  TensorView view_of(std::vector<float>& memory, std::int64_t channels) const {
    const std::int64_t token = sizes_.kv_heads * channels;
    return make_view(std::as_writable_bytes(std::span(memory)), DType::fp32,
                     Layout({{"block", tokens_, token},
                             {"token", 1, token},
                             {"head", sizes_.kv_heads, channels},
                             {"channel", channels, 1}}));
  }

  std::vector<float> last_tokens(const std::vector<float>& all, std::int64_t channels) const {
    const std::int64_t width = sizes_.kv_heads * channels;
    std::vector<float> last;
    std::int64_t end = 0;
    for (const std::int64_t length : lengths_) {
      end += length * width;
      last.insert(last.end(), all.begin() + (end - width), all.begin() + end);
    }
    return last;
  }

  Sizes sizes_;
  std::vector<std::int64_t> lengths_;
  std::int64_t tokens_ = 0;
  AttentionInputs inputs_;
};

/// Are K and V numbers of a type of which every value of a case is one, without scales?
bool keeps_numbers(const AttentionGeometry& attention) {
  return !counts_bytes(attention) &&
         (attention.dtype == DType::bf16 || attention.dtype == DType::fp16 || attention.dtype == DType::fp32);
}

EmittedFile integers(const std::string& path, const Extents& shape, const std::vector<std::int64_t>& all) {
  return {path, npy_text<std::int64_t>(shape, all)};
}

EmittedFile floats(const std::string& path, const Extents& shape, const std::vector<float>& all) {
  return {path, npy_text<float>(shape, all)};
}

/// V of latents is the front of K.
std::vector<float> values_of(const AttentionGeometry& attention, const std::vector<float>& keys) {
  const auto [heads, kv_heads, k, v] = sizes_of(attention);
  if (is_latent(attention.kind)) {
    std::vector<float> fronts;
    for (std::int64_t row = 0; row < num_rows * kv_heads; ++row)
      fronts.insert(fronts.end(), keys.begin() + row * k, keys.begin() + row * k + v);
    return fronts;
  }
  std::vector<float> all = values(3, static_cast<std::size_t>(num_rows * kv_heads * v));
  round_elements(attention.dtype, all);
  return all;
}

void add_attention(std::vector<EmittedFile>& files, const CachePlan& plan, const GroupPlan& group) {
  const SpecPlan& spec = plan.spec_of(group);
  const auto [heads, kv_heads, k, v] = sizes_of(*spec.attention);
  const std::string folder = fmt::format("cases/{}_{}/", spec.kind, spec.id);
  const double scale = 1 / std::sqrt(static_cast<double>(k));
  const std::vector<float> query = values(1, static_cast<std::size_t>(num_requests * heads * k));
  std::vector<float> keys = values(2, static_cast<std::size_t>(num_rows * kv_heads * k));
  round_elements(spec.attention->dtype, keys);
  const std::vector<float> of_values = values_of(*spec.attention, keys);
  CaseAttention attention(spec, query, scale);
  const std::vector<std::int64_t> layers = group.layers();
  std::vector<float> out;
  for (std::int64_t layer = 0; layer < std::ssize(layers); ++layer)
    for (const double value : attention.of_layer(layer, keys, of_values)) out.push_back(static_cast<float>(value));
  files.push_back(floats(folder + "q.npy", {num_requests, heads, k}, query));
  files.push_back(floats(folder + "k.npy", {num_rows, kv_heads, k}, keys));
  files.push_back(floats(folder + "v.npy", {num_rows, kv_heads, v}, of_values));
  files.push_back(integers(folder + "block_table.npy", {num_requests, columns},
                           {&block_table[0][0], &block_table[0][0] + num_requests * columns}));
  files.push_back(integers(folder + "lengths.npy", {num_requests}, lengths_of(spec)));
  files.push_back(integers(folder + "first_seen.npy", {num_requests}, attention.first_seen()));
  files.push_back(floats(folder + "out.npy", {std::ssize(layers), num_requests, heads, v}, out));
  const Json facts{{"layers", layers}, {"block_tokens", spec.block_size_tokens}, {"scale", scale}};
  files.push_back({folder + "case.json", facts.dump() + "\n"});
}

/// The same plan of few blocks. Layers and heads outside the blocks lie as far apart as all blocks are large.
Arrangement with_few_blocks(const CachePlan& plan) {
  Arrangement few = plan;
  few.arenas.front().num_ids = num_blocks;
  if (!is_block_outermost(*plan.cache_order))
    for (LanePlan& lane : few.lanes) lane.offset = lane.offset / plan.num_blocks() * num_blocks;
  return few;
}

/// Where the page of every layer begins, and how it goes on.
EmittedFile views_file(const CachePlan& plan) {
  std::vector<std::int64_t> rows;
  for (const ViewPlan& view : make_views(with_few_blocks(plan))) {
    const Layout& bytes = view.bytes;
    const SpecPlan& spec = plan.specs[static_cast<std::size_t>(view.spec)];
    if (spec.attention) {
      const std::int64_t head = bytes.find("head") < 0 ? 0 : bytes.stride("head");
      rows.insert(rows.end(), {view.layer, bytes.offset(), bytes.stride("block"), head, bytes.stride("token"),
                               spec.kernel_block_size_tokens});
    } else if (view.tensor == spec.state->tensors.front().name) {  // which begins with the page
      rows.insert(rows.end(), {view.layer, bytes.offset(), bytes.stride("block"), 0, 0, 0});
    }
  }
  return integers("cases/views.npy", {std::ssize(rows) / 6, 6}, rows);
}

}  // namespace

std::vector<EmittedFile> vllm_builder_cases(const EmitQuestion& question) {
  const CachePlan& plan = question.plan;
  std::vector<EmittedFile> files{{"cases/case.json", Json{{"blocks", num_blocks}}.dump() + "\n"}, views_file(plan)};
  std::vector<std::int64_t> seen;
  for (const GroupPlan& group : plan.groups) {
    if (std::find(seen.begin(), seen.end(), group.spec) != seen.end()) continue;
    seen.push_back(group.spec);
    const SpecPlan& spec = plan.spec_of(group);
    if (spec.attention && keeps_numbers(*spec.attention)) add_attention(files, plan, group);
  }
  return files;
}

}  // namespace hybridkv
