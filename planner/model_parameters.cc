#include "planner/model_parameters.h"

#include "base/checked.h"

namespace hybridkv {

ParameterCounts& ParameterCounts::operator+=(const ParameterCounts& other) {
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] = Checked(counts_[i]) + other.counts_[i];
  return *this;
}

std::int64_t ParameterCounts::total() const {
  Checked sum = 0;
  for (const std::int64_t count : counts_) sum += count;
  return sum;
}

ParameterCounts counts_of(const ModelParameters& parameters) {
  ParameterCounts sum = parameters.beside;
  for (const KindParameters& kind : parameters.layers) sum += kind.counts;
  return sum;
}

std::int64_t total_parameters(const ModelParameters& parameters) { return counts_of(parameters).total(); }

std::int64_t active_parameters(const ModelParameters& parameters) {
  const ParameterCounts counts = counts_of(parameters);
  Checked active = counts.total();
  for (const KindParameters& kind : parameters.layers) active = active - kind.counts[ParameterPart::embeddings];
  const std::int64_t routed = counts[ParameterPart::routed_experts];
  if (parameters.experts == 0) return active;
  // All experts are alike, so that the quotient has no rest.
  return active - routed + Checked(routed / parameters.experts) * parameters.experts_per_token;
}

}  // namespace hybridkv
