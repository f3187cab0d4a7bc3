#pragma once

#include "verify/check_result.h"
#include "verify/transfer/traffic.h"

namespace hybridkv {

/// Zeroing one block of one layer changes exactly that layer's bytes of that block: for every view, its page and the
/// pages before and behind are filled with canaries and compared byte by byte. Overwrites three blocks of every pool.
/// `count` = bytes compared.
CheckResult check_zero_one_block(const Traffic& traffic);

/// Copying one block of one layer changes exactly that layer's bytes of the target block, to the source's.
/// `count` = bytes compared.
CheckResult check_copy_one_block(const Traffic& traffic);

/// Ids of an arena that the two checks above make resident in every lane, first to last.
std::vector<std::int64_t> block_ops_blocks(const CachePlan& plan, ArenaId arena);

}  // namespace hybridkv
