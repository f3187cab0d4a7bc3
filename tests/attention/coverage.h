#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "attention/inputs.h"
#include "tests/attention/covering_array.h"

namespace hybridkv::test {

/// The factors of a batch over a cache under a layer's rule: named batch, block, kernel block, pack, page, backend
/// form, physical order, common prefix, query heads per KV head, head size, element type, rule.
const std::vector<Factor>& coverage_factors();

/// The same with the backends, the ways of `backends_under_test`, as last factor.
const std::vector<Factor>& coverage_factors_with_backend();

/// What does not exist: forms without a head-major order, rules that a backend does not support.
bool coverage_excludes(const Level& a, const Level& b);

/// "batch mixed_small, block 96, …".
std::string describe(const Row& row);

/// How far a backend was from the reference.
struct CoverageRun {
  Row row;           ///< with the backend
  double error = 0;  ///< largest |x - y| over what float32 allows, 1e-5 + 1.3e-6 |y|; at most 1 is right
};

/// Lays out the batch of a row (without backend) and runs every backend that supports its rule, against the float64
/// reference over a plain cache. K and V are rounded to the element type before, so that storage loses nothing.
/// `tamper` may plant a fault in what the backends are given.
std::vector<CoverageRun> run_row(const Row& row, std::uint64_t seed,
                                 const std::function<void(AttentionInputs&)>& tamper = {});

}  // namespace hybridkv::test
