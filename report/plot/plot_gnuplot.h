#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/named_values.h"
#include "ask/plot/picture_style.h"
#include "report/plot/plot.h"

namespace hybridkv {

/// What a picture is drawn as.
enum class PictureFormat { svg, png, pdf };

/// A name is also the ending of the file.
inline constexpr auto picture_format_names = std::to_array<Named<PictureFormat>>(
    {{PictureFormat::svg, "svg"},
     {PictureFormat::png, "png"},
     {PictureFormat::pdf, "pdf"}});
inline constexpr auto all_picture_formats = values_of(picture_format_names);

constexpr std::string_view to_string(PictureFormat format) { return name_in(picture_format_names, format); }
constexpr std::optional<PictureFormat> parse_picture_format(std::string_view name) {
  return value_in(picture_format_names, name);
}

/// Width at which text has its natural size: that of a README column.
inline constexpr int natural_picture_width = 830;

/// Form, size and look of a picture; everything in it grows with its width.
struct PictureSpec {
  PictureFormat format = PictureFormat::svg;
  int width = natural_picture_width;  ///< pixels (pdf: at 96 to the inch), 200 .. 10,000
  PictureStyle style = {};            ///< its own width stands in `width` already
};

/// The file of a table: "block-size.tsv", or "hit-rate-memory.tsv" where the plot has several.
std::string data_file_name(const Plot& plot, std::size_t table);

/// A header line of column names, then one line a row, tabs between; numbers with all their digits, NaN for nothing.
std::string tab_separated(const Table& table);

/// A gnuplot (5.4) script that draws the plot from its data files into NAME.FORMAT, to be run in their folder.
/// Text out of a scenario stands in single quotes, where gnuplot expands nothing.
/// Pre: the invariants of Plot; throws std::logic_error where a column is missing.
std::string gnuplot_script(const Plot& plot, const PictureSpec& picture);

}  // namespace hybridkv
