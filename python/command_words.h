#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "python/question.h"
#include "scenarios/command_words.h"

namespace hybridkv {

/// The question of a call as it is typed for the program: a scenario by its name or path, a flag for every key that has
/// one, --set for all others. A model that was given as a mapping is written out.
CommandWords command_words(nanobind::handle scenario, const std::vector<AskedKey>& asked);

}  // namespace hybridkv
