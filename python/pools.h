#pragma once

#include <nanobind/nanobind.h>

namespace hybridkv {

/// Real pools of a plan, and tensors over them; `reader` is verify's own, which the tests compare with.
void register_pools(nanobind::module_& module);

}  // namespace hybridkv
