#include "verify/attention_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include "attention/reference.h"
#include "base/number_text.h"
#include "base/parallel.h"
#include "verify/fault/plant.h"
#include "verify/layout/cache_codec.h"
#include "verify/transfer/exchanged_scales.h"

namespace hybridkv {

namespace {

// Both sides read the same rounded K and V, so only the arithmetic in fp32 separates them, whatever the cache dtype.
constexpr double absolute_tolerance = 1e-5;
constexpr double relative_tolerance = 1.3e-6;

/// Whether this is attention over values that can be computed: hidden states are attended by nobody, and of a format
/// without a codec only the bytes are known here.
bool is_computable(const Traffic& traffic, std::size_t view) {
  const auto& attention = traffic.plan.specs[traffic.views[view].view.spec].attention;
  return attention && attention->kind != AttentionKind::hidden_state && has_values(*attention);
}

/// `row` = query token and head, the outer two axes of both results.
std::string difference_text(const Traffic& traffic, const BoundView& view, const AttentionBatch& batch,
                            std::int64_t row, std::string_view what, double got, double wanted) {
  const AttentionInputs& inputs = batch.inputs;
  const CommonAttentionMetadata& metadata = *inputs.metadata;
  const std::int64_t token = row / inputs.num_query_heads;
  std::int64_t request = 0;
  while (metadata.query_start_loc[request + 1] <= token) ++request;
  const std::int64_t block = metadata.block(request, first_visible_column(metadata, request, inputs.mask));
  return fmt::format("{}, pool {}, request {} (first block {}, byte {}), token {}, query head {}: {} gives {:.9g}, the "
                     "reference {:.9g}",
                     view.name(traffic.plan), view.view.pool, request, block,
                     traffic.plan.lanes[view.view.lane.index()].offset +
                         block * traffic.plan.place_stride(group_of(traffic.plan, view)),
                     token, row % inputs.num_query_heads, what,
                     got, wanted);
}

/// The metadata with the first entry taken out of a block table through which a cached token is seen; nothing where no
/// request of the batch sees one.
std::shared_ptr<const CommonAttentionMetadata> with_stale_block(const GroupBatch& group) {
  const KeyMask& mask = group.shape.mask;
  for (std::int64_t request = 0; request < group.common->num_reqs; ++request) {
    const std::int64_t first = mask.first_visible(group.common->position(request, 0));
    if (!group.is_decode[request] && first >= group.common->num_computed_tokens[request]) continue;
    auto stale = std::make_shared<CommonAttentionMetadata>(*group.common);
    const std::int64_t column = first_visible_column(*stale, request, mask);
    stale->block_table[request * stale->max_blocks_per_req + column] = 0;
    return stale;
  }
  return nullptr;
}

/// The fault that is planted into one way alone, where it is the one asked for.
bool is_planted_into(const Traffic& traffic, const AttentionWay& way) {
  return traffic.fault && info_of(*traffic.fault).found_by == way.check;
}

BackendOptions options_of(const Traffic& traffic, const AttentionWay& way) {
  BackendOptions options;
  options.unified.shared_bias = way.shared_bias;
  options.unified.chunk_blocks = 1;  // so that chunks are merged even where a batch shares few blocks
  options.unified.unique_bias = UniqueBiasMode::gathered;
  options.unified.shared = !(traffic.fault == Fault::lost_merge && is_planted_into(traffic, way));
  return options;
}

bool takes_a_block_away(Fault fault) {
  return fault == Fault::stale_block || fault == Fault::stale_cascade || fault == Fault::stale_paged;
}

/// What one way makes of the batches, by group and once for all its layers; null where a group has no batch.
using PlannedWay = std::vector<std::unique_ptr<const BackendMetadata>>;

PlannedWay plan_way(const Traffic& traffic, const AttentionWay& way,
                    const std::vector<std::optional<GroupBatch>>& batches) {
  const bool is_stale = is_planted_into(traffic, way) && takes_a_block_away(*traffic.fault);
  PlannedWay planned;
  for (const std::optional<GroupBatch>& batch : batches) {
    planned.emplace_back();
    if (!batch) continue;
    auto stale = is_stale ? with_stale_block(*batch) : nullptr;
    const GroupBatch group = stale ? make_group_batch(stale, batch->shape, batch->is_decode) : *batch;
    planned.back() = build_metadata(way.backend, group, options_of(traffic, way));
  }
  return planned;
}

bool has_nan(DType dtype) {
  std::array<std::byte, 8> element{};
  store_element(element.data(), dtype, std::numeric_limits<float>::quiet_NaN());
  return std::isnan(load_element(element.data(), dtype));
}

/// Adds V of the slot behind the last token of a request to the first output, times 0, as a kernel does that masks a
/// slot by its weight alone. False where every request fills its last block, or elements have no NaN.
bool add_stale_slot(const AttentionBatch& batch, AttentionOutput<float>& output) {
  const AttentionInputs& inputs = batch.inputs;
  const CommonAttentionMetadata& metadata = *inputs.metadata;
  if (inputs.value_codec.format || !has_nan(inputs.value.dtype)) return false;
  const std::int64_t block_tokens = metadata.block_size_tokens;
  for (std::int64_t request = 0; request < metadata.num_reqs; ++request) {
    const std::int64_t slot = metadata.seq_lens[request], inside = slot % block_tokens;
    if (inside == 0) continue;
    const std::int64_t kernel = inputs.kernel_block_tokens();
    const std::int64_t block = metadata.block(request, slot / block_tokens);
    const std::int64_t first = block * (block_tokens / kernel);
    for (std::int64_t channel = 0; channel < inputs.value.layout.extent("channel"); ++channel)
      output.out.front() += 0 * load_element(
          inputs.value.address({first + inside / kernel, inside % kernel, 0, channel}), inputs.value.dtype);
    return true;
  }
  return false;
}

/// Runs one way over the batch of a layer. True where the fault asked for had its place in it.
bool compare(const Traffic& traffic, const AttentionWay& way, const BackendMetadata& planned, std::size_t view_index,
             const AttentionBatch& batch, const AttentionOutput<double>& expected, CheckResult& result) {
  if (const auto reason = planned.declines(batch.inputs)) {
    result.status = CheckStatus::declined;
    result.message = *reason;
    return false;
  }
  std::optional<ExchangedScales> exchanged;
  if (traffic.fault == Fault::scale_exchanged && is_planted_into(traffic, way)) exchanged.emplace(batch.inputs);
  AttentionOutput<float> output = planned.run(exchanged ? exchanged->inputs() : batch.inputs).output;
  const bool is_stale_slot = traffic.fault == Fault::stale_slot && is_planted_into(traffic, way);
  if (is_stale_slot && !add_stale_slot(batch, output)) return false;
  const auto compare_element = [&](double got, double wanted, std::size_t row, std::string_view what) {
    ++result.count;
    const double error = std::abs(got - wanted);
    // NaN compares false with everything, so it must not hide behind `error > limit`.
    const bool right = error <= absolute_tolerance + relative_tolerance * std::abs(wanted);
    if (right) {
      result.max_error = std::max(result.max_error, error);
    } else if (result.status == CheckStatus::passed) {
      result.max_error = std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
      result.fail(difference_text(traffic, traffic.views[view_index], batch, static_cast<std::int64_t>(row), what, got,
                                  wanted));
    }
  };
  const auto channels = static_cast<std::size_t>(batch.inputs.head_size_v());
  for (std::size_t i = 0; i < expected.out.size(); ++i)
    compare_element(output.out[i], expected.out[i], i / channels, "attention");
  for (std::size_t i = 0; i < expected.lse.size(); ++i)
    compare_element(output.lse[i], expected.lse[i], i, "its log-sum-exp");
  if (!is_planted_into(traffic, way)) return false;
  if (is_stale_slot) return true;
  if (traffic.fault == Fault::lost_merge)
    return !partition_blocks(planned.common(), planned.batch().is_decode, batch.inputs.mask).shared.empty();
  return planned.batch().common != batch.inputs.metadata || (exchanged && exchanged->any());
}

/// Why the fault that was asked for changed nothing; nothing where it is no fault of attention.
const char* why_no_place(Fault fault) {
  if (takes_a_block_away(fault) || fault == Fault::lost_merge)
    return "no layer whose attention is computed sees such a cached block";
  if (fault == Fault::stale_slot) return "every request fills its last block, or K and V are no elements with a NaN";
  if (fault == Fault::scale_exchanged) return "no layer whose attention is computed reads cached scales";
  return nullptr;
}

/// The result of a way from those of the layers it was run over or declined.
CheckResult total_of(std::span<const CheckResult> layers) {
  CheckResult total{.unit = "outputs", .tolerance = absolute_tolerance};
  total.add(layers);
  const auto declines = [](const CheckResult& layer) { return layer.status == CheckStatus::declined; };
  const auto declined = std::count_if(layers.begin(), layers.end(), declines);
  if (declined == 0 || total.status == CheckStatus::failed) return total;
  total.message = fmt::format("{} of {} declined: {}", declined, human_plural(std::ssize(layers), "layer"),
                              std::find_if(layers.begin(), layers.end(), declines)->message);
  if (declined == std::ssize(layers)) total.status = CheckStatus::declined;
  return total;
}

}  // namespace

std::vector<CheckResult> check_attention(const Traffic& traffic) {
  constexpr std::size_t ways = attention_ways.size();
  const std::vector<std::optional<GroupBatch>> batches = group_batches(traffic);
  std::vector<PlannedWay> planned;
  for (const AttentionWay& way : attention_ways) planned.push_back(plan_way(traffic, way, batches));
  std::vector<std::size_t> layers;  // by view
  for (std::size_t i = 0; i < traffic.views.size(); ++i)
    if (is_computable(traffic, i)) layers.push_back(i);
  std::vector<std::vector<CheckResult>> results(ways, std::vector<CheckResult>(layers.size()));
  std::atomic<bool> has_place = false;
  parallel_for(layers.size(), [&](std::size_t i) {
    const auto group = static_cast<std::size_t>(traffic.views[layers[i]].group);
    const AttentionBatch batch = make_attention_batch(traffic, layers[i], *batches[group]);
    const AttentionOutput<double> expected = reference_attention(batch.inputs);
    for (std::size_t way = 0; way < ways; ++way)
      if (compare(traffic, attention_ways[way], *planned[way][group], layers[i], batch, expected, results[way][i]))
        has_place = true;
  });
  if (traffic.fault && !has_place)
    if (const char* why = why_no_place(*traffic.fault)) throw NoPlaceError(*traffic.fault, why);
  std::vector<CheckResult> totals;
  for (const std::vector<CheckResult>& way : results) totals.push_back(total_of(way));
  for (const SpecPlan& spec : traffic.plan.specs)
    if (spec.attention && !has_values(*spec.attention))
      for (CheckResult& total : totals) {
        if (total.status != CheckStatus::passed) continue;
        total.status = CheckStatus::no_codec;
        total.message = fmt::format("values of {} are not computed here; its bytes are checked like any others",
                                    stored_as(*spec.attention));
      }
  if (layers.empty())
    for (CheckResult& total : totals)
      if (total.status == CheckStatus::passed) {
        total.status = CheckStatus::declined;
        total.message = "no layer has attention";
      }
  return totals;
}

}  // namespace hybridkv
