#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "layout/layout.h"
#include "report/json_archive.h"

namespace hybridkv {

/// The axes of a layout from its parts, with everything Layout takes for granted checked first.
std::vector<Axis> checked_axes(const std::string& path, const std::vector<std::string>& names,
                               const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& strides);

/// A layout as the keys axes, shape, strides and offset; a dense one needs axes and shape alone.
template <class Archive, Is<Layout> T>
void layout_fields(Archive& archive, T& layout, bool dense) {
  std::vector<std::string> names;
  std::vector<std::int64_t> shape, strides;
  std::int64_t offset = layout.offset();
  for (const Axis& axis : layout.axes()) {
    names.emplace_back(axis.name.view());
    shape.push_back(axis.extent);
    strides.push_back(axis.stride);
  }
  archive("axes", names, dense ? "Names of the axes, outermost first."
                               : "Their names, in the order a backend indexes them; block: kernel blocks or pages.");
  archive("shape", shape, "Extent of each axis.");
  if (!dense) {
    archive("strides", strides, "Elements of dtype between neighbours on each axis.");
    archive("offset", offset, "Elements of dtype from the first byte of the pool.");
  }
  if constexpr (Archive::reads) {
    if (dense) strides.assign(shape.size(), 0);
    if (offset < 0) JsonReader::fail(archive.path_of("offset"), "must not be negative");
    const std::vector<Axis> axes = checked_axes(archive.path(), names, shape, strides);
    try {
      layout = dense ? row_major(axes) : Layout(axes, offset);
    } catch (const InputError& error) {  // the extent of the layout passes 64 bits
      JsonReader::fail(archive.path(), error.what());
    }
  }
}

}  // namespace hybridkv
