#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "ask/conform/conform_prompts.h"
#include "planner/rule_of.h"
#include "simulator/slots/slot_settings.h"

namespace hybridkv {

/// What becomes of every prompt in the slots of a server, one after the other, in the order in which one thing follows
/// from another: its slot, prompts that are saved and loaded, where it goes on, steps and checkpoints.
nlohmann::ordered_json slot_record(const SlotSettings& settings, const std::vector<ConformPrompt>& prompts);

/// A rule of a replay, which no decision of a plan says.
struct ReplayRule {
  std::string_view figure;  ///< that follows from it, without positions
  RuleOf of = RuleOf::prefixes;
  std::string_view words;
};

/// The one that a figure of these records follows from; null where it is of another kind.
const ReplayRule* slot_rule_on(const std::string& figure);

}  // namespace hybridkv
