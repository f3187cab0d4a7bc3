#pragma once

#include "ask/recommend.h"
#include "report/document.h"

namespace hybridkv {

/// The answer at a glance: the verdict, and a small table of the pick, of the best without packing where that is
/// another candidate, and of the default: hits, requests at once, sizes, and how all of it is known.
Document recommend_glance(const RecommendAnswer& report);

}  // namespace hybridkv
