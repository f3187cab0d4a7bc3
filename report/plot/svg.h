#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hybridkv {

/// Text as XML and HTML show it: & < > and quotes escaped, control characters replaced by spaces.
std::string escape_xml(std::string_view text);

/// How text stands at its point.
enum class TextAnchor { start, middle, end };

/// Writes an SVG shape by shape, in the order in which they cover each other; numbers have at most two decimals, so
/// that the same shapes are the same bytes.
class SvgWriter {
 public:
  using Attributes = std::vector<std::pair<std::string, std::string>>;

  struct TextStyle {
    double size = 12;
    TextAnchor anchor = TextAnchor::start;
    const char* colour = "#222222";
    bool bold = false;
    bool monospace = false;
    bool upwards = false;  ///< turned by a quarter, read from below
  };

  /// A filled rectangle; `title` is shown when the mouse rests on it, `attributes` are added as they are.
  void rect(double x, double y, double width, double height, std::string_view fill, const Attributes& attributes = {},
            std::string_view title = {});
  /// A filled area between two stretches of horizontals: from x1 to x2 at y1, from x3 to x4 at y2.
  struct Band {
    double x1, x2, y1;
    double x3, x4, y2;
  };
  void band(const Band& band, std::string_view fill, const Attributes& attributes = {}, std::string_view title = {});
  void line(double x1, double y1, double x2, double y2, std::string_view colour, double width = 1,
            std::string_view dashes = {});
  /// A line with an arrow head at both ends.
  void span(double x1, double x2, double y, std::string_view colour);
  void text(double x, double y, std::string_view text, const TextStyle& style);
  /// Text in as many lines as it takes to be no wider than `width`, broken at spaces, the first of them at `y`; returns
  /// where the last one stands.
  double paragraph(double x, double y, double width, std::string_view text, const TextStyle& style);
  /// Fills: a swatch of each beside its words, in rows no wider than `width`; returns where the last row ends.
  double legend(double x, double y, double width, const std::vector<std::pair<std::string, std::string>>& swatches);
  /// Makes "url(#ID)" a fill of thin diagonal lines.
  void hatch(std::string_view id, std::string_view colour, std::string_view background);

  /// The whole file: `width` pixels wide, drawn in units of which `unit_width` make the width.
  std::string finish(int width, double unit_width, double unit_height, std::string_view title,
                     std::string_view description) const;

 private:
  std::string body_;
};

/// About how wide a text of that size is in the font stack of the pictures.
double text_width(std::string_view text, double size);

/// The most that it may be where another font stands in for these, and in the one of equal columns.
double widest_text(std::string_view text, double size);

}  // namespace hybridkv
