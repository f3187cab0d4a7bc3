#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "clock/step_clock.h"
#include "clock/step_shape.h"

namespace hybridkv {

/// The steps of a replay that take most of its time, by their shape, each alike ones once. Memory is fixed, however
/// long the replay is: past most_kinds no new kind of step is counted.
class ShapeCounter {
 public:
  explicit ShapeCounter(const StepClock& clock) : clock_(clock) {}

  /// A step of the replay.
  void add(std::vector<ShapePart> parts);
  /// The `number` kinds of step that took most time together, and the one that took longest at once; the most first.
  std::vector<StepShape> most(std::size_t number) const;

 private:
  static constexpr std::size_t most_kinds = 4096;
  /// Steps are alike where these numbers are, each to a quarter: sequences that generate and their mean context,
  /// prompts, their tokens and what is there before them.
  using Kind = std::array<int, 5>;
  struct Counted {
    std::vector<ShapePart> first;  // of its steps
    double seconds = 0;            // of all
    double longest = 0;
  };

  const StepClock& clock_;
  std::map<Kind, Counted> kinds_;
};

/// Steps that tell the numbers of a clock apart, of a server that runs so many sequences of so many tokens at most:
/// decodes at two contexts, prompts alone, the same behind hits, and a mixed step.
std::vector<StepShape> telling_shapes(std::int64_t most_running, std::int64_t longest, std::int64_t drafts);

}  // namespace hybridkv
