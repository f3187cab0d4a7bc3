#include "clock/step_shape.h"

#include <fmt/format.h>

namespace hybridkv {

StepBatch served_batch(const StepShape& shape, const std::array<std::int64_t, most_windows>& windows) {
  StepBatch batch;
  for (const ShapePart& part : shape.parts)
    for (std::int64_t i = 0; i < part.count; ++i) {
      const auto context = static_cast<double>(part.context);
      if (part.decodes())
        add_decode(batch, context + 1, windows, part.drafts);
      else
        add_prompt(batch, static_cast<double>(part.query), context, windows);
    }
  batch.sampled += batch.prompts;
  return batch;
}

StepBatch forward_batch(const StepShape& shape, const std::array<std::int64_t, most_windows>& windows) {
  StepBatch batch = served_batch(shape, windows);
  // The drafter runs by itself, behind the pass that is measured.
  batch.sampled = batch.draft_passes = 0;
  return batch;
}

std::string shape_name(const std::vector<ShapePart>& parts) {
  std::string name;
  for (const ShapePart& part : parts) {
    if (!name.empty()) name += " + ";
    if (part.count > 1) name += fmt::format("{} x ", part.count);
    name += part.decodes() ? fmt::format("decode {}", part.query) : fmt::format("prompt {}", part.query);
    if (part.context > 0) name += fmt::format(" behind {}{}", part.context, part.found ? " found" : "");
  }
  return name;
}

}  // namespace hybridkv
