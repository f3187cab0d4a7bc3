#include "verify/transfer/unmoved_outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hybridkv {

namespace {

/// What another order of summation may change in outputs, as a part of the largest.
constexpr double allowed_of_order = 1e-5;

/// What one rounding to a type may change in outputs, as a part of the largest.
double allowed_of(DType dtype) {
  switch (dtype) {
    case DType::fp16: return 2e-3;
    case DType::bf16: return 1.6e-2;
    case DType::fp8_e4m3: return 0.15;
    case DType::fp8_e5m2: return 0.3;
    default: return 0;
  }
}

/// The same for a tensor that came from another type; 0 where that holds no number which this one does not.
double allowed_for(const ModelTensor& name, DType kept, const TransferTraffic& traffic) {
  const DType source = traffic.source.at(name);
  const bool is_exact = source == kept || kept == DType::fp32 || element_bytes(source) < element_bytes(kept);
  return is_exact ? 0 : allowed_of(kept);
}

}  // namespace

void UnmovedOutputs::add(const RankOutputs& outputs) {
  for (const LayerOutputs& layer : outputs.states) add(layer);
  for (const LayerOutputs& layer : outputs.attention) add(layer);
}

void UnmovedOutputs::add(const LayerOutputs& outputs) {
  const auto width = static_cast<std::size_t>(width_of(outputs.row));
  const std::size_t tokens = outputs.values.size() / outputs.columns.size();
  rounding_error_ = std::max(rounding_error_, outputs.rounding_error);
  Whole& whole = layers_[outputs.layer];
  whole.values.resize(tokens * width);
  whole.is_known.resize(width);
  for (std::size_t i = 0; i < outputs.columns.size(); ++i) {
    const auto column = static_cast<std::size_t>(outputs.columns[i]);
    if (column >= width) continue;  // of query heads that pad those of the model
    whole.is_known[column] = true;
    for (std::size_t token = 0; token < tokens; ++token)
      whole.values[token * width + column] = outputs.values[token * outputs.columns.size() + i];
  }
}

void UnmovedOutputs::compare(const RankOutputs& outputs, const TransferRank& rank, const TransferTraffic& traffic,
                             CheckResult& states, CheckResult& attention) const {
  const std::string who = fmt::format("destination rank {}", rank.number);
  for (const LayerOutputs& layer : outputs.states) compare(layer, 0, who, states);
  for (const LayerOutputs& layer : outputs.attention) {
    const double rounding = allowed_for(layer.layer, rank.find_tokens(layer.layer)->attention().dtype, traffic);
    compare(layer, std::max(rounding, layer.is_exact ? 0 : allowed_of_order), who, attention);
  }
}

void UnmovedOutputs::compare(const LayerOutputs& outputs, double allowed, const std::string& who,
                             CheckResult& result) const {
  const auto found = layers_.find(outputs.layer);
  if (found == layers_.end()) return;
  const Whole& whole = found->second;
  const std::size_t width = whole.is_known.size();
  const std::string layer = outputs.layer.text();
  float largest = 0;
  for (const float value : whole.values) largest = std::max(largest, std::abs(value));
  const double tolerance = allowed * largest;
  result.tolerance = std::max(result.tolerance, tolerance);
  for (std::size_t i = 0; i < outputs.values.size(); ++i) {
    const auto column = static_cast<std::size_t>(outputs.columns[i % outputs.columns.size()]);
    if (column >= width) continue;
    const std::size_t token = i / outputs.columns.size();
    const float here = outputs.values[i], unmoved = whole.values[token * width + column];
    const double error = std::abs(static_cast<double>(here) - unmoved);
    ++result.count;
    result.max_error = std::max(result.max_error, error);
    if ((whole.is_known[column] && error <= tolerance) || result.status == CheckStatus::failed) continue;
    result.fail(fmt::format("{}, {}, new token {}, {}: {} found, {} where nothing moved", who, layer, token,
                            column_name(outputs.row, static_cast<std::int64_t>(column)), here, unmoved));
  }
}

}  // namespace hybridkv
