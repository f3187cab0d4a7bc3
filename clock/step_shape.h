#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "clock/step_batch.h"

namespace hybridkv {

/// What equal requests compute in a step.
struct ShapePart {
  std::int64_t query = 1;    ///< tokens computed of each, drafts included, >= 1
  std::int64_t context = 0;  ///< tokens before them that are there
  std::int64_t drafts = 0;   ///< of the query, tokens of a drafter
  bool found = false;        ///< the context was found in a cache of prefixes; else the request computed it itself
  std::int64_t count = 1;    ///< such requests
  /// Do they generate? A query of one token, or of that and its drafts, behind what the request computed.
  bool decodes() const { return query == 1 + drafts && context > 0 && !found; }
  bool operator==(const ShapePart&) const = default;
};

/// A step as a benchmark of single steps is told to run it.
struct StepShape {
  std::string name;  ///< of shape_name
  std::vector<ShapePart> parts;
  bool operator==(const StepShape&) const = default;
};

/// What such a step computes in a server, where every prompt ends in it: one token is sampled of each.
StepBatch served_batch(const StepShape& shape, const std::array<std::int64_t, most_windows>& windows);

/// What such a step computes, without the head of the model: a forward pass alone samples nothing.
StepBatch forward_batch(const StepShape& shape, const std::array<std::int64_t, most_windows>& windows);

/// "64 x decode 1 behind 5120 + prompt 512 behind 2048 found": what tells shapes apart.
std::string shape_name(const std::vector<ShapePart>& parts);

}  // namespace hybridkv
