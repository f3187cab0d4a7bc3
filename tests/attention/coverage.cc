#include "tests/attention/coverage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/named_batch.h"
#include "tests/attention/batch.h"
#include "tests/attention/run_backend.h"

namespace hybridkv::test {

namespace {

/// Positions of the factors in a row.
enum : std::size_t {
  at_batch, at_block, at_kernel_block, at_pack, at_page, at_form, at_order, at_prefix, at_group, at_head, at_dtype,
  at_rule, at_backend
};

constexpr std::int64_t blocks[] = {16, 96, 128, 528};
constexpr std::int64_t smaller_kernel_blocks[] = {8, 16, 64, 48};  ///< one for each block
constexpr std::int64_t packs[] = {1, 2, 3, 8};
constexpr BackendForm forms[] = {BackendForm::paged,    BackendForm::flex,     BackendForm::cpu,
                                 BackendForm::diff_kv,  BackendForm::kv_first, BackendForm::kv_first_unordered,
                                 BackendForm::mla};
constexpr PhysicalOrder orders[] = {PhysicalOrder::nhd, PhysicalOrder::hnd, PhysicalOrder::head_major};
constexpr std::int64_t groups[] = {1, 4, 7, 8};
constexpr std::int64_t heads[] = {64, 80, 128, 256};
constexpr DType dtypes[] = {DType::fp32, DType::bf16, DType::fp16, DType::fp8_e4m3};

/// What a layer asks for besides its shape.
struct Rule {
  const char* name;
  AttentionFeature feature;
  KeyMask mask = {};
  double soft_cap = 0;
  bool sinks = false;
};
constexpr Rule rules[] = {
    {"full", AttentionFeature::causal},
    {"sliding window of 45", AttentionFeature::sliding_window, {MaskKind::sliding_window, 45}},
    {"chunks of 100", AttentionFeature::chunked_local, {MaskKind::chunked_local, 100}},
    {"soft cap", AttentionFeature::soft_cap, {}, 1.5},
    {"sinks", AttentionFeature::sinks, {}, 0, true},
};

template <class Values, class Name>
std::vector<std::string> names(const Values& values, Name name) {
  std::vector<std::string> result;
  for (const auto& value : values) result.emplace_back(name(value));
  return result;
}

std::vector<Factor> make_factors() {
  const auto number = [](std::int64_t value) { return fmt::format("{}", value); };
  const auto text = [](const auto& value) { return to_string(value); };
  return {{"batch", names(named_batches(), [](const NamedBatch& batch) { return batch.name; })},
          {"block", names(blocks, number)},
          {"kernel block", {"equal", "smaller"}},
          {"pack", names(packs, number)},
          {"page", {"exact", "padded"}},
          {"form", names(forms, text)},
          {"order", names(orders, text)},
          {"prefix", {"none", "common"}},
          {"queries per KV head", names(groups, number)},
          {"head", names(heads, number)},
          {"element type", names(dtypes, text)},
          {"rule", names(rules, [](const Rule& rule) { return rule.name; })}};
}

bool has_order(BackendForm form, PhysicalOrder order) {
  return order != PhysicalOrder::head_major || form == BackendForm::paged || form == BackendForm::kv_first ||
         form == BackendForm::mla;
}

/// The batch of a row, K and V rounded; large ones with an eighth of their sequences.
Batch batch_of(const Row& row, std::uint64_t seed) {
  const BatchSpec spec = named_batch(named_batches()[row[at_batch]].name, BatchScale::large_reduced);
  const BackendForm form = forms[row[at_form]];
  BatchShape shape;
  shape.query_lens = spec.query_lens();
  shape.context_lens = spec.seq_lens();
  std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
  for (std::size_t r = 0; r < shape.query_lens.size(); ++r) {
    shape.context_lens[r] -= shape.query_lens[r];
    shortest = std::min(shortest, shape.context_lens[r]);
  }
  shape.is_decode.assign(shape.query_lens.size(), false);
  shape.block_size = blocks[row[at_block]];
  if (row[at_prefix] == 1) shape.shared_prefix_blocks = shortest / shape.block_size;
  shape.spare_blocks = 1;
  shape.num_kv_heads = form == BackendForm::mla ? 1 : 2;
  shape.num_query_heads = shape.num_kv_heads * groups[row[at_group]];
  shape.head_size_k = shape.head_size_v = heads[row[at_head]];
  // The forms that K and V of different sizes are made for.
  if (form == BackendForm::diff_kv) shape.head_size_v /= 2;
  if (form == BackendForm::mla) shape.head_size_v -= 16;
  Batch batch = rounded(random_batch(shape, seed), dtypes[row[at_dtype]]);
  return form == BackendForm::mla ? with_latent(std::move(batch)) : batch;
}

/// The last layer of the pack.
PagedCache cache_of(const Row& row, const Batch& batch) {
  KvViewSpec view{.form = forms[row[at_form]], .order = orders[row[at_order]], .dtype = dtypes[row[at_dtype]]};
  view.block_size_tokens = blocks[row[at_block]];
  view.kernel_block_size_tokens =
      row[at_kernel_block] == 0 ? view.block_size_tokens : smaller_kernel_blocks[row[at_block]];
  view.pack_size = packs[row[at_pack]];
  if (row[at_page] == 1) {
    const std::int64_t channels =
        view.form == BackendForm::mla ? batch.head_size_k : batch.head_size_k + batch.head_size_v;
    const std::int64_t kernel_blocks = view.block_size_tokens / view.kernel_block_size_tokens;
    view.page_bytes = view.pack_size * element_bytes(view.dtype) *
                      (view.block_size_tokens * batch.num_kv_heads * channels + 3 * kernel_blocks);
  }
  return lay_out(batch, view, view.pack_size - 1);
}

/// Largest error over what is allowed for float32; infinity for NaN.
double relative_to_allowed(std::span<const float> values, std::span<const double> expected) {
  if (values.size() != expected.size()) return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (static_cast<double>(values[i]) == expected[i]) continue;
    const double error = std::abs(values[i] - expected[i]) / (1e-5 + 1.3e-6 * std::abs(expected[i]));
    largest = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(largest, error);
  }
  return largest;
}

}  // namespace

const std::vector<Factor>& coverage_factors() {
  static const std::vector<Factor> factors = make_factors();
  return factors;
}

const std::vector<Factor>& coverage_factors_with_backend() {
  static const std::vector<Factor> factors = [] {
    std::vector<Factor> all = make_factors();
    all.push_back({"backend", names(backends_under_test(), [](const BackendUnderTest& how) { return how.name; })});
    return all;
  }();
  return factors;
}

bool coverage_excludes(const Level& a, const Level& b) {
  if (a.factor == at_form && b.factor == at_order) return !has_order(forms[a.value], orders[b.value]);
  if (a.factor == at_rule && b.factor == at_backend)
    return !feature_support(rules[a.value].feature).by(backends_under_test()[b.value].backend);
  return false;
}

std::string describe(const Row& row) {
  std::string text;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const Factor& factor = coverage_factors_with_backend()[i];
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", factor.name, factor.values[row[i]]);
  }
  return text;
}

std::vector<CoverageRun> run_row(const Row& row, std::uint64_t seed,
                                 const std::function<void(AttentionInputs&)>& tamper) {
  const Rule& rule = rules[row[at_rule]];
  const Batch batch = batch_of(row, seed);
  const PagedCache plain = lay_out_plain(batch), cache = cache_of(row, batch);
  std::vector<float> sinks;
  for (std::int64_t head = 0; rule.sinks && head < batch.num_query_heads; ++head)
    sinks.push_back(static_cast<float>(head) / 4 - 1);
  const auto with_rule = [&](AttentionInputs inputs) {
    inputs.mask = rule.mask;
    inputs.soft_cap = rule.soft_cap;
    inputs.sinks = sinks;
    return inputs;
  };
  const AttentionOutput<double> expected = reference_attention(with_rule(inputs_of(batch, plain)));
  AttentionInputs inputs = with_rule(inputs_of(batch, cache));
  if (tamper) tamper(inputs);

  std::vector<CoverageRun> runs;
  for (std::size_t i = 0; i < backends_under_test().size(); ++i) {
    if (coverage_excludes({at_rule, row[at_rule]}, {at_backend, i})) continue;
    const AttentionOutput<float> output = run(backends_under_test()[i], inputs).output;
    runs.push_back({row, std::max(relative_to_allowed(output.out, expected.out),
                                  relative_to_allowed(output.lse, expected.lse))});
    runs.back().row.push_back(i);
  }
  return runs;
}

}  // namespace hybridkv::test
