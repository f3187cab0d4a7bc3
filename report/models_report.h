#pragma once

#include <span>
#include <string>

#include "planner/model_spec.h"
#include "report/format.h"
#include "report/table.h"

namespace hybridkv {

/// A model as `models` lists it.
struct ListedModel {
  ModelSpec model;
  std::string aliases;  ///< further names of the same shapes, joined by commas
};

/// One row per model: its layers, bytes per token and state on one rank, and the block of the uniform page without any
/// flag.
Table models_table(std::span<const ListedModel> models);

/// `models --format FORMAT`.
std::string render_models(std::span<const ListedModel> models, Format format, const Style& style = {});

}  // namespace hybridkv
