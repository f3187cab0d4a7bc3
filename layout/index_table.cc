#include "layout/index_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "layout/cosize.h"
#include "layout/for_each_index.h"
#include "layout/slice.h"

namespace hybridkv {

namespace {

/// The table of a layout with one or two axes.
std::string draw_plane(const Layout& plane, std::size_t cell_width) {
  const bool has_rows = plane.rank() == 2;
  const Axis& columns = plane[plane.rank() - 1];
  std::string corner(columns.name.view());
  if (has_rows) corner = fmt::format("{}\\{}", plane[0].name.view(), corner);
  std::string text = corner;
  for (std::int64_t column = 0; column < columns.extent; ++column) text += fmt::format("  {:>{}}", column, cell_width);
  for (std::int64_t row = 0; row < (has_rows ? plane[0].extent : 1); ++row) {
    const Layout cells = has_rows ? slice(plane, plane[0].name, row) : plane;
    text += fmt::format("\n{:>{}}", has_rows ? std::to_string(row) : "", corner.size());
    for (std::int64_t column = 0; column < columns.extent; ++column)
      text += fmt::format("  {:>{}}", cells.at({column}), cell_width);
  }
  return text + "\n";
}

}  // namespace

std::string index_table(const Layout& layout) {
  expects(has_at_most(layout, max_drawn_indices), "a drawn layout has few indices");
  if (layout.rank() == 0) return fmt::format("{}\n", layout.offset());
  const std::size_t cell_width = std::to_string(std::max(cosize(layout), layout[layout.rank() - 1].extent)).size();
  const int num_outer = std::max(0, layout.rank() - 2);
  const Layout outer(layout.axes().first(static_cast<std::size_t>(num_outer)));
  std::string text;
  for_each_index(outer, [&](std::span<const std::int64_t> index, std::int64_t) {
    Layout plane = layout;
    std::string title;
    for (int i = 0; i < num_outer; ++i) {
      const std::int64_t position = index[static_cast<std::size_t>(i)];
      plane = slice(plane, outer[i].name, position);
      title += fmt::format("{}{} {}", i == 0 ? "" : ", ", outer[i].name.view(), position);
    }
    if (num_outer > 0) text += fmt::format("{}{}\n", text.empty() ? "" : "\n", title);
    text += draw_plane(plane, cell_width);
  });
  return text;
}

}  // namespace hybridkv
