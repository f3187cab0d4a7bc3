#include "verify/forward/forward_reference.h"

#include <algorithm>
#include <utility>

#include "verify/forward/forward_dense.h"

namespace hybridkv {

namespace {

/// float arithmetic through all layers: absolute and relative tolerance of float32, for rows of RMS one.
constexpr double arithmetic_error = 1e-5 + 1.3e-6;

ForwardReference compute(const ForwardNetwork& network, const std::vector<std::uint64_t>& contents) {
  DenseRun run = dense_forward(network, contents);
  return {std::move(run.rows), std::max(arithmetic_error, run.may_differ)};
}

}  // namespace

std::shared_ptr<const ForwardReference> ForwardReferences::of(const std::vector<std::uint64_t>& contents) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = known_.find(contents); found != known_.end()) return found->second;
  }
  auto reference = std::make_shared<const ForwardReference>(compute(*network_, contents));
  const std::lock_guard lock(mutex_);
  return known_.emplace(contents, std::move(reference)).first->second;
}

}  // namespace hybridkv
