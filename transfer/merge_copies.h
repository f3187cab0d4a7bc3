#pragma once

#include <vector>

#include "transfer/copy_list.h"

namespace hybridkv {

/// Puts copies into the order of the destination's pools and bytes, and joins those that follow each other on both
/// sides: no list of the same bytes is shorter. Converted runs join where they convert between the same types.
/// Returns what runs hold of others than the content they begin with.
/// Pre: no byte of the destination is written twice.
std::vector<JoinedBytes> merge_copies(std::vector<Copy>& copies, const std::vector<Content>& contents);

}  // namespace hybridkv
