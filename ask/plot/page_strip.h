#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "layout/placed_layout.h"
#include "planner/cache_plan.h"

namespace hybridkv {

/// A stretch of a page that belongs to one tensor of one layer, or to nobody.
struct PagePart {
  ByteExtent bytes;                          ///< from the first byte of the page
  std::optional<std::int64_t> layer;         ///< nothing: padding
  std::string tensor;                        ///< ViewPlan::tensor: "kv", "conv", "ssm"; "padding"
  std::string half;                          ///< "K" or "V" where they lie apart, else empty
  std::optional<std::int64_t> kernel_block;  ///< of attention pages with several of them, from 0
  bool operator==(const PagePart&) const = default;
};

/// One page as one group of layers sees it.
/// Invariant: the parts follow each other without gap or overlap from byte 0 to the end of the page.
struct PageStrip {
  std::int64_t group = 0;  ///< position in CachePlan::groups
  std::int64_t pool = 0;
  std::int64_t front = 0;          ///< byte of its pool at which the page of id 0 begins
  std::int64_t runs = 1;           ///< in which it lies: one a head where heads are outside layers or blocks; drawn as
                                   ///< one behind the other
  std::int64_t kernel_blocks = 1;  ///< of an attention page
  std::vector<std::size_t> views;  ///< positions in CachePlan::views, in the order of the layers
  std::vector<PagePart> parts;     ///< ascending
};

/// The pages that show a plan: in pool 0 the first group of each spec, then, where the last pack is short, that pack in
/// its pool. Every view of the plan is enumerated run by run (layout/for_each_run.h), neighbouring runs of one tensor
/// merged, and what no view addresses is padding. K and V are told apart where they lie apart; a layout that mixes them
/// token by token gives parts that hold both. Throws InputError where the engine makes no views, std::logic_error where
/// views overlap.
std::vector<PageStrip> page_strips(const CachePlan& plan);

}  // namespace hybridkv
