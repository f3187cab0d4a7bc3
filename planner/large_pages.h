#pragma once

#include <optional>
#include <span>
#include <string>

#include "planner/arrangement.h"
#include "planner/strategies.h"

namespace hybridkv {

/// The least common multiple of these sizes; nothing where it is more than `most`.
std::optional<std::int64_t> common_multiple(std::span<const std::int64_t> sizes, std::int64_t most);

/// The size of a small page: all layers of the spec in one block, or one state of all of them, each page of them exact.
/// Pre: block and pages are there.
std::int64_t small_page_bytes(const SpecPlan& spec, const EngineSpec& engine);

/// What would make the large pages of these specs smaller than `bytes`: the block, of those that the backend allows and
/// no larger than a state, with the smallest ones; or states padded to whole small pages of attention. "" where neither
/// does. `bytes`: of a large page now; none where they leave 64 bits.
std::string smaller_large_pages(std::span<const SpecPlan> specs, std::optional<std::int64_t> bytes,
                                const EngineSpec& engine);

}  // namespace hybridkv
