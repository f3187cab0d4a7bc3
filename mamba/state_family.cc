#include "mamba/state_family.h"

#include <fmt/format.h>

namespace hybridkv {

std::int64_t share_of_rank(std::int64_t count, std::string_view things, std::string_view family,
                           const StateContext& context) {
  const std::int64_t ranks = context.tensor_parallel;
  if (count % ranks == 0) return count / ranks;
  throw SpecError("engine.tensor_parallel",
                  fmt::format("{} ranks cannot share {} {} of a {} layer; take a divisor: {}", ranks, count, things,
                              family, divisors_text(count)));
}

void check_shared_evenly(std::int64_t heads, std::string_view what, std::int64_t shared, std::string_view shared_what,
                         const std::string& path) {
  if (heads % shared == 0) return;
  const std::int64_t below = heads / shared * shared;
  throw SpecError(path, fmt::format("{} {} do not divide over {} {}; take a multiple of {}: {}{}", heads, what, shared,
                                    shared_what, shared, below > 0 ? fmt::format("{} or ", below) : "",
                                    below + shared));
}

AxisRule conv_steps_rule(std::int64_t conv_kernel, const StateContext& context, bool holds_drafts) {
  if (!holds_drafts) return {"conv", "step", "K - 1", {{"K", conv_kernel}}};
  return {"conv", "step", "K - 1 + s", {{"K", conv_kernel}, {"s", context.speculative_tokens}}};
}

AxisRule split_axis_rule(std::string_view tensor, std::string_view axis, std::string_view what, std::int64_t value,
                         const StateContext& context) {
  return {tensor, axis, fmt::format("{} / TP", what), {{what, value}, {"TP", context.tensor_parallel}}};
}

AxisRule whole_axis_rule(std::string_view axis, std::string_view what, std::int64_t value) {
  return {"ssm", axis, std::string(what), {{what, value}}};
}

}  // namespace hybridkv
