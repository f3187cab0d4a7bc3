#pragma once

#include <string>
#include <vector>

#include "attention/backend.h"
#include "attention/inputs.h"

namespace hybridkv::test {

/// A backend with options that make it take another path.
struct BackendUnderTest {
  std::string name;
  AttentionBackend backend;
  BackendOptions options;
};

/// Every backend, and every way of it that runs other code: unified with a full bias, and in chunks so small that
/// they apply; the cascade tile by tile; paged with every instruction set of this machine, on two threads.
const std::vector<BackendUnderTest>& backends_under_test();

/// Those that support what the inputs ask for.
std::vector<BackendUnderTest> backends_for(const AttentionInputs& inputs);

/// Builds the backend's metadata from the common part of the inputs, with the longest common prefix, and runs it;
/// what the inputs say of decodes is not handed on.
BackendResult run(const BackendUnderTest& how, const AttentionInputs& inputs);

}  // namespace hybridkv::test
