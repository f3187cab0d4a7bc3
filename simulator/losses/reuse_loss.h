#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/named_values.h"

namespace hybridkv {

/// Why tokens that an earlier prompt began with were computed again, in the order in which it is decided.
enum class LossCause {
  block_tail,     ///< behind the last whole match unit, or in a block that the prompts share in part
  last_token,     ///< the last token of a prompt is never matched, nor what a drafter has to see again
  no_state,       ///< no state was ever made there
  dropped,        ///< a state was made, or a window computed, that retention does not keep
  state_evicted,  ///< no recurrent group holds the state any more
  kv_evicted,     ///< no attention group holds all K and V before it any more
  other_group,    ///< one group holds it and another one does not
  too_late,       ///< the earlier prompt was computed, or its state kept, only after the look-up
  no_memory,      ///< this request, or the earlier one, needs more memory than there is
};
inline constexpr auto loss_cause_names = std::to_array<Named<LossCause>>({{LossCause::block_tail, "block_tail"},
                                                                          {LossCause::last_token, "last_token"},
                                                                          {LossCause::no_state, "no_state"},
                                                                          {LossCause::dropped, "dropped"},
                                                                          {LossCause::state_evicted, "state_evicted"},
                                                                          {LossCause::kv_evicted, "kv_evicted"},
                                                                          {LossCause::other_group, "other_group"},
                                                                          {LossCause::too_late, "too_late"},
                                                                          {LossCause::no_memory, "no_memory"}});
inline constexpr std::size_t num_loss_causes = loss_cause_names.size();

constexpr std::string_view to_string(LossCause cause) { return name_in(loss_cause_names, cause); }

/// Tokens of one request, or of several: what matching token by token finds in endless memory, what was found, and the
/// difference by cause. Invariant: token_exact_tokens = found_tokens + total().
struct ReuseLoss {
  std::int64_t token_exact_tokens = 0;  ///< shared with an earlier prompt, without the prompt's last one
  std::int64_t found_tokens = 0;        ///< of a request that ended ok, at its first admission
  std::array<std::int64_t, num_loss_causes> lost{};  ///< (cause)

  std::int64_t& of(LossCause cause) { return lost[static_cast<std::size_t>(cause)]; }
  std::int64_t of(LossCause cause) const { return lost[static_cast<std::size_t>(cause)]; }
  std::int64_t total() const;
  ReuseLoss& operator+=(const ReuseLoss& other);
  bool operator==(const ReuseLoss&) const = default;
};

/// A length from which a request could have resumed and did not, and the first of the conditions, in the order of
/// LossCause, that was not met there: no_state or a later one.
struct MissedPosition {
  std::int64_t tokens = 0;
  LossCause stopped_by = LossCause::no_state;
};

/// What a line of CSV says of a request's loss behind its other fields, and the names of these fields; both begin with
/// a comma.
std::string loss_csv_fields(const ReuseLoss& loss);
std::string loss_csv_names();

/// What one request shared with earlier ones, and where it could have resumed.
struct ReuseTrail {
  std::int64_t token_exact_tokens = 0;
  std::int64_t whole_tokens = 0;    ///< of those, up to where whole blocks or match units end
  std::int64_t allowed_tokens = 0;  ///< the longest hit that the rules of the look-up allow
  std::int64_t matched_tokens = 0;  ///< what the look-up found
  bool ended_ok = true;             ///< else nothing counts as found
  std::vector<MissedPosition> missed;  ///< behind matched_tokens, ascending
};

/// Books every token between what is found and what is token-exact to one cause: the first condition under which no
/// position at or behind that token is left to resume from.
/// Example: 1600 tokens shared, found 0, block 528, a state made at 1056 alone and evicted: 16 tokens block_tail, 528
/// no_state, 1056 state_evicted.
ReuseLoss book(const ReuseTrail& trail);

/// Losses over a trace, by its parts: consecutive requests in the order of their index.
class LossSeries {
 public:
  struct Part {
    std::int64_t requests = 0;
    std::int64_t prompt_tokens = 0;
    ReuseLoss loss;
    bool operator==(const Part&) const = default;
  };
  static constexpr std::size_t most_parts = 20;

  void add(std::int64_t index, std::int64_t prompt_tokens, const ReuseLoss& loss);
  /// Requests of each part but the last: a power of two.
  std::int64_t part_requests() const { return part_requests_; }
  /// (part), at most most_parts.
  std::span<const Part> parts() const { return parts_; }
  bool operator==(const LossSeries&) const = default;

 private:
  std::int64_t part_requests_ = 1;
  std::vector<Part> parts_;
};

/// Losses of all requests of a trace that were not refused as too long.
struct LossStats {
  std::int64_t prompt_tokens = 0;
  ReuseLoss total;
  LossSeries series;
  void add(std::int64_t index, std::int64_t prompt_tokens, const ReuseLoss& loss);
  bool operator==(const LossStats&) const = default;
};

}  // namespace hybridkv
