#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace hybridkv {

/// The trace of the scenario through its layouts, as `simulate --format json` prints it. Throws InputError.
std::string simulate_answer(const nlohmann::ordered_json& question);

/// Hit rates over memory, a curve for each setting: {"model", "trace", "memory_bytes", "memory_text", "settings":
/// [{name, evidence, found}], "upper", "token_exact"}; null where nothing is known. Throws InputError as engine_rates.
std::string rates_answer(const nlohmann::ordered_json& question);

/// How long a first token takes over memory, by the clock of "simulate.clock.gpu": {"memory_bytes", "memory_text",
/// "settings": [{name, seconds, overloaded}], "clocks"}; null where nothing is known. Throws InputError as
/// first_token_curves.
std::string first_tokens_answer(const nlohmann::ordered_json& question);

}  // namespace hybridkv
