#include "tests/toys/toy_release.h"

#include "engines/vllm/engine.h"

namespace hybridkv::testing {

const Engine& toy_release() {
  static const EngineRules rules = [] {
    EngineRules changed = rules_of_vllm_0_33;
    changed.name = "toy-0.34";
    changed.title = "Toy 0.34";
    changed.retention_tokens.reset();
    return changed;
  }();
  static const Engine engine = [] {
    Engine changed = vllm_0_33;
    changed.rules = &rules;
    return changed;
  }();
  return engine;
}

}  // namespace hybridkv::testing
