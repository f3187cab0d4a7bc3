#include "planner/allocation_decisions.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/checked.h"
#include "planner/allocated_tensors.h"
#include "planner/cache_orders.h"
#include "planner/group_runs.h"

namespace hybridkv {

namespace {

/// A rule with its inputs, and what comes of it.
struct Product {
  std::string text;
  std::vector<Term> factors;

  std::int64_t value() const {
    Checked product = 1;
    for (const Term& factor : factors) product *= std::get<std::int64_t>(factor.value);
    return product;
  }
};

Product product_of(std::vector<Term> factors) {
  std::string text;
  for (const Term& factor : factors) text += (text.empty() ? "" : " * ") + factor.symbol;
  return {std::move(text), std::move(factors)};
}

/// The symbols of groups that lie alike and what they stand for.
class AllocationDecisions {
 public:
  AllocationDecisions(const CachePlan& plan, const PlanRun& run, Derivation& derivation)
      : plan_(plan),
        group_(plan.groups[run.first]),
        spec_(plan.spec_of(group_)),
        places_(head_places(spec_)),
        order_(*plan.cache_order),
        of_(fmt::format(" of group{} {}", run.count > 1 ? "s" : "", run.numbers())),
        derivation_(derivation) {}

  /// Of the tensors that the engine allocates, before kernels split blocks.
  void derive_tensor(const AllocatedTensor& tensor) {
    add("layer stride", tensor.layer_stride, layer_stride(),
        is_packed()                  ? "layers of a pack lie side by side in its page"
        : order_ == CacheOrder::bhlnc   ? "layers lie inside a head"
        : is_block_outermost(order_) ? "layers lie side by side in a block"
                                     : "a layer holds all its blocks");
    add("block stride", tensor.block_stride, block_stride(),
        is_block_outermost(order_) ? "the next block begins behind all pages"
        : has_heads_outside()      ? "blocks lie inside a head"
                                   : "blocks of a layer lie one behind the other");
    push("offset", tensor.offset_bytes, "bytes",
         tensor.offset_bytes == 0 ? "0: groups lie over each other" : "the pages of the table's specs before it", {});
    if (!group_.in_lane)
      push("bytes of a piece", plan_.lanes[group_.first_lane.index()].bytes, "bytes",
           group_.lanes_per_page > 1 ? "piece = page / heads" : "piece = page",
           group_.lanes_per_page > 1 ? std::vector<Term>{page(), {"heads", group_.lanes_per_page, ""}}
                                     : std::vector<Term>{page()});
  }

  /// Of what a backend indexes: attention (block, head, token, channel), a state the axes that it has.
  void derive_view(const ViewPlan& view) {
    for (const Axis& axis : view.bytes.axes()) {
      const std::string name(axis.name.view());
      derive_extent(name, view, axis.extent);
      derive_stride(name, view, axis.stride);
    }
  }

 private:
  Term page() const { return {"page", plan_.page_bytes(group_), "bytes"}; }
  Term blocks() const { return {"num_blocks", plan_.num_blocks(), "blocks"}; }
  Term content() const { return {"C", places_.content_bytes, "bytes"}; }
  Term heads() const { return {"H", places_.heads, ""}; }
  Term tokens() const { return {"N", spec_.state ? 1 : spec_.block_entries(), "tokens"}; }
  Term kernel_tokens() const { return {"b", spec_.kernel_entries(), "tokens"}; }
  Term layers() const { return {"L", static_cast<std::int64_t>(group_.pages.size()), ""}; }
  bool is_packed() const { return spec_.layers_per_page > 1; }
  bool has_heads_outside() const { return order_ == CacheOrder::lhbnc && places_.heads > 1; }

  Product layer_stride() const {
    if (order_ == CacheOrder::bhlnc) return product_of({tokens(), content()});
    if (is_packed()) return product_of({heads(), tokens(), content()});
    return is_block_outermost(order_) ? product_of({page()}) : product_of({blocks(), page()});
  }
  Product block_stride() const {
    if (is_block_outermost(order_))
      return product_of({{"W", plan_.lanes[group_.first_lane.index()].stride, "bytes"}});
    return has_heads_outside() ? product_of({tokens(), content()}) : product_of({page()});
  }
  /// Bytes from one to the next on an axis of attention, where the block is not split.
  std::optional<Product> stride_of(const std::string& axis) const {
    const bool token_before_head = order_ == CacheOrder::lbnhc || order_ == CacheOrder::blnhc;
    if (axis == "token") return token_before_head ? product_of({heads(), content()}) : product_of({content()});
    if (axis != "head") return std::nullopt;
    switch (order_) {
      case CacheOrder::lbnhc:
      case CacheOrder::blnhc: return product_of({content()});
      case CacheOrder::lbhnc:
      case CacheOrder::blhnc: return product_of({kernel_tokens(), content()});
      case CacheOrder::lhbnc: return product_of({blocks(), tokens(), content()});
      case CacheOrder::bhlnc: return product_of({layers(), tokens(), content()});
    }
    return std::nullopt;
  }

  void derive_extent(const std::string& axis, const ViewPlan& view, std::int64_t extent) {
    const std::string symbol = axis + " of " + view.tensor;
    const std::int64_t element = element_bytes(view.dtype);
    if (axis == "block" && spec_.attention)
      push(symbol, extent, "", "block = num_blocks * B / b",
           {blocks(), {"B", spec_.block_entries(), "tokens"}, kernel_tokens()});
    else if (axis == "block")
      push(symbol, extent, "", "block = num_blocks", {blocks()});
    else if (spec_.state)
      push(symbol, extent, "", "as the state has it", {});
    else if (axis == "head")
      push(symbol, extent, "", "slots of a token: KV heads of this rank, two each where K and V are quantised apart; "
                               "1 of a latent", {});
    else if (axis == "token")
      push(symbol, extent, "", "token = b", {kernel_tokens()});
    else
      push(symbol, extent, "", "channel = C / element: K, then V",
           {{"C", places_.content_bytes, "bytes"}, {"element", element, "bytes"}});
  }

  void derive_stride(const std::string& axis, const ViewPlan& view, std::int64_t bytes) {
    const std::string symbol = "stride of " + axis + " of " + view.tensor;
    const Term element{"element", element_bytes(view.dtype), "bytes"};
    const std::int64_t elements = bytes / element_bytes(view.dtype);
    std::optional<Product> known = axis == "block" ? block_stride() : spec_.state ? std::nullopt : stride_of(axis);
    if (known && known->value() == bytes) {
      known->factors.push_back(element);
      push(symbol, elements, "elements", "stride = " + known->text + " / element", known->factors);
    } else if (axis == "block") {  // split into kernel blocks
      push(symbol, elements, "elements", "stride = block stride * b / (B * element)",
           {{"block stride", block_stride().value(), "bytes"}, kernel_tokens(),
            {"B", spec_.block_entries(), "tokens"}, element});
    } else {
      push(symbol, elements, "elements",
           spec_.state ? "the elements inside it, one behind the other" : "1: channels lie one behind the other", {});
    }
  }

  void add(const std::string& what, std::int64_t value, Product product, const char* why) {
    push(what, value, "bytes", what + " = " + product.text + ": " + why, std::move(product.factors));
  }
  void push(const std::string& what, std::int64_t value, const char* unit, std::string rule, std::vector<Term> inputs) {
    derivation_.push_back({{what + of_, value, unit}, std::move(rule), std::move(inputs),
                           cited(*plan_.rules, RuleOf::cache_order)});
  }

  const CachePlan& plan_;
  const GroupPlan& group_;
  const SpecPlan& spec_;
  const HeadPlaces places_;
  const CacheOrder order_;
  const std::string of_;
  Derivation& derivation_;
};

}  // namespace

void derive_allocation_views(const CachePlan& plan, std::span<const ViewPlan> views, Derivation& derivation) {
  for (const PlanRun& run : group_runs(plan)) {
    const GroupPlan& group = plan.groups[run.first];
    if (group.pages.empty()) continue;
    AllocationDecisions decisions(plan, run, derivation);
    decisions.derive_tensor(allocated_tensor(plan, group));
    for (const ViewPlan& view : views)
      if (view.spec == group.spec && view.layer == group.pages.front().front()) decisions.derive_view(view);
  }
}

}  // namespace hybridkv
