#pragma once

#include <span>
#include <string>

#include "ask/models.h"
#include "report/format.h"
#include "report/table.h"

namespace hybridkv {

/// One row per model: its layers, bytes per token and state of one layer on one rank, and the block of the uniform page
/// without any flag. All numbers are those of the planner for this model.
Table models_table(std::span<const ListedModel> models);

/// `models --format FORMAT`: the table; for people also what its columns mean and the further names.
std::string render_models(std::span<const ListedModel> models, Format format, const Style& style = {});

}  // namespace hybridkv
