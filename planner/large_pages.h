#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "planner/arrangement.h"
#include "planner/strategies.h"

namespace hybridkv {

/// The least common multiple of these sizes; nothing where it is more than `most`.
std::optional<std::int64_t> common_multiple(std::span<const std::int64_t> sizes, std::int64_t most);

/// One kind of small pages: all layers of a spec in one block, or one tensor of a state of all of them, each page of
/// them exact. Convolutions and recurrent tensors are kinds of their own, as only so the numbers of the paper come out
/// (84 blocks of 16 tokens in a large page of Jamba-1.5-Mini).
struct SmallPage {
  std::int64_t spec = 0;
  std::optional<std::int64_t> tensor;  ///< of the state, which has several; unset: all that the spec keeps
  std::int64_t page_bytes = 0;         ///< of one layer of a state, or of all layers of attention
  std::int64_t bytes = 0;              ///< of the small page
};

/// Those of all specs, in their order. Pre: blocks and pages are there.
std::vector<SmallPage> small_pages(std::span<const SpecPlan> specs, const EngineSpec& engine);

/// The size of a large page: the least common multiple of theirs; nothing where it leaves 64 bits.
std::optional<std::int64_t> large_page_bytes(std::span<const SmallPage> pages);

/// How derivations call one: "spec 1 (full_attention)", of a tensor "conv, spec 0 (gdn)".
std::string small_page_label(const SpecPlan& spec, std::optional<std::int64_t> tensor);

/// What would make the large pages of these specs smaller than `bytes`: the block, of those that the backend allows and
/// no larger than a state, with the smallest ones; or states padded to whole small pages of attention. "" where neither
/// does. `bytes`: of a large page now; none where they leave 64 bits.
std::string smaller_large_pages(std::span<const SpecPlan> specs, std::optional<std::int64_t> bytes,
                                const EngineSpec& engine);

}  // namespace hybridkv
