#pragma once

#include <string>

#include "ask/whose.h"
#include "report/format.h"

namespace hybridkv {

/// `whose --format FORMAT`: whose a byte of a pool is, in a sentence, then a row for each group that its id may be of.
std::string render_whose(const WhoseAnswer& answer, Format format, const Style& style = {});

}  // namespace hybridkv
