#pragma once

#include <cstddef>
#include <span>

namespace hybridkv {

/// Asks the kernel to back memory with huge pages, as serving engines do for their pools: a first touch then costs one
/// fault for 2 MiB, and looking up addresses does not limit the reading. Changes no content; a kernel may ignore it.
void advise_huge_pages(std::span<const std::byte> memory);

}  // namespace hybridkv
