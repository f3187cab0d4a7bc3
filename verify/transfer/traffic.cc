#include "verify/transfer/traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "attention/key_mask.h"
#include "base/parallel.h"
#include "base/random.h"
#include "layout/for_each_run.h"
#include "verify/layout/cache_codec.h"
#include "verify/layout/canary.h"
#include "verify/layout/drawn_words.h"

namespace hybridkv {

namespace {

const SpecPlan& spec_of(const Traffic& traffic, const BoundView& view) { return traffic.plan.specs[view.view.spec]; }

bool is_state(const Traffic& traffic, const BoundView& view) { return spec_of(traffic, view).state.has_value(); }

/// Of states that are drawn at once.
constexpr std::int64_t word_bytes = sizeof(std::uint64_t);
/// Of states that are compared at once: they stay in the nearest cache.
constexpr std::int64_t most_stretch_bytes = 4096;

/// Calls visit(byte offset in the pool, bytes, key) for stretches of one state tensor in one block. They are to hold
/// words of eight bytes that are drawn from the key, begun anew where the tensor goes on elsewhere.
template <class Visit>
void for_each_state_stretch(const Traffic& traffic, std::size_t view_index, std::int64_t block,
                            std::uint64_t generation, Visit&& visit) {
  const BoundView& view = traffic.views[view_index];
  const std::uint64_t key = mix(mix(traffic.seed, generation), mix(view_index, static_cast<std::uint64_t>(block)));
  std::uint64_t number = 0;
  for_each_run(view.page_bytes(block), [&](std::int64_t first, std::int64_t bytes) {
    for (std::int64_t done = 0; done < bytes; done += most_stretch_bytes) {
      const std::int64_t count = std::min(most_stretch_bytes, bytes - done);
      visit(first + done, static_cast<std::size_t>(count), key + number);
      number += static_cast<std::uint64_t>(ceil_div(count, word_bytes));
    }
  });
}

/// One row of channels of K or V: where it starts and the slot it belongs to.
struct KvRow {
  bool is_value;
  std::int64_t slot;
  std::int64_t head;
  bool is_written;  ///< false for slots of the last block that no token uses
};

/// Calls visit(row, byte address of channel 0, channels) for every slot of every block the request holds.
template <class Visit>
void for_each_kv_row(const Traffic& traffic, const BoundView& view, std::size_t request, Visit&& visit) {
  const SpecPlan& spec = spec_of(traffic, view);
  const AttentionGeometry& attention = *spec.attention;
  const auto [key, value] = key_value_bytes(view, attention);
  const bool one_latent = is_latent(attention.kind);
  const HeldTokens held = held_tokens(traffic, view, request);
  const auto& table = traffic.assignment.ids[view.group][request];
  for (std::size_t column = 0; column < table.size(); ++column) {
    for (std::int64_t offset = 0; offset < spec.block_entries(); ++offset) {
      const std::int64_t of_block = offset * spec.tokens_per_entry;  // the first token of what lies there
      const bool is_written =
          held.first + static_cast<std::int64_t>(column) * spec.block_size_tokens + of_block < held.end;
      const std::int64_t slot = table[column] * spec.block_entries() + offset;
      const std::int64_t kernel_block = slot / spec.kernel_entries();
      const std::int64_t token = slot % spec.kernel_entries();
      for (std::int64_t head = 0; head < attention.kv_heads; ++head) {
        visit(KvRow{false, slot, head, is_written}, key.at({kernel_block, token, head, 0}), key.extent("channel"));
        if (!one_latent)
          visit(KvRow{true, slot, head, is_written}, value.at({kernel_block, token, head, 0}), value.extent("channel"));
      }
    }
  }
}

/// Runs `check(view index, result)` over all views of one kind on all cores and adds up the results in order.
template <class Check>
CheckResult check_views(const Traffic& traffic, bool states, std::string unit, Check&& check) {
  std::vector<CheckResult> results(traffic.views.size());
  parallel_for(traffic.views.size(), [&](std::size_t i) {
    if (is_state(traffic, traffic.views[i]) == states) check(i, results[i]);
  });
  CheckResult total{.unit = std::move(unit)};
  total.add(results);
  return total;
}

/// Position of the first view of a state, or of attention; that of no view where there is none.
std::size_t first_view(const Traffic& traffic, bool states) {
  std::size_t i = 0;
  while (i < traffic.views.size() && is_state(traffic, traffic.views[i]) != states) ++i;
  return i;
}

/// Makes rows, and inside them runs of 128 and of 16 channels, differ by powers of two, so that a scale that was taken
/// from another place shows. Depends on the channel alone: of a latent, V is the front of K.
void spread_magnitudes(std::uint64_t key, std::span<float> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t halvings = mix(key, 1) % 3 + mix(key, 2 + i / 128) % 2 + mix(key, 1000 + i / 16) % 2;
    values[i] /= static_cast<float>(1 << halvings);
  }
}

std::string where(const Traffic& traffic, const BoundView& view, std::int64_t byte) {
  LaneId number = view.view.lane;  // the last of its lanes that begins before the byte
  while (number.value + 1 < view.view.lane.value + view.lanes && traffic.plan.lanes[number.index() + 1].offset <= byte)
    ++number.value;
  const LanePlan& lane = traffic.plan.lanes[number.index()];
  const std::int64_t stride = lane.stride / group_of(traffic.plan, view).entries_per_id;
  return view.place(traffic.plan, (byte - lane.offset) / stride, byte);
}

}  // namespace

HeldTokens held_tokens(const Traffic& traffic, const BoundView& view, std::size_t request) {
  const SpecPlan& spec = spec_of(traffic, view);
  // One token of the request looks at all of the encoder's.
  if (spec.is_cross()) return {0, spec.encoder_tokens, 1};
  const std::int64_t block = spec.block_size_tokens, end = traffic.requests[request].tokens;
  const auto blocks = static_cast<std::int64_t>(traffic.assignment.ids[view.group][request].size());
  const KeyMask mask = key_mask(spec.attention->kind, spec.attention->window_tokens);
  for (std::int64_t query = traffic.requests[request].query_tokens; query >= 1; --query) {
    const std::int64_t column = mask.first_visible(end - query) / block;
    if (ceil_div(end, block) - column <= blocks) return {column * block, end, query};
  }
  throw InputError(fmt::format("request {}: its last token sees more of {} tokens than the {} blocks of {} tokens it "
                               "has in group {}; give a larger limits.max_num_batched_tokens",
                               request, end, blocks, block, view.group));
}

KvCodec kv_codec(const Traffic& traffic, std::size_t view, bool is_value) {
  const AttentionGeometry& attention = *spec_of(traffic, traffic.views[view]).attention;
  const bool from_value = is_value && !is_latent(attention.kind);
  // Each layer has scales of its own, and V at least a third above K's.
  const float reach = 1.25f + 0.25f * unit_value(mix(mix(traffic.seed, view), from_value));
  return cache_codec(attention, from_value ? 2 * reach : reach);
}

void kv_row(const Traffic& traffic, std::size_t view, bool is_value, std::int64_t slot, std::int64_t head,
            std::span<std::byte> row) {
  const AttentionGeometry& attention = *spec_of(traffic, traffic.views[view]).attention;
  const bool from_value = is_value && !is_latent(attention.kind);
  const std::uint64_t key = mix(mix(traffic.seed, view), mix(static_cast<std::uint64_t>(slot), 2 * head + from_value));
  if (!has_values(attention)) {
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<std::byte>(mix(key + i));
    return;
  }
  const KvCodec codec = kv_codec(traffic, view, is_value);
  std::vector<float> values(decoded_channels(codec, std::ssize(row) / element_bytes(attention.dtype)));
  draw_unit_values(key, values);
  if (attention.format) spread_magnitudes(key, values);
  encode_row(codec, attention.dtype, values, row.data());
}

void write_states(const Traffic& traffic, std::uint64_t generation) {
  parallel_for(traffic.views.size(), [&](std::size_t i) {
    const BoundView& view = traffic.views[i];
    if (!is_state(traffic, view)) return;
    std::byte* base = traffic.pools.pool(view.view.pool).data();
    const std::vector<std::int64_t> held = traffic.assignment.held_by(view.group, view.view.piece);
    const bool loses = traffic.fault == Fault::lost_state && i == first_view(traffic, true);
    for (std::int64_t block : std::span(held).first(held.size() - (loses ? 1 : 0)))
      for_each_state_stretch(traffic, i, block, generation, [&](std::int64_t byte, std::size_t bytes,
                                                                std::uint64_t key) {
        draw_words(key, 0, {base + byte, bytes});
      });
  });
}

CheckResult check_states(const Traffic& traffic, std::uint64_t generation) {
  return check_views(traffic, true, "state elements", [&](std::size_t i, CheckResult& result) {
    const BoundView& view = traffic.views[i];
    const std::byte* base = traffic.pools.pool(view.view.pool).data();
    std::array<std::byte, most_stretch_bytes> room;
    for (std::int64_t block : traffic.assignment.held_by(view.group, view.view.piece)) {
      result.count += view.page_bytes(block).num_elements() / view.element_bytes();
      for_each_state_stretch(traffic, i, block, generation, [&](std::int64_t byte, std::size_t bytes,
                                                                std::uint64_t key) {
        const std::span<std::byte> drawn = std::span(room).first(bytes);
        draw_words(key, 0, drawn);
        if (result.status != CheckStatus::passed || std::memcmp(base + byte, drawn.data(), drawn.size()) == 0) return;
        const std::ptrdiff_t wrong = std::mismatch(drawn.begin(), drawn.end(), base + byte).first - drawn.begin();
        result.fail(where(traffic, view, byte + wrong / word_bytes * word_bytes) +
                    ": the state is not what was written there");
      });
    }
  });
}

void write_kv(const Traffic& traffic) {
  parallel_for(traffic.views.size(), [&](std::size_t i) {
    const BoundView& view = traffic.views[i];
    if (is_state(traffic, view)) return;
    std::byte* base = traffic.pools.pool(view.view.pool).data();
    const std::int64_t first_slot =
        traffic.assignment.ids[view.group].front().front() * spec_of(traffic, view).block_entries();
    const bool loses = traffic.fault == Fault::lost_kv && i == first_view(traffic, false);
    for (std::size_t request = 0; request < traffic.requests.size(); ++request)
      for_each_kv_row(traffic, view, request, [&](const KvRow& row, std::int64_t byte, std::int64_t channels) {
        if (!row.is_written || (loses && row.slot == first_slot)) return;
        kv_row(traffic, i, row.is_value, row.slot, row.head,
               {base + byte, static_cast<std::size_t>(channels * view.element_bytes())});
      });
  });
}

CheckResult check_kv(const Traffic& traffic) {
  return check_views(traffic, false, "K and V elements", [&](std::size_t i, CheckResult& result) {
    const BoundView& view = traffic.views[i];
    const std::byte* base = traffic.pools.pool(view.view.pool).data();
    const std::int64_t element = view.element_bytes();
    std::vector<std::byte> expected;
    const auto check_row = [&](const KvRow& row, std::int64_t byte, std::int64_t channels) {
      expected.resize(static_cast<std::size_t>(channels * element));
      if (row.is_written)
        kv_row(traffic, i, row.is_value, row.slot, row.head, expected);
      else
        fill_canary(expected, view.view.pool, byte);
      result.count += channels;
      if (std::memcmp(base + byte, expected.data(), expected.size()) == 0 || result.status != CheckStatus::passed)
        return;
      const auto wrong = std::mismatch(expected.begin(), expected.end(), base + byte);
      const std::int64_t first = (wrong.first - expected.begin()) / element * element;
      result.fail(where(traffic, view, byte + first) + (row.is_written ? ": K or V is not what was written there"
                                                                       : ": an unused slot was written to"));
    };
    for (std::size_t request = 0; request < traffic.requests.size(); ++request)
      for_each_kv_row(traffic, view, request, check_row);
  });
}

}  // namespace hybridkv
