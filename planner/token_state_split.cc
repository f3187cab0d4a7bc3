#include "planner/token_state_split.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "base/error.h"

namespace hybridkv {

namespace {

constexpr double gib = 0x1p30;
constexpr std::int64_t buffer_grain = 4096;  ///< bytes of which an elastic buffer is a multiple
constexpr std::int64_t fewest_requests = 2048, most_requests = 4096;
constexpr double requests_of_context = 512;

double to_gib(std::int64_t bytes) { return static_cast<double>(bytes) / gib; }

/// A float as an engine turns it into a number, towards zero.
std::int64_t whole(double value, const char* what) {
  if (!(std::abs(value) < 0x1p62)) throw InputError(fmt::format("number too large for 64 bits: {} {}", value, what));
  return static_cast<std::int64_t>(value);
}

/// q: requests of one attention rank, where the user says how many.
std::optional<std::int64_t> requests_of_rank(const SplitInputs& inputs) {
  if (!inputs.max_running_requests) return std::nullopt;
  return *inputs.max_running_requests / inputs.attention_data_parallel;
}

/// The quotient of two floats rounded down as Python's // does: of the exact quotient, not of a rounded one.
double floor_quotient(double value, double divisor) {
  double rest = std::fmod(value, divisor);
  if (rest < 0) rest += divisor;
  return std::nearbyint((value - rest) / divisor);
}

/// Bytes of a slot with what rides on it.
std::int64_t charged_state_slot_bytes(const SplitInputs& inputs) {
  const bool has_row = inputs.replay && inputs.replay->in_state_slots;
  return Checked(inputs.state_slot_bytes) + (has_row ? inputs.replay->row_bytes : 0);
}

/// Bytes of the rows of ReplaySSM that lie outside the slots.
std::int64_t fixed_ring_bytes(const SplitInputs& inputs, std::int64_t requests) {
  if (!inputs.replay || inputs.replay->in_state_slots) return 0;
  return Checked(inputs.replay->row_bytes) * (Checked(requests) + 1);
}

/// K by a share of the memory. `drafts`: those whose states are kept.
std::int64_t state_slots_by_ratio(const SplitInputs& inputs, std::int64_t drafts, std::int64_t fixed_ring) {
  const double budget = inputs.memory_gib * inputs.full_memory_ratio / (1 + inputs.full_memory_ratio) * gib;
  const auto slot = static_cast<double>(charged_state_slot_bytes(inputs));
  const auto steps = static_cast<double>(drafts);
  if (drafts == 0)
    return whole(floor_quotient(budget - static_cast<double>(fixed_ring) - slot, slot), "state slots");
  const double with_drafts = slot * (1 + steps / static_cast<double>(inputs.state_slots_per_request));
  return whole(floor_quotient(budget - slot * (1 + steps), with_drafts), "state slots");
}

[[noreturn]] void refuse_state_slots(std::int64_t slots, const SplitInputs& inputs) {
  throw SpecError("engine.memory",
                  fmt::format("{:.2f} GiB give {} state slots of {} bytes, and the engine starts with one at least; "
                              "give more memory, a larger state_memory_ratio, fewer max_running_requests or fewer "
                              "draft tokens", inputs.memory_gib, slots, inputs.state_slot_bytes));
}

}  // namespace

std::int64_t state_slots_per_request(const StateSlotHolding& holding) {
  expects(holding.strategy != TreeStrategy::automatic, "the strategy is chosen before slots are counted");
  if (!holding.radix_cache) return 1;
  const std::int64_t unlocked = holding.skip_decode_lock ? 1 : 0;
  switch (holding.strategy) {
    case TreeStrategy::extra_buffer: return (holding.overlap_schedule ? 5 : 4) - unlocked;
    case TreeStrategy::extra_buffer_lazy:
      if (!holding.overlap_schedule)
        throw SpecError("engine.mamba_radix_cache_strategy",
                        "extra_buffer_lazy needs the overlap schedule; take extra_buffer or leave "
                        "engine.overlap_schedule at true");
      return 4 - unlocked;
    default: return 3;
  }
}

std::int64_t TokenStateSplit::requests_at(std::int64_t tokens, std::int64_t page_tokens) const {
  return std::min(state_slots / state_slots_per_request, token_slots / round_up(tokens, page_tokens));
}

TokenStateSplit split_memory(const SplitInputs& inputs) {
  expects(!inputs.replay || inputs.draft_tokens > 0, "ReplaySSM replaces the states of draft steps");
  const std::optional<std::int64_t> requests = requests_of_rank(inputs);
  if (inputs.draft_tokens > 0 && !requests)
    throw SpecError("engine.max_running_requests",
                    "speculation needs it: the states of draft steps are sized by it; the engine's server takes 48");
  const std::int64_t drafts = inputs.replay ? 0 : inputs.draft_tokens;
  TokenStateSplit split;
  split.state_slots_per_request = inputs.state_slots_per_request;
  const std::int64_t fixed_ring = fixed_ring_bytes(inputs, requests.value_or(0));
  if (inputs.max_mamba_cache_size) {
    split.by = StateSlotCount::explicit_size;
    split.state_slots = *inputs.max_mamba_cache_size / inputs.attention_data_parallel;
  } else if (!inputs.radix_cache && requests) {
    split.by = StateSlotCount::requests;
    split.state_slots = *requests;
  } else {
    split.state_slots = state_slots_by_ratio(inputs, drafts, fixed_ring);
  }
  if (split.state_slots <= 0) refuse_state_slots(split.state_slots, inputs);
  if (drafts > 0) {
    split.draft_requests = split.by == StateSlotCount::requests
                               ? split.state_slots + 1
                               : std::min(*requests, split.state_slots / inputs.state_slots_per_request) + 1;
    split.draft_state_bytes = Checked(inputs.state_slot_bytes) * split.draft_requests * drafts;
  }
  const std::int64_t pool = (Checked(split.state_slots) + 1) * charged_state_slot_bytes(inputs);
  split.ring_bytes = Checked(fixed_ring) + (pool - (Checked(split.state_slots) + 1) * inputs.state_slot_bytes);
  const double rest = inputs.memory_gib - to_gib(split.draft_state_bytes) - to_gib(fixed_ring) - to_gib(pool);
  if (rest <= 0)
    throw SpecError("engine.memory",
                    fmt::format("{:.2f} GiB leave nothing for tokens: {} state slots and the dummy slot take {} bytes, "
                                "states of draft steps and rings {}; give more memory, or fewer slots or requests",
                                inputs.memory_gib, split.state_slots, pool,
                                std::int64_t(Checked(split.draft_state_bytes) + fixed_ring)));
  split.token_memory_bytes = whole(rest * gib, "bytes for tokens");
  const auto in_pages = [&](std::int64_t tokens) { return tokens / inputs.page_tokens * inputs.page_tokens; };
  split.token_slots = in_pages(split.token_memory_bytes / inputs.token_bytes);
  if (inputs.max_total_tokens) split.token_slots = in_pages(std::min(split.token_slots, *inputs.max_total_tokens));
  const std::int64_t estimated =
      std::clamp(whole(static_cast<double>(split.token_slots) / static_cast<double>(inputs.context_tokens) *
                           requests_of_context, "requests"), fewest_requests, most_requests);
  split.max_running = std::min({requests.value_or(estimated), split.token_slots / 2,
                                split.state_slots / inputs.state_slots_per_request});
  if (split.max_running <= 0)
    throw SpecError("engine.memory",
                    fmt::format("{:.2f} GiB let no request run: {} state slots at {} a request, {} token slots; give "
                                "more memory, or another state_memory_ratio", inputs.memory_gib,
                                split.state_slots, inputs.state_slots_per_request, split.token_slots));
  return split;
}

UnifiedPool unified_pool(const SplitInputs& inputs, const TokenStateSplit& split) {
  UnifiedPool pool;
  pool.token_part_bytes = split.token_memory_bytes / buffer_grain * buffer_grain;
  pool.total_bytes = Checked(pool.token_part_bytes) + Checked(split.state_slots) * inputs.state_slot_bytes;
  pool.state_in_tokens = ceil_div(inputs.state_slot_bytes, inputs.token_bytes);
  // The first usable slot of a kind lies behind the largest entry, or the dummy page, of any.
  const std::int64_t front =
      std::max(std::max(inputs.state_slot_bytes, inputs.token_bytes), std::int64_t(Checked(inputs.page_tokens) *
                                                                                   inputs.token_bytes));
  const auto slots_of = [&](std::int64_t entry) {
    return std::max<std::int64_t>(0, pool.total_bytes / entry - ceil_div(front, entry));
  };
  pool.largest_tokens = slots_of(inputs.token_bytes);
  pool.largest_states = slots_of(inputs.state_slot_bytes);
  return pool;
}

namespace {

/// Splits by multiples of a thousandth of the balanced ratio.
class RatioGrid {
 public:
  RatioGrid(const SplitInputs& inputs, std::int64_t tokens) : inputs_(inputs), tokens_(tokens) {
    inputs_.max_mamba_cache_size.reset();
    balanced_ = static_cast<double>(inputs.state_slots_per_request) * static_cast<double>(inputs.state_slot_bytes) /
                (static_cast<double>(inputs.token_bytes) * static_cast<double>(tokens));
  }

  double balanced() const { return balanced_; }
  double ratio(std::int64_t step) const { return balanced_ * static_cast<double>(step) / 1000; }
  std::optional<TokenStateSplit> at(std::int64_t step) const {
    SplitInputs inputs = inputs_;
    inputs.full_memory_ratio = ratio(step);
    try {
      return split_memory(inputs);
    } catch (const SpecError&) {
      return std::nullopt;
    }
  }
  std::int64_t running(const std::optional<TokenStateSplit>& split) const {
    return split ? split->requests_at(tokens_, inputs_.page_tokens) : 0;
  }
  /// Do the states rather than the tokens have room to spare? Beyond a ratio that leaves tokens nothing they do too.
  bool favours_states(std::int64_t step) const {
    const std::optional<TokenStateSplit> split = at(step);
    if (!split) return state_slots_alone(step) >= inputs_.state_slots_per_request;
    return split->state_slots / split->state_slots_per_request >=
           split->token_slots / round_up(tokens_, inputs_.page_tokens);
  }

 private:
  std::int64_t state_slots_alone(std::int64_t step) const {
    SplitInputs inputs = inputs_;
    inputs.full_memory_ratio = ratio(step);
    const std::int64_t ring = fixed_ring_bytes(inputs, requests_of_rank(inputs).value_or(0));
    return state_slots_by_ratio(inputs, inputs.replay ? 0 : inputs.draft_tokens, ring);
  }

  SplitInputs inputs_;
  std::int64_t tokens_;
  double balanced_ = 0;
};

/// The first step of [low, high] at which something holds that holds ever after; high where it never does.
template <class Holds>
std::int64_t first_step(std::int64_t low, std::int64_t high, Holds holds) {
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (holds(middle))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

}  // namespace

std::optional<RatioAdvice> advise_ratio(const SplitInputs& inputs, const TokenStateSplit& split, std::int64_t tokens) {
  if (!inputs.radix_cache && inputs.max_running_requests) return std::nullopt;  // requests decide, no ratio
  constexpr std::int64_t most_steps = std::int64_t(1) << 20;
  const RatioGrid grid(inputs, tokens);
  const std::int64_t crossing = first_step(1, most_steps, [&](std::int64_t step) { return grid.favours_states(step); });
  std::int64_t most = grid.running(grid.at(crossing));
  if (crossing > 1) most = std::max(most, grid.running(grid.at(crossing - 1)));
  if (most == 0) return std::nullopt;
  const std::int64_t best_step = first_step(1, crossing, [&](std::int64_t step) {
    return grid.running(grid.at(step)) >= most;
  });
  RatioAdvice advice;
  advice.balanced_ratio = grid.balanced();
  advice.best_ratio = grid.ratio(best_step);
  advice.best = *grid.at(best_step);
  advice.running_now = split.requests_at(tokens, inputs.page_tokens);
  advice.running_best = most;
  const double request = static_cast<double>(Checked(split.state_slots_per_request) * inputs.state_slot_bytes +
                                             Checked(tokens) * inputs.token_bytes);
  const double memory = inputs.memory_gib * gib;
  const auto beside = static_cast<double>(Checked(split.draft_state_bytes) + split.ring_bytes);
  advice.idle_percent = 100 * (memory - beside - static_cast<double>(advice.running_now) * request) / memory;
  return advice;
}

}  // namespace hybridkv
