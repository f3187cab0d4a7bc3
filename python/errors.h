#pragma once

#include <nanobind/nanobind.h>

namespace hybridkv {

/// What this house throws becomes the exceptions of hybridkv/_errors.py.
void register_errors(nanobind::module_& module);

}  // namespace hybridkv
