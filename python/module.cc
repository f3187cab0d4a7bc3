#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/build_info.h"
#include "python/answers.h"
#include "python/audit.h"
#include "python/errors.h"
#include "python/keywords.h"
#include "python/plans.h"
#include "python/pools.h"
#include "python/watched.h"
#include "scenarios/model_library.h"

NB_MODULE(_native, module) {
  using namespace hybridkv;
  module.attr("version") = program_version();
  register_errors(module);
  register_plans(module);
  register_answers(module);
  register_verify(module);
  register_transfer(module);
  register_simulate(module);
  register_recommend(module);
  register_start(module);
  register_sweep(module);
  register_pools(module);
  register_audit(module);
  module.def("key_of_keyword", [](const std::string& keyword) { return key_of_keyword(keyword); });
  module.def("keywords", keywords);
  module.def("model_names", shipped_model_own_names);
  module.def("join_abandoned", join_abandoned);
}
