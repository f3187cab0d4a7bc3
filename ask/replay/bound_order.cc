#include "ask/replay/bound_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace hybridkv {

namespace {

void in_order(const char* what, std::int64_t tokens, const char* most, std::int64_t most_tokens) {
  if (tokens <= most_tokens) return;
  throw std::logic_error(
      fmt::format("a proof contradicts itself: {} {} tokens, {} {}", what, tokens, most, most_tokens));
}

}  // namespace

void check_order(const LayoutBound& bound, const ReplayedFigures& replayed) {
  if (bound.prompt_tokens != replayed.prompt_tokens)
    throw std::logic_error(fmt::format("a bound is of {} prompt tokens, what was found of {}", bound.prompt_tokens,
                                       replayed.prompt_tokens));
  in_order("found", replayed.found_tokens, "possible", bound.feasible_tokens);
  in_order("possible", bound.feasible_tokens, "at most", bound.upper_tokens);
  in_order("at most", bound.upper_tokens, "in endless memory", bound.endless_tokens);
  if (replayed.token_exact_tokens)
    in_order("in endless memory", bound.endless_tokens, "token by token", *replayed.token_exact_tokens);
}

void add_found(LayoutBound& bound, const ReplayedFigures& replayed) {
  bound.feasible_tokens = std::max(bound.feasible_tokens, replayed.found_tokens);
  check_order(bound, replayed);
}

}  // namespace hybridkv
