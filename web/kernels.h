#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ask/kernels/kernel_card.h"

namespace hybridkv {

/// The cards of the kernels that a question names: {"kernels": ["/dropped/mine.card.json"]}, which may be left out.
/// Throws InputError for another form, and as read_kernel_cards.
std::vector<KernelCard> asked_kernels(const nlohmann::ordered_json& question);

/// What the card at {"path"} is of: {"kernel", "answer"}.
std::string card_answer(const nlohmann::ordered_json& question);

}  // namespace hybridkv
