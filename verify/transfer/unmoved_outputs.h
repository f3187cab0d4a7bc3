#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "verify/check_result.h"
#include "verify/transfer/transfer_continue.h"

namespace hybridkv {

/// What a side that never moved gives, by column of the whole layer.
class UnmovedOutputs {
 public:
  void add(const RankOutputs& outputs);
  /// Compares what a destination gives: of recurrent layers, and of paged attention over K and V of equal types, the
  /// bits are equal. Layers that went on at no source are left out. `count` = outputs.
  void compare(const RankOutputs& outputs, const TransferRank& rank, const TransferTraffic& traffic,
               CheckResult& states, CheckResult& attention) const;
  /// Largest change of an output of recurrent layers by rounding their states on the way.
  double rounding_error() const { return rounding_error_; }

 private:
  struct Whole {
    std::vector<float> values;   // (token, column)
    std::vector<bool> is_known;  // (column)
  };
  void add(const LayerOutputs& outputs);
  void compare(const LayerOutputs& outputs, double allowed, const std::string& who, CheckResult& result) const;

  std::map<ModelTensor, Whole> layers_;
  double rounding_error_ = 0;
};

}  // namespace hybridkv
