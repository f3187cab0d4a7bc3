#include "verify/transfer/transfer_traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/convert.h"
#include "base/parallel.h"
#include "base/random.h"

namespace hybridkv {

namespace {

constexpr std::int64_t chunk_tokens = 1024;

/// Tokens of a layer that are handled in one go.
struct TokenChunk {
  const RankTokens* tokens = nullptr;
  std::int64_t first = 0, end = 0;
};

std::vector<TokenChunk> chunks_of(const TransferRank& rank, std::int64_t first, std::int64_t end) {
  std::vector<TokenChunk> chunks;
  for (const RankTokens& tokens : rank.tokens)
    for (std::int64_t at = std::max(first, tokens.first_token); at < std::min(end, tokens.end_token);
         at += chunk_tokens)
      chunks.push_back({&tokens, at, std::min({at + chunk_tokens, end, tokens.end_token})});
  return chunks;
}

/// Calls visit(head of the rank, K or V, byte of the pool) for every row of K and V of a slot.
template <class Visit>
void for_each_row_of_slot(const RankTokens& tokens, std::int64_t slot, Visit&& visit) {
  for (std::int64_t head = 0; head < std::ssize(tokens.heads); ++head)
    for (const bool is_value : {false, true})
      if (!is_value || tokens.has_values) visit(head, is_value, tokens.byte_of(slot, head, is_value));
}

/// Calls visit(place, byte of the pool, bytes) for every row of K and V of the tokens.
template <class Visit>
void for_each_row(const TokenChunk& chunk, std::uint64_t tensor_key, Visit&& visit) {
  const RankTokens& tokens = *chunk.tokens;
  for (std::int64_t token = chunk.first; token < chunk.end; ++token)
    for_each_row_of_slot(tokens, tokens.slot(token), [&](std::int64_t head, bool is_value, std::int64_t byte) {
      visit(KvPlace{tensor_key, token, tokens.heads[static_cast<std::size_t>(head)], is_value}, byte,
            tokens.row_bytes(is_value));
    });
}

/// A row of channels in memory, whose elements need not be neighbours.
class LiveRow {
 public:
  LiveRow(std::byte* first, const RankTokens& tokens, bool is_value)
      : first_(first),
        element_(static_cast<std::size_t>(tokens.element_bytes())),
        step_(static_cast<std::size_t>((is_value ? tokens.value : tokens.key).stride("channel"))),
        is_dense_(tokens.has_rows()) {}

  void store(std::span<const std::byte> from) const {
    if (is_dense_) {
      std::memcpy(first_, from.data(), from.size());
      return;
    }
    for (std::size_t i = 0; i * element_ < from.size(); ++i)
      std::memcpy(first_ + i * step_, from.data() + i * element_, element_);
  }
  void load(std::span<std::byte> to) const {
    for (std::size_t i = 0; i * element_ < to.size(); ++i) std::memcpy(to.data() + i * element_, address(i), element_);
  }
  /// The element, of all that there are, which differs first; their number where none does.
  std::size_t first_difference(std::span<const std::byte> expected) const {
    const std::size_t count = expected.size() / element_;
    if (is_dense_ && std::memcmp(first_, expected.data(), expected.size()) == 0) return count;
    std::size_t i = 0;
    while (i < count && std::memcmp(address(i), expected.data() + i * element_, element_) == 0) ++i;
    return i;
  }
  const std::byte* address(std::size_t i) const { return first_ + i * (is_dense_ ? element_ : step_); }

 private:
  std::byte* first_;
  std::size_t element_, step_;
  bool is_dense_;
};

void clear_row(const RankMemory& memory, const RankTokens& tokens, bool is_value, std::int64_t byte) {
  const std::int64_t pool = tokens.view->view.pool, bytes = tokens.row_bytes(is_value);
  if (tokens.has_rows()) return fill_canary(memory.pools, memory.side, pool, byte, bytes);
  const std::int64_t element = tokens.element_bytes(), step = (is_value ? tokens.value : tokens.key).stride("channel");
  for (std::int64_t i = 0; i < bytes / element; ++i)
    fill_canary(memory.pools, memory.side, pool, byte + i * step, element);
}

std::string found_text(const std::byte* found, const std::byte* expected, DType dtype) {
  return fmt::format("{} found, {} belongs there", load_element(found, dtype), load_element(expected, dtype));
}

/// Values of a state as the source stored them, and as a cache of another type keeps them.
struct StoredState {
  std::vector<std::byte> bytes;
  double largest_error = 0;
};

StoredState stored_state(const RankState& state, DType source, std::uint64_t key) {
  std::vector<float> values = state.values(key);
  StoredState stored;
  stored.bytes.resize(values.size() * static_cast<std::size_t>(element_bytes(state.dtype())));
  if (source == state.dtype()) {
    store_drawn(source, values, stored.bytes.data());
    return stored;
  }
  std::vector<std::byte> first(values.size() * static_cast<std::size_t>(element_bytes(source)));
  store_drawn(source, values, first.data());
  load_elements(first.data(), source, values);
  store_elements(stored.bytes.data(), state.dtype(), values);
  std::vector<float> read(values.size());
  load_elements(stored.bytes.data(), state.dtype(), read);
  for (std::size_t i = 0; i < read.size(); ++i)
    stored.largest_error = std::max(stored.largest_error, std::abs(static_cast<double>(read[i]) - values[i]));
  return stored;
}

void write_state(const RankMemory& memory, const RankState& state, std::span<const std::int64_t> at,
                 std::span<const std::byte> bytes) {
  std::byte* const base = memory.pools.pool(state.pool()).data();
  const std::int64_t element = element_bytes(state.dtype());
  for (const StateRun& run : state.runs(at))
    std::memcpy(base + run.byte, bytes.data() + run.first * element, static_cast<std::size_t>(run.count * element));
}

DType source_of(const TransferTraffic& traffic, const ModelTensor& name, DType kept) {
  const auto found = traffic.source.find(name);
  return found == traffic.source.end() ? kept : found->second;
}

void take_chunk(const RankMemory& memory, const TransferTraffic& traffic, const TokenChunk& chunk,
                CheckResult& result) {
  const RankTokens& tokens = *chunk.tokens;
  KvRows rows(tokens.attention(), source_of(traffic, tokens.name, tokens.attention().dtype));
  std::byte* const base = memory.pools.pool(tokens.view->view.pool).data();
  const DType dtype = tokens.view->view.dtype;
  std::vector<std::byte> expected;
  for_each_row(chunk, traffic.key(tokens.name), [&](const KvPlace& place, std::int64_t byte, std::int64_t bytes) {
    expected.resize(static_cast<std::size_t>(bytes));
    rows.draw(place, expected);
    const LiveRow row(base + byte, tokens, place.is_value);
    const std::size_t wrong = row.first_difference(expected), count = expected.size() / element_bytes(dtype);
    result.count += static_cast<std::int64_t>(count);
    if (wrong < count && result.status == CheckStatus::passed)
      result.fail(fmt::format("{}, {}, token {}, KV head {}, {} channel {}: {}", memory.who(), tokens.name.text(),
                              place.token, place.head, place.is_value ? "V" : "K", wrong,
                              found_text(row.address(wrong), expected.data() + wrong * element_bytes(dtype), dtype)));
    clear_row(memory, tokens, place.is_value, byte);
  });
  result.max_error = rows.largest_error();
}

void take_state(const RankMemory& memory, const TransferTraffic& traffic, const RankState& state,
                CheckResult& result) {
  const StoredState expected =
      stored_state(state, source_of(traffic, state.name, state.dtype()), traffic.key(state.name));
  std::byte* const base = memory.pools.pool(state.pool()).data();
  const std::int64_t element = element_bytes(state.dtype());
  result.count = state.elements();
  result.max_error = expected.largest_error;
  for (const StateRun& run : state.runs()) {
    const std::byte* const belongs = expected.bytes.data() + run.first * element;
    const auto bytes = static_cast<std::size_t>(run.count * element);
    if (result.status == CheckStatus::passed && std::memcmp(base + run.byte, belongs, bytes) != 0) {
      const std::int64_t wrong =
          (std::mismatch(belongs, belongs + bytes, base + run.byte).first - belongs) / element;
      result.fail(fmt::format("{}, {}, {}: {}", memory.who(), state.name.text(), state.element_name(run.first + wrong),
                              found_text(base + run.byte + wrong * element, belongs + wrong * element,
                                         state.dtype())));
    }
    fill_canary(memory.pools, memory.side, state.pool(), run.byte, run.count * element);
  }
}

}  // namespace

ElementTypes element_types(std::span<const TransferRank> ranks) {
  ElementTypes types;
  for (const TransferRank& rank : ranks) {
    for (const RankTokens& tokens : rank.tokens) types.emplace(tokens.name, tokens.attention().dtype);
    for (const RankState& state : rank.states) types.emplace(state.name, state.dtype());
  }
  return types;
}

RankMemory::RankMemory(const TransferRank& of, const HeldPages& its_pages, CanarySide of_side)
    : rank(&of), pages(its_pages), side(of_side), pools(*of.plan) {
  fill_canaries(pools, pages, side);
}

std::string RankMemory::who() const {
  return fmt::format("{} rank {}", side == CanarySide::from ? "source" : "destination", rank->number);
}

void write_tokens(const RankMemory& memory, const TransferTraffic& traffic, std::int64_t first, std::int64_t end) {
  const std::vector<TokenChunk> chunks = chunks_of(*memory.rank, first, end);
  parallel_for(chunks.size(), [&](std::size_t i) {
    const RankTokens& tokens = *chunks[i].tokens;
    KvRows rows(tokens.attention(), source_of(traffic, tokens.name, tokens.attention().dtype));
    std::byte* const base = memory.pools.pool(tokens.view->view.pool).data();
    std::vector<std::byte> drawn;
    for_each_row(chunks[i], traffic.key(tokens.name),
                 [&](const KvPlace& place, std::int64_t byte, std::int64_t bytes) {
                   drawn.resize(static_cast<std::size_t>(bytes));
                   rows.draw(place, drawn);
                   LiveRow(base + byte, tokens, place.is_value).store(drawn);
                 });
  });
}

void write_states(const RankMemory& memory, const TransferTraffic& traffic) {
  const std::vector<RankState>& states = memory.rank->states;
  parallel_for(states.size(), [&](std::size_t i) {
    const RankState& state = states[i];
    write_state(memory, state, *state.ids, stored_state(state, state.dtype(), traffic.key(state.name)).bytes);
  });
}

void write_older_state(const RankMemory& memory, const TransferTraffic& traffic, const RankState& state,
                       std::span<const std::int64_t> at) {
  write_state(memory, state, at, stored_state(state, state.dtype(), mix(traffic.key(state.name))).bytes);
}

CheckResult take_tokens(const RankMemory& memory, const TransferTraffic& traffic) {
  const std::vector<TokenChunk> chunks = chunks_of(*memory.rank, 0, largest_tokens);
  std::vector<CheckResult> results(chunks.size());
  parallel_for(chunks.size(), [&](std::size_t i) { take_chunk(memory, traffic, chunks[i], results[i]); });
  CheckResult total{.unit = "K and V elements"};
  total.add(results);
  return total;
}

CheckResult take_states(const RankMemory& memory, const TransferTraffic& traffic) {
  const std::vector<RankState>& states = memory.rank->states;
  std::vector<CheckResult> results(states.size());
  parallel_for(states.size(), [&](std::size_t i) { take_state(memory, traffic, states[i], results[i]); });
  CheckResult total{.unit = "state elements"};
  total.add(results);
  return total;
}

KeptTokenSlot::KeptTokenSlot(const RankMemory& memory, const RankTokens& tokens, std::int64_t slot)
    : memory_(memory), tokens_(tokens), slot_(slot) {
  for_each_row_of_slot(tokens, slot, [&](std::int64_t, bool is_value, std::int64_t byte) {
    auto& row = rows_.emplace_back(static_cast<std::size_t>(tokens.row_bytes(is_value)));
    LiveRow(memory.pools.pool(tokens.view->view.pool).data() + byte, tokens, is_value).load(row);
  });
}

KeptTokenSlot::~KeptTokenSlot() {
  auto row = rows_.begin();
  for_each_row_of_slot(tokens_, slot_, [&](std::int64_t, bool is_value, std::int64_t byte) {
    LiveRow(memory_.pools.pool(tokens_.view->view.pool).data() + byte, tokens_, is_value).store(*row++);
  });
}

}  // namespace hybridkv
