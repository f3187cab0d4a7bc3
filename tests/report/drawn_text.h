#pragma once

#include <string>
#include <vector>

namespace hybridkv::testing {

/// A text of a picture of ours that stands upright, and about the room it takes.
struct DrawnText {
  std::string words;
  double left = 0, right = 0, top = 0, bottom = 0;
};

std::vector<DrawnText> read_texts(const std::string& svg);

/// Texts that an upright line goes through.
std::vector<std::string> struck_texts(const std::string& svg);

/// Texts that another one stands on.
std::vector<std::string> covered_texts(const std::string& svg);

/// Texts that reach beyond the picture, in whatever font it is shown.
std::vector<std::string> outside_texts(const std::string& svg);

}  // namespace hybridkv::testing
