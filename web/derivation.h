#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace hybridkv {

/// How a number came about: {"symbol"} of web/figures.h as {"steps": [{result, rule, values, inputs, source}]} as
/// `explain --format json` has them, the decision of that symbol first, then those that its inputs come from, and so
/// on. An input that a step stands for has its position as "step". With "setting", of web/comparison.h in the setting
/// of that number, counted from 0. {"symbols": [...]} in place of one are decided first, one after the other; with
/// "full": true memory is as full as in web/bars.h. Throws InputError where nothing is derived so.
std::string derivation_answer(const nlohmann::ordered_json& question);

}  // namespace hybridkv
