#include "report/page_fills.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "report/human.h"

namespace hybridkv {

namespace {

constexpr std::array<const char*, 3> state_fills{"#E69E66", "#F6F08E", "#9AD2F2"};

}  // namespace

std::string fill_of(const CachePlan& plan, const PageStrip& strip, const PagePart& part) {
  if (!part.layer) return padding_fill;
  if (plan.spec_of(plan.groups[static_cast<std::size_t>(strip.group)]).state) {
    std::vector<std::string> tensors;
    for (const std::size_t view : strip.views) tensors.push_back(plan.views[view].tensor);
    const auto at = std::find(tensors.begin(), tensors.end(), part.tensor) - tensors.begin();
    return state_fills[static_cast<std::size_t>(at) % state_fills.size()];
  }
  return part.half.empty() ? mixed_fill : part.half == "V" ? value_fill : key_fill;
}

std::string part_word(const PagePart& part, bool short_pack) {
  if (!part.layer && short_pack) return "no layer";
  if (!part.half.empty()) return part.half;
  return part.tensor == "kv" ? "K+V" : part.tensor;
}

std::string part_title(const PagePart& part, bool short_pack) {
  std::string text;
  if (part.layer) text += fmt::format("layer {} ", *part.layer);
  text += part_word(part, short_pack);
  if (part.kernel_block) text += fmt::format(", kernel block {}", *part.kernel_block);
  return text + fmt::format(": bytes {} to {} of the page, {} bytes", human_count(part.bytes.begin),
                            human_count(part.bytes.end), human_count(part.bytes.end - part.bytes.begin));
}

}  // namespace hybridkv
