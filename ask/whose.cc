#include "ask/whose.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "ask/plan.h"
#include "base/error.h"
#include "layout/locate.h"
#include "verify/layout/bound_view.h"

namespace hybridkv {

namespace {

using OwnerIndex = std::vector<std::pair<std::string, std::int64_t>>;

/// The token of a block, the head and the channel of an element of K or V.
OwnerIndex index_in_block(const SpecPlan& spec, const BoundView& view, const Layout& layout, const Located& at) {
  const auto of = [&](const char* axis) { return at.index[static_cast<std::size_t>(layout.find(axis))]; };
  const std::int64_t kernel = of("block") % view.kernel_blocks_per_page;
  OwnerIndex index{{spec.tokens_per_entry > 1 ? "entry" : "token", kernel * spec.kernel_entries() + of("token")}};
  if (layout.find("head") >= 0) index.emplace_back("head", of("head"));
  index.emplace_back(counts_bytes(*spec.attention) || spec.is_indexer() ? "byte" : "channel", of("channel"));
  return index;
}

std::optional<ByteOwner> owner_in_attention(const SpecPlan& spec, const BoundView& view, std::int64_t offset) {
  const KeyValueLayouts both = key_value_bytes(view, *spec.attention);
  const bool is_one = is_latent(spec.attention->kind) || spec.is_indexer();
  const auto in = [&](const Layout& layout, const char* tensor) -> std::optional<ByteOwner> {
    const auto at = locate(layout, offset, view.element_bytes());
    if (!at) return std::nullopt;
    return ByteOwner{.tensor = tensor, .index = index_in_block(spec, view, layout, *at), .byte = at->rest};
  };
  if (is_one) return in(both.key, spec.is_indexer() ? "entry" : "latent");
  const auto key = in(both.key, "K");
  return key ? key : in(both.value, "V");
}

/// The axes of a tensor of a state at one of its elements, counted row by row.
OwnerIndex index_of_element(const Layout& tensor, std::int64_t element) {
  OwnerIndex index;
  for (int axis = tensor.rank(); axis-- > 0; element /= tensor[axis].extent)
    index.emplace_back(tensor[axis].name.view(), element % tensor[axis].extent);
  std::reverse(index.begin(), index.end());
  return index;
}

std::optional<ByteOwner> owner_in_state(const SpecPlan& spec, const BoundView& view, std::int64_t offset) {
  const auto at = locate(view.address, offset, view.element_bytes());
  if (!at) return std::nullopt;
  ByteOwner owner{.tensor = view.view.tensor, .byte = at->rest};
  for (int axis = 0; axis < view.address.rank(); ++axis) {
    const std::string_view name = view.address[axis].name.view();
    const std::int64_t position = at->index[static_cast<std::size_t>(axis)];
    if (name == "block") continue;
    // Where a state lies in several pages, its tensors are runs of elements.
    if (name == "element")
      owner.index = index_of_element(tensor_of(*spec.state, view.view).layout, view.view.first_element + position);
    else
      owner.index.emplace_back(name, position);
  }
  return owner;
}

bool lies_in(const LanePlan& lane, std::int64_t offset, const CachePlan& plan) {
  if (offset < lane.offset || lane.bytes == 0) return false;
  const std::int64_t id = lane.stride == 0 ? 0 : (offset - lane.offset) / lane.stride;
  return id < plan.arenas[lane.arena.index()].num_ids && offset - lane.begin(id) < lane.bytes;
}

/// Has the group a page in the lane?
bool reaches_lane(const CachePlan& plan, const GroupPlan& group, LaneId lane) {
  for (std::size_t page = 0; page < group.pages.size(); ++page) {
    const std::int64_t first = plan.lane_of(group, page).value;
    if (lane.value >= first && lane.value < first + group.lanes_per_page) return true;
  }
  return false;
}

/// Who has the byte among the groups of one table; nothing where none of their layers does.
std::optional<ByteOwner> owner_in_table(const CachePlan& plan, std::span<const BoundView> views, std::int64_t table,
                                        LaneId lane, std::int64_t offset) {
  for (const BoundView& view : views) {
    if (view.table != table || !view.reaches(lane)) continue;
    const SpecPlan& spec = plan.specs[static_cast<std::size_t>(view.view.spec)];
    auto owner = spec.state ? owner_in_state(spec, view, offset) : owner_in_attention(spec, view, offset);
    if (!owner) continue;
    owner->group = view.group;
    owner->layer = view.view.layer;
    owner->element_bytes = view.element_bytes();
    return owner;
  }
  return std::nullopt;
}

void add_owners(WhoseAnswer& answer, const CachePlan& plan, LaneId lane) {
  const std::vector<BoundView> views = bind_views(plan);
  std::int64_t table = 0;
  for (std::size_t i = 0; i < plan.groups.size(); ++i) {
    const GroupPlan& group = plan.groups[i];
    if (!group.shares_table) table = static_cast<std::int64_t>(i);
    if (group.shares_table || group.arena != plan.lanes[lane.index()].arena) continue;
    ByteOwner owner = owner_in_table(plan, views, table, lane, answer.offset).value_or(ByteOwner{
        .group = table, .tensor = reaches_lane(plan, group, lane) ? "padding" : "empty slot"});
    const SpecPlan& spec = plan.spec_of(plan.groups[static_cast<std::size_t>(owner.group)]);
    owner.kind = spec.kind;
    owner.draft = spec.draft;
    answer.owners.push_back(std::move(owner));
  }
}

}  // namespace

WhoseAnswer whose_byte(const CachePlan& plan, std::int64_t pool, std::int64_t offset) {
  require_views(plan);
  const std::int64_t pools = std::ssize(plan.pools);
  if (pool < 0 || pool >= pools)
    throw InputError(fmt::format("pool {}: the plan has {}, numbered from 0", pool,
                                 pools == 1 ? "one pool" : fmt::format("{} pools", pools)));
  WhoseAnswer answer{.pool = pool, .offset = offset, .pools = pools};
  answer.pool_bytes = plan.pools[static_cast<std::size_t>(pool)].bytes;
  if (offset < 0 || offset >= answer.pool_bytes)
    throw InputError(fmt::format("byte {}: pool {} has bytes 0 to {}", offset, pool, answer.pool_bytes - 1));
  for (std::int64_t i = 0; i < std::ssize(plan.lanes); ++i) {
    const LanePlan& lane = plan.lanes[static_cast<std::size_t>(i)];
    if (lane.pool.value != pool || !lies_in(lane, offset, plan)) continue;
    const ArenaPlan& arena = plan.arenas[lane.arena.index()];
    answer.arena = arena.name;
    answer.id = lane.stride == 0 ? 0 : (offset - lane.offset) / lane.stride;
    answer.byte_of_piece = offset - lane.begin(answer.id);
    answer.is_null = arena.has_null_id && answer.id == 0;
    add_owners(answer, plan, LaneId{i});
    break;
  }
  return answer;
}

WhoseAnswer whose_byte(const Scenario& scenario, std::int64_t pool, std::int64_t offset) {
  return whose_byte(plan_pack(scenario, 0), pool, offset);
}

}  // namespace hybridkv
