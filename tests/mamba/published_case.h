#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "mamba/recurrent_reference.h"

namespace hybridkv {

/// Where a run of published software stood after some of its tokens.
struct PublishedSplit {
  std::int64_t position;    ///< tokens before it
  RecurrentStateRef state;
};

/// One run of a recurrent layer by published packages, as a folder of tests/data/mamba holds it: what went in, and the
/// outputs and states that they computed in float64. case.json names the family, its sizes, which arrays make a row of
/// inputs and which are weights; the rest follows from it, so any folder of that form can be read.
struct PublishedCase {
  std::string name;
  RecurrentLayer layer;
  std::int64_t tokens = 0;
  std::vector<float> inputs;           ///< (token, input_width)
  RecurrentStateRef start;
  std::vector<double> outputs;         ///< (token, output_width)
  RecurrentStateRef end;
  std::vector<PublishedSplit> splits;  ///< in order of position
  std::size_t second_from = 0;         ///< index of the split where the second part starts
  std::vector<double> second_outputs;  ///< of the tokens from there on; empty where a case has no splits
  bool softplus_saturates = false;     ///< some step or gate is above 20, where PyTorch takes softplus(x) = x
};

/// All cases below a folder, by name. Throws where a file is missing or has another shape than case.json says.
std::vector<PublishedCase> read_published_cases(const std::filesystem::path& folder);

}  // namespace hybridkv
