#pragma once

#include "verify/check_result.h"
#include "verify/transfer/traffic.h"

namespace hybridkv {

/// Padding of every page that a request holds is still its canary. `count` = padding bytes.
CheckResult check_padding(const Traffic& traffic);

/// The null block and the guard blocks, which no request holds, are still their canary in every pool.
/// `count` = bytes.
CheckResult check_unheld_blocks(const Traffic& traffic);

/// Fills every page of every block that a request holds, of the null block and of the guard blocks with its canary.
void fill_canaries(const Traffic& traffic);

}  // namespace hybridkv
