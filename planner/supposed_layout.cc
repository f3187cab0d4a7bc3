#include "planner/supposed_layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "planner/engine_spec.h"

namespace hybridkv {

namespace {

void require_least(std::int64_t value, std::int64_t least, const char* key) {
  if (value < least || value > largest_tokens)
    throw SpecError(fmt::format("engine.what_if.{}", key),
                    fmt::format("is {}; allowed: {} to {}", value, least, largest_tokens));
}

}  // namespace

std::vector<std::string> supposed_texts(const SupposedLayout& what_if) {
  std::vector<std::string> texts;
  if (!what_if.block_formula.empty()) texts.push_back("block_formula " + what_if.block_formula);
  if (what_if.page_bytes) texts.push_back(fmt::format("page_bytes {}", *what_if.page_bytes));
  if (!what_if.groups.empty()) texts.push_back(fmt::format("groups {}", fmt::join(what_if.groups, " ")));
  if (what_if.states.first_byte != 0) texts.push_back(fmt::format("state_first_byte {}", what_if.states.first_byte));
  if (what_if.states.alignment != 1)
    texts.push_back(fmt::format("state_alignment_bytes {}", what_if.states.alignment));
  if (what_if.states.recurrent_first) texts.emplace_back("state_order recurrent_first");
  return texts;
}

void validate_supposed(const EngineSpec& engine) {
  const SupposedLayout& what_if = engine.what_if;
  if (what_if == SupposedLayout{}) return;
  if (engine.strategy != Strategy::packed_attention)
    throw SpecError("engine.what_if", fmt::format("supposes rules of pages that all layers share, and strategy {} has "
                                                  "none; leave it out, or set engine.strategy to {}",
                                                  to_string(engine.strategy), to_string(Strategy::packed_attention)));
  if (what_if.page_bytes) require_least(*what_if.page_bytes, 1, "page_bytes");
  require_least(what_if.states.first_byte, 0, "state_first_byte");
  require_least(what_if.states.alignment, 1, "state_alignment_bytes");
  if (!what_if.groups.empty() && engine.layers_per_group)
    throw SpecError("engine.what_if.groups", "and engine.layers_per_group both say how layers are grouped; leave one "
                                             "out");
  if (what_if.page_bytes && *what_if.page_bytes % engine.page_alignment_bytes != 0)
    throw SpecError("engine.what_if.page_bytes",
                    fmt::format("is {}, no multiple of engine.page_alignment_bytes, which is {}; leave one out, or "
                                "take a multiple", *what_if.page_bytes, engine.page_alignment_bytes));
}

}  // namespace hybridkv
