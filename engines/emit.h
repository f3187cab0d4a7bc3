#pragma once

#include <string>
#include <vector>

#include "planner/cache_plan.h"
#include "planner/engine_spec.h"
#include "planner/kernel_verdict.h"
#include "planner/model_spec.h"

namespace hybridkv {

/// How much of a plug-in is wanted.
enum class EmitParts {
  module,   ///< what the engine loads
  package,  ///< with what installs and proves it
};

/// A plan that an engine shall make by a plug-in.
struct EmitQuestion {
  const CachePlan& plan;        ///< of the engine's rules
  const ModelSpec& model;
  const EngineSpec& engine;
  std::string made_by;          ///< the command, for whoever reads the files
  EmitParts parts = EmitParts::module;
  std::vector<KernelFit> kernels;  ///< of a package: what the plan does to kernels whose cards are known
};

/// A file of a plug-in.
struct EmittedFile {
  std::string path;  ///< below the folder that is written
  std::string text;  ///< its bytes
};

}  // namespace hybridkv
