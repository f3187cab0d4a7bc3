#include "planner/view_decisions.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/error.h"

namespace hybridkv {

namespace {

/// The views of the first page of a spec: of attention one per layer of the pack, of a state one per tensor.
std::vector<ViewPlan> first_page(const SpecPlan& spec, std::span<const ViewPlan> views) {
  const auto of_spec = [&](const ViewPlan& view) { return view.spec == spec.id; };
  const auto first = std::find_if(views.begin(), views.end(), of_spec);
  expects(first != views.end(), "every spec has a view");
  std::vector<ViewPlan> page;
  if (spec.state) {  // where its tensors lie apart, the other layers come in between
    std::copy_if(first, views.end(), std::back_inserter(page),
                 [&](const ViewPlan& view) { return of_spec(view) && view.layer == first->layer; });
    return page;
  }
  const auto last = std::find_if(first, views.end(), [&](const ViewPlan& view) {
    return !of_spec(view) || view.lane != first->lane;
  });
  return {first, first + std::min<std::ptrdiff_t>(last - first, spec.layers_per_page)};
}

/// Axes inside a block from the outermost to the innermost in memory. Where strides are equal one of the two has extent
/// 1 and lies inside.
std::vector<Axis> in_memory_order(const Layout& layout) {
  std::vector<Axis> axes;
  for (const Axis& axis : layout.axes())
    if (axis.name != AxisName("block")) axes.push_back(axis);
  std::stable_sort(axes.begin(), axes.end(), [](const Axis& a, const Axis& b) {
    return a.stride != b.stride ? a.stride > b.stride : a.extent > b.extent;
  });
  return axes;
}

/// The first group of a spec that has the tensor of the view, as tensors of a state may lie in groups of their own.
const GroupPlan& first_group(const Arrangement& plan, const SpecPlan& spec, const ViewPlan& view) {
  return *std::find_if(plan.groups.begin(), plan.groups.end(), [&](const GroupPlan& group) {
    return group.spec == spec.id && (!group.tensor || plan.tensors_of(group).front().name == view.tensor);
  });
}

/// Writes the decisions about one tensor of one spec.
class TensorDecisions {
 public:
  TensorDecisions(const Arrangement& plan, const SpecPlan& spec, const ViewPlan& view, Derivation& derivation)
      : plan_(plan), spec_(spec), group_(first_group(plan, spec, view)), view_(view), layout_(view.elements()),
        derivation_(derivation), of_(fmt::format("of {}, {}", view.tensor, spec_label(spec))) {}

  void derive_extents() {
    if (spec_.state) {  // the axes of the state itself come with its shape
      add({"block " + of_, extent("block"), "blocks"}, "block = " + blocks().symbol, {blocks()});
      if (layout_.find("element") >= 0)
        add({"element " + of_, extent("element"), ""},
            "as many elements as the page has room for behind the offset, or are left: page " +
                std::to_string(view_.piece) + " of an entry",
            {});
      return;
    }
    const AttentionGeometry& attention = *spec_.attention;
    const Term block{"B", spec_.block_size_tokens, "tokens"}, kernel{"b", spec_.kernel_block_size_tokens, "tokens"};
    add({"block " + of_, extent("block"), "kernel blocks"}, "block = " + blocks().symbol + " * B / b",
        {blocks(), block, kernel});
    add({"token " + of_, extent("token"), "tokens"}, "token = b", {kernel});
    if (layout_.find("kv") >= 0) add({"kv " + of_, extent("kv"), ""}, "2: K and V", {});
    if (layout_.find("head") >= 0)
      add({"head " + of_, extent("head"), ""}, "head = KV heads", {{"KV heads", attention.kv_heads, ""}});
    const bool side_by_side = extent("channel") != attention.head_size_k;
    std::vector<Term> sizes{{"head_size_k", attention.head_size_k, ""}};
    if (side_by_side) sizes.push_back({"head_size_v", attention.head_size_v, ""});
    add({"channel " + of_, extent("channel"), ""},
        side_by_side ? "channel = head_size_k + head_size_v" : "channel = head_size_k", std::move(sizes));
  }

  void derive_strides() {
    const char* page = group_.entries_per_id > 1 ? "small page" : group_.in_lane ? "piece" : "P";
    std::vector<Term> inputs{{page, plan_.place_stride(group_), "bytes"},
                             {"element", element_bytes(view_.dtype), "bytes"}};
    const bool split = spec_.attention && spec_.kernel_block_size_tokens != spec_.block_size_tokens;
    if (split) {
      inputs.push_back({"b", spec_.kernel_block_size_tokens, "tokens"});
      inputs.push_back({"B", spec_.block_size_tokens, "tokens"});
    }
    add({"stride of block " + of_, layout_.stride("block"), "elements"},
        fmt::format(fmt::runtime(split ? "stride = {} * b / (B * element)" : "stride = {} / element"), page),
        std::move(inputs));
    const std::vector<Axis> axes = in_memory_order(layout_);
    for (std::size_t i = 0; i < axes.size(); ++i) derive_stride(axes, i);
  }

  /// `next`: the second layer of the pack, where there is one.
  void derive_offset(const ViewPlan* next) {
    const std::int64_t element = element_bytes(view_.dtype);
    const std::int64_t lane = plan_.lanes[view_.lane.index()].offset;
    const std::int64_t front = lane + plan_.offset_in_piece(group_, 0);
    if (lane > 0)
      add({"first element " + of_, layout_.offset(), "elements"}, "first byte of the lane / element",
          {{"first byte of the lane", lane, "bytes"}, {"element", element, "bytes"}});
    if (spec_.state) {
      const Term bytes{"byte offset", view_.bytes.offset() - front, "bytes"};
      add({"offset " + of_, layout_.offset() - front / element, "elements"}, "offset = byte offset / element",
          {bytes, {"element", element, "bytes"}});
      return;
    }
    add({"offset of the first layer " + of_, layout_.offset() - front / element, "elements"},
        "0: the first layer begins with the page", {});
    if (next == nullptr) return;
    const std::int64_t step = next->elements().offset() - layout_.offset();
    const Term result{"offset between layers " + of_, step, "elements"};
    const Term packed{"N", spec_.layers_per_page, ""};
    if (has_layers_inside_heads())
      add(result, "offset between layers = kv * token * channel: layer i of a pack begins i times as far in each head",
          {{"kv", extent("kv"), ""}, {"token", extent("token"), ""}, {"channel", extent("channel"), ""}});
    else
      add(result, "offset between layers = stride / N: layer i of a pack begins i times as far in each kernel block",
          {{"stride", layout_.stride("block"), "elements"}, packed});
  }

 private:
  void derive_stride(const std::vector<Axis>& axes, std::size_t at) {
    Checked inside = 1;
    std::string rule;
    std::vector<Term> inputs;
    for (std::size_t i = at + 1; i < axes.size(); ++i) {
      inside *= axes[i].extent;
      inputs.push_back({std::string(axes[i].name.view()), axes[i].extent, ""});
      rule += (rule.empty() ? "" : " * ") + inputs.back().symbol;
    }
    const Axis& axis = axes[at];
    if (axis.stride != inside) {
      expects(axis.stride == inside * spec_.layers_per_page,
              "between two axes lies the other one's extent, or the pack");
      rule = "N * " + rule;
      inputs.insert(inputs.begin(), {"N", spec_.layers_per_page, ""});
    }
    const Term result{fmt::format("stride of {} {}", axis.name.view(), of_), axis.stride, "elements"};
    if (rule.empty())
      add(result, "1: neighbours in memory", {});
    else
      add(result, "stride = " + rule, std::move(inputs));
  }

  bool has_layers_inside_heads() const {
    return spec_.attention->order == PhysicalOrder::head_major && spec_.attention->form != BackendForm::mla;
  }

  std::int64_t extent(const char* axis) const { return layout_.extent(axis); }
  Term blocks() const {
    if (group_.entries_per_id > 1) return {"ids * k", plan_.num_places(group_), "small pages"};
    return {"num_blocks", plan_.num_places(group_), "blocks"};
  }
  void add(Term result, std::string rule, std::vector<Term> inputs) {
    derivation_.push_back({std::move(result), std::move(rule), std::move(inputs),
                           cited(*plan_.rules, RuleOf::packs)});
  }

  const Arrangement& plan_;
  const SpecPlan& spec_;
  const GroupPlan& group_;  ///< of the spec; all lie alike
  const ViewPlan& view_;
  Layout layout_;  ///< of the view, in elements
  Derivation& derivation_;
  std::string of_;  ///< "of kv, spec 1 (full_attention)"
};

}  // namespace

void derive_views(const CachePlan& plan, std::span<const ViewPlan> views, Derivation& derivation) {
  for (const SpecPlan& spec : plan.specs) {
    const std::vector<ViewPlan> page = first_page(spec, views);
    if (page.empty()) continue;  // its layers are on another stage of the pipeline
    const std::size_t tensors = spec.state ? page.size() : 1;
    for (std::size_t i = 0; i < tensors; ++i) {
      // A state in several pages: the first of each tensor, the one behind it and the last stand for all.
      const bool first = page[i].first_element == 0, second = i > 0 && page[i - 1].first_element == 0;
      const bool last = i + 1 == tensors || page[i + 1].first_element == 0;
      if (!first && !second && !last) continue;
      TensorDecisions decisions(plan, spec, page[i], derivation);
      decisions.derive_extents();
      decisions.derive_strides();
      decisions.derive_offset(spec.attention && page.size() > 1 ? &page[1] : nullptr);
    }
  }
}

}  // namespace hybridkv
