#include "report/plan/layout_json.h"

#include <set>

namespace hybridkv {

std::vector<Axis> checked_axes(const std::string& path, const std::vector<std::string>& names,
                                      const std::vector<std::int64_t>& shape,
                                      const std::vector<std::int64_t>& strides) {
  if (names.size() != shape.size() || names.size() != strides.size())
    JsonReader::fail(path, "axes, shape and strides must have the same length");
  if (names.size() > Layout::max_rank) JsonReader::fail(path, "at most 8 axes");
  std::vector<Axis> axes;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty() || names[i].size() > AxisName::max_length)
      JsonReader::fail(path, "the name of an axis has 1 to 15 bytes, not \"" + names[i] + "\"");
    if (!seen.insert(names[i]).second) JsonReader::fail(path, "two axes are called \"" + names[i] + "\"");
    if (shape[i] < 0 || strides[i] < 0) JsonReader::fail(path, "extents and strides must not be negative");
    axes.push_back({AxisName(std::string_view(names[i])), shape[i], strides[i]});
  }
  return axes;
}

}  // namespace hybridkv
