#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace hybridkv::test {

/// One dimension of a space of test runs.
struct Factor {
  std::string name;
  std::vector<std::string> values;
};

/// One run: the index of a value for every factor.
using Row = std::vector<std::size_t>;

/// A value of one factor.
struct Level {
  std::size_t factor, value;
  bool operator==(const Level&) const = default;
};

/// Whether two values of different factors cannot stand in one run. Called with the lower factor first.
using Excludes = std::function<bool(const Level&, const Level&)>;

/// Values of any two factors that may stand in one run.
struct Pair {
  Level first, second;
  bool operator==(const Pair&) const = default;
};
std::vector<Pair> allowed_pairs(const std::vector<Factor>& factors, const Excludes& excludes);

/// The allowed pairs that no row contains.
std::vector<Pair> uncovered_pairs(const std::vector<Factor>& factors, const Excludes& excludes,
                                  const std::vector<Row>& rows);

/// A row that excludes nothing, each factor's value drawn among those that its predecessors allow.
/// Pre: there always is one.
Row random_row(const std::vector<Factor>& factors, const Excludes& excludes, std::mt19937_64& random);

/// Rows that contain every allowed pair, few of them: each starts from an uncovered pair and takes, factor by factor
/// in random order, the value that covers most others. The same seed gives the same rows.
/// Source: AETG (Cohen et al. 1997), one candidate per row.
std::vector<Row> covering_rows(const std::vector<Factor>& factors, const Excludes& excludes, std::uint64_t seed);

}  // namespace hybridkv::test
