#pragma once

#include "transfer/held_tensor.h"
#include "transfer/transfer_map.h"

namespace hybridkv {

/// Largest relative error of one rounding to a type that holds fewer digits: 2^-8 for bf16; 0 where every value of
/// `from` is one of `to`. Ranges aside: what `to` has no room for becomes infinite, or its largest number in fp8.
double rounding_error(DType from, DType to);

/// What becomes of values: "each value is rounded once, by at most 2^-8 = 0.39 % of it".
std::string conversion_text(DType from, DType to);

/// Throws SpecError with path "to.KEY", the numbers and a way out, where the bytes of one side mean something else on
/// the other, or nothing. Pre: the tensors have equal keys.
void check_exchange(const HeldTensor& from, const HeldTensor& to, const TransferOptions& options);

/// Throws SpecError: the destination keeps a tensor that no rank of the source has.
[[noreturn]] void refuse_missing(const HeldTensor& missing);

/// Throws SpecError unless a share of so many ranks has as many of the parts as the side keeps, which padding changes.
/// `side`: "from" or "to".
void check_shares(const HeldTensor& tensor, std::int64_t ranks, const char* side);

}  // namespace hybridkv
