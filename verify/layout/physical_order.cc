#include "verify/layout/physical_order.h"

#include <algorithm>
#include <array>

#include "base/checked.h"

namespace hybridkv {

namespace {

/// Digits inside one kernel block, outermost first: 2 K or V, t token, h head, l layer of the pack, d channel,
/// D channel of K then V, L channel of a latent. Without an l the layers lie one after the other outside all digits.
struct OrderRule {
  BackendForm form;
  PhysicalOrder order;
  std::string_view digits;
};

constexpr std::array rules{
    OrderRule{BackendForm::paged, PhysicalOrder::nhd, "2thd"},
    OrderRule{BackendForm::paged, PhysicalOrder::hnd, "2htd"},
    OrderRule{BackendForm::paged, PhysicalOrder::head_major, "hl2td"},
    OrderRule{BackendForm::flex, PhysicalOrder::nhd, "t2hd"},
    OrderRule{BackendForm::flex, PhysicalOrder::hnd, "t2hd"},
    OrderRule{BackendForm::cpu, PhysicalOrder::nhd, "htD"},
    OrderRule{BackendForm::cpu, PhysicalOrder::hnd, "htD"},
    OrderRule{BackendForm::diff_kv, PhysicalOrder::nhd, "thD"},
    OrderRule{BackendForm::diff_kv, PhysicalOrder::hnd, "htD"},
    OrderRule{BackendForm::kv_first, PhysicalOrder::nhd, "2thd"},
    OrderRule{BackendForm::kv_first, PhysicalOrder::hnd, "2htd"},
    OrderRule{BackendForm::kv_first, PhysicalOrder::head_major, "hl2td"},
    OrderRule{BackendForm::kv_first_unordered, PhysicalOrder::nhd, "2thd"},
    OrderRule{BackendForm::kv_first_unordered, PhysicalOrder::hnd, "2thd"},
    OrderRule{BackendForm::mla, PhysicalOrder::nhd, "tL"},
    OrderRule{BackendForm::mla, PhysicalOrder::hnd, "tL"},
    OrderRule{BackendForm::mla, PhysicalOrder::head_major, "tL"},  // of one head, layers outside is head-major
};

struct Digit {
  std::int64_t value = 0;
  std::int64_t base = 1;
};

Digit digit_of(char name, const KvViewSpec& spec, std::int64_t position, const KvElement& element) {
  switch (name) {
    case '2': return {element.is_value ? 1 : 0, 2};
    case 't': return {element.token % spec.kernel_block_size_tokens, spec.kernel_block_size_tokens};
    case 'h': return {element.head, spec.kv_heads};
    case 'l': return {position, spec.pack_size};
    case 'D':
      return {element.is_value ? spec.head_size_k + element.channel : element.channel,
              spec.head_size_k + spec.head_size_v};
    default: return {element.channel, spec.head_size_k};
  }
}

std::int64_t pages_of(const SpecPlan& spec) {
  const auto layers = static_cast<std::int64_t>(spec.layers.size());
  return (layers + spec.layers_per_page - 1) / spec.layers_per_page;
}

void place_in_own_pools(const CachePlan& plan, const SpecPlan& spec, std::int64_t page, PagePlace& place) {
  place.pool = 0;
  for (const SpecPlan& other : plan.specs) {
    if (spec.state ? other.attention.has_value() : other.attention && other.id < spec.id) place.pool += pages_of(other);
    if (spec.state && other.state && other.id < spec.id) ++place.pool;
  }
  const GroupPlan& group = plan.groups[place.group];
  if (spec.state)
    place.front = Checked(page) * plan.arenas[group.arena.index()].num_ids * plan.page_bytes(group);
  else
    place.pool += page;
}

/// Compact slots: the slots of all states lie at the front, a slot being the layers of one spec after the other; behind
/// them each page of attention has its ids in a row, spec by spec.
void place_beside_slots(const CachePlan& plan, const SpecPlan& spec, std::int64_t page, PagePlace& place) {
  place.pool = 0;
  Checked front = 0, slots = 0;
  for (const GroupPlan& group : plan.groups) {
    const SpecPlan& other = plan.specs[static_cast<std::size_t>(group.spec)];
    const Checked pages = Checked(pages_of(other)) * plan.page_bytes(group);
    const std::int64_t ids = plan.arenas[group.arena.index()].num_ids;
    if (other.state) slots += pages * ids;
    if (other.state.has_value() != spec.state.has_value()) continue;
    if (other.id < spec.id) front += spec.state ? pages : pages * ids;
    if (other.id == spec.id) front += Checked(page) * plan.page_bytes(group) * (spec.state ? 1 : ids);
  }
  place.front = spec.state ? front : front + slots;
}

std::int64_t position_of(const std::vector<std::int64_t>& layers, std::int64_t layer) {
  return std::find(layers.begin(), layers.end(), layer) - layers.begin();
}

/// Where a layer lies that is grouped as supposed: the group of its spec, by number, and its own number there. Nothing
/// where the engine groups it.
std::optional<std::pair<std::int64_t, std::int64_t>> supposed_turn(const CachePlan& plan, const SpecPlan& spec,
                                                                   std::int64_t layer) {
  if (spec.draft || spec.auxiliary) return std::nullopt;
  std::int64_t group = 0;
  for (const std::vector<std::int64_t>& layers : plan.what_if.groups) {
    const std::int64_t at = position_of(layers, layer);
    if (at < std::ssize(layers)) return std::pair(group, at);
    group += position_of(spec.layers, layers.front()) < std::ssize(spec.layers) ? 1 : 0;
  }
  return std::nullopt;
}

/// Pages go round the groups of their spec, from the one that has the first of them; or lie as supposed.
PagePlace page_in_allocation(const CachePlan& plan, const SpecPlan& spec, const std::vector<std::int64_t>& groups,
                             std::int64_t number) {
  const auto num_groups = static_cast<std::int64_t>(groups.size());
  const std::int64_t pack = spec.layers_per_page, page = number / pack;
  std::int64_t first = 0;
  for (std::int64_t i = 0; i < num_groups; ++i)
    if (const auto layers = plan.groups[groups[i]].layers();
        position_of(layers, spec.layers.front()) < std::ssize(layers))
      first = i;
  PagePlace place{groups[(first + page) % num_groups], 0, 0, page / num_groups * pack + number % pack};
  if (const auto turn = supposed_turn(plan, spec, spec.layers[static_cast<std::size_t>(number)]))
    place = {groups[turn->first], 0, 0, turn->second};
  Checked before = 0;  // bytes of the pages of a block that groups of the same table have before it
  for (std::int64_t i = place.group; plan.groups[i].shares_table;) {
    --i;
    before += Checked(static_cast<std::int64_t>(plan.groups[i].pages.size())) * plan.page_bytes(plan.groups[i]);
  }
  const bool layers_outermost = plan.cache_order == CacheOrder::lbhnc || plan.cache_order == CacheOrder::lbnhc ||
                                plan.cache_order == CacheOrder::lhbnc;
  place.front = before * (layers_outermost ? plan.arena_of(plan.groups[place.group]).num_ids : 1);
  return place;
}

/// Bytes of one layer: of K and V of a block, or of a tensor of its state.
std::int64_t own_bytes(const SpecPlan& spec, std::string_view tensor) {
  if (!spec.state) return spec.bytes_of_tokens(spec.block_size_tokens);
  for (const StateTensor& candidate : spec.state->tensors)
    if (candidate.name == tensor) return candidate.bytes();
  throw std::logic_error("a state has the tensor that is asked for");
}

/// Counts what comes before it: attention first, then states, spec by spec, tensor by tensor.
PagePlace place_of_tensor(const CachePlan& plan, const SpecPlan& spec, std::int64_t number, std::string_view tensor) {
  PagePlace place;
  std::int64_t groups = 0, pages = 0;
  bool found = false;
  for (const bool states : {false, true})
    for (const SpecPlan& other : plan.specs) {
      if (other.state.has_value() != states) continue;
      const std::size_t tensors = states ? other.state->tensors.size() : 1;
      for (std::size_t i = 0; i < tensors && !found; ++i) {
        found = other.id == spec.id && (!states || other.state->tensors[i].name == tensor);
        if (found) break;
        ++groups;
        pages += pages_of(other);
      }
    }
  const std::int64_t bytes = own_bytes(spec, tensor);
  place.group = groups;
  if (plan.strategy == Strategy::sequence_rows) return {place.group, pages + number, 0, 0, bytes};
  return {place.group, groups, Checked(number) * bytes, 0, Checked(pages_of(spec)) * bytes};
}

/// Tensors of a state are kinds of small pages, in the order of the state: each has the layers side by side.
PagePlace place_of_small_page(const CachePlan& plan, const SpecPlan& spec, const std::vector<std::int64_t>& groups,
                              std::int64_t number, std::string_view tensor) {
  const std::vector<StateTensor>& tensors = spec.state->tensors;
  const auto at = std::find_if(tensors.begin(), tensors.end(),
                               [&](const StateTensor& candidate) { return candidate.name == tensor; });
  expects(at != tensors.end(), "a state has the tensor that is asked for");
  const std::int64_t group = groups[static_cast<std::size_t>(at - tensors.begin())];
  const GroupPlan& of = plan.groups[static_cast<std::size_t>(group)];
  return {group, 0, Checked(number) * plan.page_bytes(of), 0,
          plan.lanes[of.first_lane.index()].bytes / of.entries_per_id};
}

}  // namespace

PagePlace page_by_rule(const CachePlan& plan, const SpecPlan& spec, std::int64_t layer, std::string_view tensor) {
  std::vector<std::int64_t> groups;
  for (std::size_t i = 0; i < plan.groups.size(); ++i)
    if (plan.groups[i].spec == spec.id) groups.push_back(static_cast<std::int64_t>(i));
  const auto at = std::lower_bound(spec.layers.begin(), spec.layers.end(), layer);
  expects(at != spec.layers.end() && *at == layer && !groups.empty(), "a layer belongs to its spec, a spec to a group");
  const std::int64_t number = at - spec.layers.begin();
  if (plan.cache_order) return page_in_allocation(plan, spec, groups, number);
  if (keeps_tensors_apart(plan.strategy)) return place_of_tensor(plan, spec, number, tensor);
  const std::int64_t page = number / spec.layers_per_page;
  const auto num_groups = static_cast<std::int64_t>(groups.size());
  if (plan.strategy == Strategy::two_level && spec.state && num_groups > 1)
    return place_of_small_page(plan, spec, groups, number, tensor);
  PagePlace place{groups[page % num_groups], page / num_groups, 0, number % spec.layers_per_page};
  if (const auto turn = supposed_turn(plan, spec, layer))
    place = {groups[turn->first], turn->second / spec.layers_per_page, 0, turn->second % spec.layers_per_page};
  if (plan.strategy == Strategy::dual_pool) place_in_own_pools(plan, spec, page, place);
  if (plan.strategy == Strategy::compact_slots) place_beside_slots(plan, spec, page, place);
  // Small pages begin with the front of the allocation; states lie side by side in theirs.
  if (plan.strategy == Strategy::two_level) {
    place.pool = 0;
    place.front = Checked(page) * plan.page_bytes(plan.groups[static_cast<std::size_t>(place.group)]);
  }
  return place;
}

std::optional<std::int64_t> kv_byte_by_rule(const KvViewSpec& spec, std::int64_t position, const KvElement& element) {
  const auto rule = std::find_if(rules.begin(), rules.end(), [&](const OrderRule& candidate) {
    return candidate.form == spec.form && candidate.order == spec.order;
  });
  if (rule == rules.end()) return std::nullopt;
  const Checked page_share = Checked(spec.page_bytes) * spec.kernel_block_size_tokens;
  if (page_share % spec.block_size_tokens != 0) return std::nullopt;
  const std::int64_t kernel_block_bytes = page_share / spec.block_size_tokens;
  Checked byte = Checked(element.block) * spec.page_bytes;
  byte += Checked(element.token / spec.kernel_block_size_tokens) * kernel_block_bytes;
  if (rule->digits.find('l') == std::string_view::npos) {
    if (kernel_block_bytes % spec.pack_size != 0) return std::nullopt;
    byte += Checked(position) * (kernel_block_bytes / spec.pack_size);
  }
  Checked number = 0;
  for (const char name : rule->digits) {
    const Digit digit = digit_of(name, spec, position, element);
    number = number * digit.base + digit.value;
  }
  return byte + number * element_bytes(spec.dtype);
}

CacheFacts cache_facts(const CachePlan& plan, const SpecPlan& spec, const GroupPlan& group) {
  CacheFacts facts{.order = *plan.cache_order,
                   .layers = static_cast<std::int64_t>(group.pages.size()),
                   .blocks = plan.arena_of(group).num_ids,
                   .page_bytes = plan.page_bytes(group)};
  facts.block_bytes = plan.pool_bytes() / facts.blocks;
  if (spec.state) {
    facts.content_bytes = facts.page_bytes;
    return facts;
  }
  const AttentionGeometry& attention = *spec.attention;
  facts.pack = spec.layers_per_page;
  facts.tokens = spec.block_entries();
  facts.kernel_tokens = spec.kernel_entries();
  std::int64_t channels = attention.head_size_k;
  if (!is_latent(attention.kind)) {
    facts.heads = attention.kv_heads;
    if (attention.format == KvFormat::nvfp4)
      facts.heads *= 2;
    else
      channels += attention.head_size_v;
  }
  facts.content_bytes = channels * element_bytes(attention.dtype);
  return facts;
}

std::int64_t cache_byte_by_rule(const CacheFacts& facts, const CacheByte& at) {
  const Checked c = facts.content_bytes, heads = facts.heads, kernel = facts.kernel_tokens;
  const std::int64_t small = at.token / facts.kernel_tokens, token = at.token % facts.kernel_tokens;
  const Checked of_head = Checked(facts.tokens) * facts.content_bytes;
  const Checked heads_first = small * heads * kernel * c + at.head * kernel * c + token * c;
  const Checked tokens_first = small * heads * kernel * c + token * heads * c + at.head * c;
  const Checked by_layer = at.layer * Checked(facts.blocks) * facts.page_bytes + at.block * Checked(facts.page_bytes);
  const Checked by_block = at.block * Checked(facts.block_bytes) + at.layer / facts.pack * Checked(facts.page_bytes) +
                           at.layer % facts.pack * heads * of_head;
  switch (facts.order) {
    case CacheOrder::lbhnc: return by_layer + heads_first + at.byte;
    case CacheOrder::lbnhc: return by_layer + tokens_first + at.byte;
    case CacheOrder::blhnc: return by_block + heads_first + at.byte;
    case CacheOrder::blnhc: return by_block + tokens_first + at.byte;
    case CacheOrder::lhbnc:
      if (facts.heads == 1) return by_layer + heads_first + at.byte;
      return (at.layer * heads + at.head) * facts.blocks * of_head + at.block * of_head + at.token * c + at.byte;
    case CacheOrder::bhlnc:
      if (facts.heads == 1) return by_block + heads_first + at.byte;
      return at.block * Checked(facts.block_bytes) + (at.head * Checked(facts.layers) + at.layer) * of_head +
             at.token * c + at.byte;
  }
  throw std::logic_error("an order outside its enumeration");
}

std::int64_t state_byte_by_rule(const StateSpec& state, std::string_view tensor, std::span<const std::int64_t> index,
                                const StatePlacement& placement) {
  std::vector<std::string_view> names{"conv", "ssm", "x_ring", "dt_ring", "b_ring", "ring"};
  if (placement.recurrent_first) std::rotate(names.begin(), names.begin() + 1, names.end());
  Checked end = placement.first_byte;
  for (const std::string_view name : names)
    for (const StateTensor& candidate : state.tensors) {
      if (candidate.name != name) continue;
      const std::int64_t element = element_bytes(candidate.dtype);
      const std::int64_t unit = checked_lcm(element, placement.alignment);
      const std::int64_t begin = (end + unit - 1) / unit * unit;
      Checked number = 0, elements = 1;
      for (int axis = 0; axis < candidate.layout.rank(); ++axis) {
        const std::int64_t extent = candidate.layout[axis].extent;
        elements *= extent;
        if (name == tensor) number = number * extent + index[axis];
      }
      if (name == tensor) return Checked(begin) + number * element;
      end = Checked(begin) + elements * element;
    }
  throw std::logic_error("a state has the tensor that is asked for");
}

}  // namespace hybridkv
