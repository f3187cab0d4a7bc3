#include "report/plot/page_fills.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "report/human.h"

namespace hybridkv {

namespace {

constexpr std::array<const char*, 3> state_fills{"#E69E66", "#F6F08E", "#9AD2F2"};

const GroupPlan& group_of(const CachePlan& plan, const PageStrip& strip) {
  return plan.groups[static_cast<std::size_t>(strip.group)];
}

const std::vector<std::int64_t>& layers_of(const CachePlan& plan, const PageStrip& strip) {
  return group_of(plan, strip).pages[static_cast<std::size_t>(strip.pool)];
}

/// Which of the tensors of a state the part is; nothing of attention.
std::optional<std::size_t> state_tensor(const CachePlan& plan, const PageStrip& strip, const PagePart& part) {
  if (!plan.spec_of(group_of(plan, strip)).state) return std::nullopt;
  std::vector<std::string> tensors;
  for (const std::size_t view : strip.views) tensors.push_back(plan.views[view].tensor);
  const auto at = std::find(tensors.begin(), tensors.end(), part.tensor) - tensors.begin();
  return static_cast<std::size_t>(at) % state_fills.size();
}

}  // namespace

std::string part_kind(const CachePlan& plan, const PageStrip& strip, const PagePart& part) {
  if (!part.layer) return "padding";
  if (const auto tensor = state_tensor(plan, strip, part)) return fmt::format("state{}", *tensor);
  return part.half.empty() ? "kv" : part.half == "V" ? "value" : "key";
}

std::string fill_of(const CachePlan& plan, const PageStrip& strip, const PagePart& part) {
  if (!part.layer) return padding_fill;
  if (const auto tensor = state_tensor(plan, strip, part)) return state_fills[*tensor];
  return part.half.empty() ? mixed_fill : part.half == "V" ? value_fill : key_fill;
}

bool is_short_pack(const CachePlan& plan, const PageStrip& strip) {
  return std::ssize(layers_of(plan, strip)) < plan.spec_of(group_of(plan, strip)).layers_per_page;
}

std::string page_title(const CachePlan& plan, const PageStrip& strip) {
  const GroupPlan& group = group_of(plan, strip);
  const SpecPlan& spec = plan.spec_of(group);
  const std::vector<std::int64_t>& layers = layers_of(plan, strip);
  std::int64_t groups = 0;
  for (const GroupPlan& other : plan.groups) groups += other.spec == group.spec ? 1 : 0;
  std::string text = fmt::format("For {} {}{} group{}", groups == 1 ? "the" : "a", spec.draft ? "draft " : "",
                                 spec.kind, groups == 1 ? "" : fmt::format(" (one of {})", groups));
  if (strip.pool != 0) text += fmt::format(", in pool {}", strip.pool);
  text += fmt::format(": layer{} {}", layers.size() == 1 ? "" : "s", human_list(layers));
  if (is_short_pack(plan, strip))
    text += fmt::format(", room for {} more stays empty", spec.layers_per_page - std::ssize(layers));
  if (spec.attention) text += fmt::format("; block {} tokens", human_count(spec.block_size_tokens));
  if (strip.kernel_blocks > 1)
    text += fmt::format(" = {} kernel blocks of {}", strip.kernel_blocks, human_count(spec.kernel_block_size_tokens));
  if (strip.runs > 1)
    text += fmt::format("; in {} runs of {} bytes, one a head", strip.runs,
                        human_count(plan.page_bytes(group) / strip.runs));
  return text;
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
