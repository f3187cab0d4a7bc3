#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "attention/inputs.h"

namespace hybridkv {

/// The cache of a layer as a reader sees it that takes scales from the wrong place: of two neighbouring tokens each the
/// other's, scales of the tensor K for V and V for K (of a latent, which has one for both, none). For as long as it
/// lives the scales lie exchanged in the pool; then they are as they were.
/// Pre: nobody else reads the layer meanwhile.
class ExchangedScales {
 public:
  explicit ExchangedScales(const AttentionInputs& inputs);
  ~ExchangedScales() { exchange(); }
  ExchangedScales(const ExchangedScales&) = delete;
  ExchangedScales& operator=(const ExchangedScales&) = delete;

  /// What that reader computes with.
  const AttentionInputs& inputs() const { return inputs_; }
  /// False where no cached token that the batch reads has a scale to exchange.
  bool any() const { return any_; }

 private:
  void exchange();

  AttentionInputs inputs_;
  std::vector<std::pair<std::span<std::byte>, std::span<std::byte>>> pairs_;
  bool any_ = false;
};

}  // namespace hybridkv
