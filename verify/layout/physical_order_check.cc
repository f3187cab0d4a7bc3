#include "verify/layout/physical_order_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "base/parallel.h"
#include "base/random.h"
#include "verify/layout/physical_order.h"

namespace hybridkv {

namespace {

/// A position on each axis of a layout, by value: hundreds of thousands are compared.
class BoxIndex {
 public:
  BoxIndex() = default;
  BoxIndex(std::initializer_list<std::int64_t> positions) {
    for (const std::int64_t position : positions) push_back(position);
  }

  void push_back(std::int64_t position) {
    expects(size_ < at_.size(), "a layout has at most 8 axes");
    at_[size_++] = position;
  }
  std::size_t size() const { return size_; }
  std::int64_t& operator[](std::size_t axis) { return at_[axis]; }
  std::int64_t operator[](std::size_t axis) const { return at_[axis]; }
  const std::int64_t* begin() const { return at_.data(); }
  const std::int64_t* end() const { return at_.data() + size_; }

  friend bool operator==(const BoxIndex& a, const BoxIndex& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }
  friend bool operator<(const BoxIndex& a, const BoxIndex& b) {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  std::array<std::int64_t, Layout::max_rank> at_{};
  std::size_t size_ = 0;
};

/// All positions of an axis; of a long one evenly spread, the first and the last among them.
std::vector<std::int64_t> positions_of(std::int64_t extent) {
  constexpr std::int64_t most = 512;
  std::vector<std::int64_t> result;
  for (std::int64_t i = 0; i < std::min(extent, most); ++i)
    result.push_back(extent <= most ? i : i * (extent - 1) / (most - 1));
  return result;
}

/// Indices of a box, ascending: every corner, every axis from end to end at two corners, and some drawn with the seed.
std::vector<BoxIndex> sampled_indices(const BoxIndex& extents, std::uint64_t seed) {
  constexpr std::uint64_t draws = 32;
  std::vector<BoxIndex> chosen;
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return {};
  for (std::uint64_t corner = 0; corner < std::uint64_t(1) << extents.size(); ++corner) {
    BoxIndex index;
    for (std::size_t axis = 0; axis < extents.size(); ++axis)
      index.push_back(corner >> axis & 1 ? extents[axis] - 1 : 0);
    chosen.push_back(index);
  }
  for (const bool last : {false, true})
    for (std::size_t axis = 0; axis < extents.size(); ++axis) {
      BoxIndex index;
      for (const std::int64_t extent : extents) index.push_back(last ? extent - 1 : 0);
      for (const std::int64_t position : positions_of(extents[axis])) {
        index[axis] = position;
        chosen.push_back(index);
      }
    }
  for (std::uint64_t draw = 0; draw < draws; ++draw) {
    BoxIndex index;
    for (std::size_t axis = 0; axis < extents.size(); ++axis)
      index.push_back(
          static_cast<std::int64_t>(mix(seed, mix(draw, axis)) % static_cast<std::uint64_t>(extents[axis])));
    chosen.push_back(index);
  }
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

/// The first, the last and their neighbours, and two in between.
std::set<std::int64_t> sampled_blocks(std::int64_t num_blocks) {
  std::set<std::int64_t> blocks;
  for (const std::int64_t block : {std::int64_t(0), std::int64_t(1), num_blocks / 3, num_blocks / 2, num_blocks - 2,
                                   num_blocks - 1})
    if (block >= 0 && block < num_blocks) blocks.insert(block);
  return blocks;
}

/// Position of K or V in a view of the plan, by the names of its axes.
BoxIndex index_in_view(const SpecPlan& spec, const Layout& layout, const KvElement& element) {
  const std::int64_t kernel = spec.kernel_entries();
  const AttentionGeometry& attention = *spec.attention;
  const bool one_row = layout.find("kv") < 0 && !is_latent(attention.kind) &&
                       layout.extent("channel") == attention.head_size_k + attention.head_size_v;
  const bool own_slots = attention.form == BackendForm::slots && !one_row;
  BoxIndex index;
  for (const Axis& axis : layout.axes()) {
    if (axis.name == AxisName("block"))
      index.push_back(element.block * (spec.block_entries() / kernel) + element.token / kernel);
    else if (axis.name == AxisName("kv"))
      index.push_back(element.is_value);
    else if (axis.name == AxisName("token"))
      index.push_back(element.token % kernel);
    else if (axis.name == AxisName("head"))
      index.push_back(element.head + (own_slots && element.is_value ? attention.kv_heads : 0));
    else
      index.push_back(element.channel + (one_row && element.is_value ? attention.head_size_k : 0));
  }
  return index;
}

/// The same by the rules of one allocation, from the front of the group's first layer.
std::int64_t kv_byte_in_allocation(const SpecPlan& spec, const CacheFacts& facts, std::int64_t layer,
                                   const KvElement& element) {
  const AttentionGeometry& attention = *spec.attention;
  CacheByte at{layer, element.block, element.head, element.token, element.channel * element_bytes(attention.dtype)};
  if (element.is_value && !is_latent(attention.kind)) {
    if (attention.format == KvFormat::nvfp4)
      at.head += attention.kv_heads;
    else
      at.byte += attention.head_size_k * element_bytes(attention.dtype);
  }
  return cache_byte_by_rule(facts, at);
}

/// What one element is compared by.
struct Compared {
  std::int64_t block = 0;
  std::int64_t planned = 0;  ///< byte of the plan's view
  std::int64_t engine = 0;   ///< byte that the engine under test computes
  std::int64_t rule = 0;
};

/// `what`: names the element, called for the first fault alone.
template <class What>
void compare(const CachePlan& plan, const BoundView& view, const Compared& compared, What&& what, CheckResult& result) {
  ++result.count;
  if ((compared.planned == compared.rule && compared.engine == compared.rule) || result.status == CheckStatus::failed)
    return;
  const bool is_plan = compared.planned != compared.rule;
  result.fail(fmt::format("{}: {} lies here {}; by the rule of its order it belongs at byte {}",
                          view.place(plan, compared.block, is_plan ? compared.planned : compared.engine), what(),
                          is_plan ? "in the plan's view" : "for the engine", compared.rule));
}

void compare_kv(const CachePlan& plan, const BoundView& view, const PagePlace& place, std::uint64_t seed,
                CheckResult& result) {
  const GroupPlan& group = plan.groups[place.group];
  const std::int64_t num_ids = plan.arena_of(group).num_ids * group.entries_per_id;
  const SpecPlan& spec = plan.specs[view.view.spec];
  const AttentionGeometry& attention = *spec.attention;
  const KvViewSpec facts{.form = attention.form,
                         .order = attention.order,
                         .dtype = attention.dtype,
                         .num_blocks = num_ids,
                         .block_size_tokens = spec.block_entries(),
                         .kernel_block_size_tokens = spec.kernel_entries(),
                         .kv_heads = is_latent(attention.kind) ? 1 : attention.kv_heads,
                         .head_size_k = attention.head_size_k,
                         .head_size_v = attention.head_size_v,
                         .pack_size = spec.layers_per_page,
                         .page_bytes = plan.page_bytes(group)};
  const KeyValueLayouts engine = key_value_bytes(view, attention);
  std::optional<CacheFacts> in_allocation;
  if (plan.cache_order) in_allocation = cache_facts(plan, spec, group);
  const std::int64_t kernel = spec.kernel_entries(), kernel_blocks = spec.block_entries() / kernel;
  for (const bool is_value : {false, true}) {
    const std::int64_t channels = is_value ? facts.head_size_v : facts.head_size_k;
    const std::vector<BoxIndex> inside =
        sampled_indices({facts.block_size_tokens, facts.kv_heads, channels}, mix(seed, is_value));
    for (const std::int64_t block : sampled_blocks(num_ids))
      for (const BoxIndex& index : inside) {
        const bool steps = place.step > 0;  // of its own from id to id, not that of pages one behind the other
        const KvElement element{block, index[0], index[1], index[2], is_value};
        const KvElement of_page{steps ? 0 : block, index[0], index[1], index[2], is_value};
        const auto rule = in_allocation
                              ? std::optional(kv_byte_in_allocation(spec, *in_allocation, place.position, element))
                              : kv_byte_by_rule(facts, place.position, of_page);
        if (!rule)
          return result.fail(fmt::format("{}: no rule puts form {} in order {} on this page",
                                         view.place(plan, block, view.address.offset()), to_string(attention.form),
                                         to_string(attention.order)));
        const Layout& layout = is_value ? engine.value : engine.key;
        if (layout.extent("token") != kernel)
          return result.fail(fmt::format("{}: its kernel blocks hold {} tokens, the plan's {}",
                                         view.place(plan, block, view.address.offset()), layout.extent("token"),
                                         kernel));
        const BoxIndex in_plan = index_in_view(spec, view.view.bytes, element);
        const BoxIndex in_engine{block * kernel_blocks + element.token / kernel, element.token % kernel, element.head,
                              element.channel};
        compare(plan, view,
                {block, view.view.bytes.at(in_plan), view.engine_byte(layout.at(in_engine)),
                 place.front + (steps ? block * place.step : 0) + *rule},
                [&] {
                  return fmt::format("{} of token {}, head {}, channel {}", is_value ? "V" : "K", element.token,
                                     element.head, element.channel);
                },
                result);
      }
  }
}

/// Position of an element of a view in its tensor: its own, or in a part of it the number of the element.
BoxIndex index_in_tensor(const StateTensor& tensor, const ViewPlan& view, const BoxIndex& inside) {
  if (view.bytes.find("element") < 0) return inside;
  std::int64_t number = view.first_element + inside[0];
  BoxIndex index;
  for (int axis = 0; axis < tensor.layout.rank(); ++axis) index.push_back(0);
  for (std::size_t axis = index.size(); axis-- > 0;) {
    const std::int64_t extent = tensor.layout[static_cast<int>(axis)].extent;
    index[axis] = number % extent;
    number /= extent;
  }
  return index;
}

void compare_state(const CachePlan& plan, const BoundView& view, const PagePlace& place, std::uint64_t seed,
                   CheckResult& result) {
  const SpecPlan& spec = plan.specs[view.view.spec];
  const StateSpec& state = *spec.state;
  const StateTensor& tensor = tensor_of(state, view.view);
  const GroupPlan& group = plan.groups[place.group];
  // Of an entry, or of one of its pieces: the piece of a lane, shared evenly by the entries of an id.
  const std::int64_t entry_bytes = plan.lanes[view.view.lane.index()].bytes / group.entries_per_id;
  const bool apart = place.step > 0;
  StateSpec alone;  // the tensor by itself
  if (apart) alone.tensors = {tensor};
  BoxIndex extents;
  for (const Axis& axis : view.view.bytes.axes())
    if (axis.name != AxisName("block")) extents.push_back(axis.extent);
  const StatePlacement placement = spec.ring_tokens > 0 ? StatePlacement{} : plan.what_if.states;
  for (const std::int64_t block : sampled_blocks(plan.arena_of(group).num_ids * group.entries_per_id))
    for (const BoxIndex& inside : sampled_indices(extents, seed)) {
      BoxIndex index{block};
      for (const std::int64_t position : inside) index.push_back(position);
      const std::int64_t byte = state_byte_by_rule(apart ? alone : state, view.view.tensor,
                                                   index_in_tensor(tensor, view.view, inside), placement);
      if (byte / entry_bytes != view.view.piece)
        return result.fail(fmt::format("{}: this element of the state lies in page {} of its entry, the view is that "
                                       "of page {}",
                                       view.place(plan, block, view.address.offset()), byte / entry_bytes,
                                       view.view.piece));
      const Checked in_pool = plan.cache_order
                                  ? Checked(cache_byte_by_rule(cache_facts(plan, spec, group),
                                                               {place.position, block, 0, 0, byte}))
                                  : Checked(block) * (apart ? place.step : entry_bytes) + byte % entry_bytes;
      compare(plan, view, {block, view.view.bytes.at(index), view.byte_address(index), place.front + in_pool},
              [&] { return fmt::format("element ({}) of the state", fmt::join(inside, ", ")); }, result);
    }
}

void compare_page(const CachePlan& plan, const BoundView& view, const PagePlace& by_rule, CheckResult& result) {
  ++result.count;
  if (view.view.pool == by_rule.pool && view.group == by_rule.group) return;
  result.fail(fmt::format("{}: its page lies in pool {} of group {}, by the rule of groups it belongs to pool {} of "
                          "group {}",
                          view.place(plan, 0, view.address.offset()), view.view.pool, view.group, by_rule.pool,
                          by_rule.group));
}

void require_all_views(const CachePlan& plan, std::span<const BoundView> views, CheckResult& result) {
  std::map<std::tuple<std::int64_t, std::int64_t, std::string>, std::int64_t> elements;  // of one entry
  for (const BoundView& view : views)
    if (!view.foreign) {
      const Layout& layout = view.view.bytes;
      elements[{view.view.spec, view.view.layer, view.view.tensor}] += layout.num_elements() / layout.extent("block");
    }
  const auto require = [&](const SpecPlan& spec, std::int64_t layer, const std::string& tensor,
                           std::optional<std::int64_t> wanted = std::nullopt) {
    ++result.count;
    const auto found = elements.find({spec.id, layer, tensor});
    if (found == elements.end())
      return result.fail(fmt::format("layer {} {} of spec {} has no view", layer, tensor, spec.id));
    if (wanted && found->second != *wanted)
      result.fail(fmt::format("layer {} {} of spec {}: its views have {} elements of its {}", layer, tensor, spec.id,
                              found->second, *wanted));
  };
  for (const SpecPlan& spec : plan.specs)
    for (const std::int64_t layer : spec.layers) {
      if (spec.attention) require(spec, layer, "kv");
      if (spec.state)
        for (const StateTensor& tensor : spec.state->tensors)
          require(spec, layer, tensor.name, tensor.layout.num_elements());
    }
}

}  // namespace

CheckResult check_physical_order(const CachePlan& plan, std::span<const BoundView> views, std::uint64_t seed) {
  std::vector<CheckResult> results(views.size());
  parallel_for(views.size(), [&](std::size_t i) {
    const BoundView& view = views[i];
    if (view.foreign) return;
    const SpecPlan& spec = plan.specs[view.view.spec];
    const PagePlace by_rule = page_by_rule(plan, spec, view.view.layer, view.view.tensor);
    compare_page(plan, view, by_rule, results[i]);
    if (spec.attention)
      compare_kv(plan, view, by_rule, mix(seed, i), results[i]);
    else
      compare_state(plan, view, by_rule, mix(seed, i), results[i]);
  });
  CheckResult total{.unit = "addresses"};
  require_all_views(plan, views, total);
  total.add(results);
  return total;
}

}  // namespace hybridkv
