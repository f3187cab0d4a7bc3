#include "planner/slot_decisions.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "planner/allocated_tensors.h"
#include "planner/cache_orders.h"

namespace hybridkv {

namespace {

constexpr const char* slot_source = "vLLM 0.33 KVCacheLayout";

/// The symbols of one group and what they stand for.
class SlotDecisions {
 public:
  SlotDecisions(const CachePlan& plan, const GroupPlan& group, std::size_t number, Derivation& derivation)
      : plan_(plan),
        spec_(plan.spec_of(group)),
        group_(group),
        slots_(cache_slots(spec_)),
        of_(fmt::format(" of group {}", number)),
        derivation_(derivation) {}

  /// Of the tensors that the engine allocates, before kernels split blocks.
  void derive_tensor(const AllocatedTensor& tensor) {
    const CacheOrder order = *plan_.cache_order;
    const Term page{"page", plan_.page_bytes(group_), "bytes"}, blocks{"num_blocks", plan_.num_blocks(), "blocks"};
    const Term tokens{"N", spec_.state ? 1 : spec_.block_size_tokens, "tokens"};
    const Term content{"C", slots_.content_bytes, "bytes"};
    const Term block_bytes{"W", plan_.lanes[group_.first_lane.index()].stride, "bytes"};
    add("layer stride", tensor.layer_stride,
        order == CacheOrder::bhlnc    ? "N * C: layers lie inside a head"
        : is_block_outermost(order)   ? "page: layers lie side by side in a block"
                                      : "num_blocks * page: a layer holds all its blocks",
        order == CacheOrder::bhlnc  ? std::vector<Term>{tokens, content}
        : is_block_outermost(order) ? std::vector<Term>{page}
                                    : std::vector<Term>{blocks, page});
    const bool heads_outside = order == CacheOrder::lhbnc && slots_.heads > 1;
    add("block stride", tensor.block_stride,
        is_block_outermost(order) ? "W: the next block begins behind all layers"
        : heads_outside           ? "N * C: blocks lie inside a head"
                                  : "page",
        is_block_outermost(order) ? std::vector<Term>{block_bytes}
        : heads_outside           ? std::vector<Term>{tokens, content}
                                  : std::vector<Term>{page});
    add("offset", tensor.offset_bytes,
        tensor.offset_bytes == 0 ? "0: groups lie over each other" : "the pages of the table's specs before it", {});
  }

  /// Of what a backend indexes: (block, head, token, channel).
  void derive_view(const ViewPlan& view) {
    const std::int64_t element = element_bytes(view.dtype);
    for (const Axis& axis : view.bytes.axes()) {
      const std::string name(axis.name.view());
      add(name + " of " + view.tensor, axis.extent, extent_rule(name), {}, "");
      add("stride of " + name + " of " + view.tensor, axis.stride / element,
          fmt::format("{} bytes / element, by the order {}", axis.stride, to_string(*plan_.cache_order)),
          {{"element", element, "bytes"}}, "elements");
    }
  }

 private:
  static std::string extent_rule(const std::string& axis) {
    if (axis == "block") return "num_blocks * B / b";
    if (axis == "head") return "slots of a token: KV heads of this rank, 1 of a latent";
    if (axis == "token") return "b";
    if (axis == "channel") return "content of a slot / element: K then V";
    return "as the state has it";
  }
  void add(const std::string& what, std::int64_t value, std::string rule, std::vector<Term> inputs,
           const char* unit = "bytes") {
    derivation_.push_back({{what + of_, value, unit}, std::move(rule), std::move(inputs), slot_source});
  }

  const CachePlan& plan_;
  const SpecPlan& spec_;
  const GroupPlan& group_;
  const CacheSlots slots_;
  const std::string of_;
  Derivation& derivation_;
};

}  // namespace

void derive_slot_views(const CachePlan& plan, std::span<const ViewPlan> views, Derivation& derivation) {
  const std::vector<AllocatedTensor> tensors = allocated_tensors(plan);
  std::size_t tensor = 0;
  for (std::size_t i = 0; i < plan.groups.size(); ++i) {
    const GroupPlan& group = plan.groups[i];
    if (group.pages.empty()) continue;
    SlotDecisions decisions(plan, group, i, derivation);
    decisions.derive_tensor(tensors[tensor++]);
    for (const ViewPlan& view : views)
      if (view.spec == group.spec && view.layer == group.pages.front().front()) decisions.derive_view(view);
  }
}

}  // namespace hybridkv
