#pragma once

#include <nanobind/nanobind.h>

namespace hybridkv {

/// `audit`: whether tensors that an engine allocated keep the laws of a layout, by the exact checks of layout/.
void register_audit(nanobind::module_& module);

}  // namespace hybridkv
