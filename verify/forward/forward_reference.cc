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
  Known* known = nullptr;
  {
    const std::lock_guard lock(mutex_);
    known = &known_[contents];  // stays where it is as others come
  }
  std::call_once(known->computed,
                 [&] { known->reference = std::make_shared<const ForwardReference>(compute(*network_, contents)); });
  return known->reference;
}

std::shared_ptr<ForwardReferences> NetworkReferences::of(ForwardNetwork network) {
  for (const auto& known : known_)
    if (known->network() == network) return known;
  return known_.emplace_back(
      std::make_shared<ForwardReferences>(std::make_shared<const ForwardNetwork>(std::move(network))));
}

}  // namespace hybridkv
