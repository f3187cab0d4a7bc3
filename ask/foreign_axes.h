#pragma once

#include "ask/recommend.h"

namespace hybridkv {

/// The question as an engine of these rules is asked it: one layer a page, which every question may say, is left out
/// where it has no packs. Throws InputError where values of axes are asked for along which it is not searched; it says
/// which, as the question spells them, and what its space is.
RecommendQuestion question_to(const EngineRules& rules, RecommendQuestion asked);

}  // namespace hybridkv
