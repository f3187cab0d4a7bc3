#include "report/plot/svg.h"

#include <fmt/format.h>

#include <cmath>

#include "report/text.h"

namespace hybridkv {

namespace {

constexpr const char* sans = "Helvetica,Arial,sans-serif";
constexpr const char* mono = "Menlo,Consolas,DejaVu Sans Mono,monospace";
constexpr double usual_column = 0.52;   ///< of a text's size, a character on average
constexpr double widest_column = 0.61;

/// At most two decimals, none where they are zero.
std::string number(double value) {
  std::string text = fmt::format("{:.2f}", value);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string attributes_text(const SvgWriter::Attributes& attributes) {
  std::string text;
  for (const auto& [name, value] : attributes) text += fmt::format(" {}=\"{}\"", name, escape_xml(value));
  return text;
}

}  // namespace

std::string escape_xml(std::string_view text) {
  std::string result;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

void SvgWriter::rect(double x, double y, double width, double height, std::string_view fill,
                     const Attributes& attributes, std::string_view title) {
  body_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"{}", number(x), number(y),
                       number(width), number(height), fill, attributes_text(attributes));
  body_ += title.empty() ? std::string("/>\n") : fmt::format("><title>{}</title></rect>\n", escape_xml(title));
}

void SvgWriter::band(const Band& band, std::string_view fill, const Attributes& attributes, std::string_view title) {
  body_ += fmt::format("<polygon points=\"{},{} {},{} {},{} {},{}\" fill=\"{}\"{}", number(band.x1), number(band.y1),
                       number(band.x2), number(band.y1), number(band.x4), number(band.y2), number(band.x3),
                       number(band.y2), fill, attributes_text(attributes));
  body_ += title.empty() ? std::string("/>\n") : fmt::format("><title>{}</title></polygon>\n", escape_xml(title));
}

void SvgWriter::line(double x1, double y1, double x2, double y2, std::string_view colour, double width,
                     std::string_view dashes) {
  body_ += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"{}\" stroke-width=\"{}\"", number(x1),
                       number(y1), number(x2), number(y2), colour, number(width));
  if (!dashes.empty()) body_ += fmt::format(" stroke-dasharray=\"{}\"", dashes);
  body_ += "/>\n";
}

void SvgWriter::span(double x1, double x2, double y, std::string_view colour) {
  body_ += fmt::format(
      "<path d=\"M{0},{2} H{1} M{3},{4} L{0},{2} L{3},{5} M{6},{4} L{1},{2} L{6},{5}\" fill=\"none\" "
      "stroke=\"{7}\"/>\n",
      number(x1), number(x2), number(y), number(x1 + 4), number(y - 3), number(y + 3), number(x2 - 4), colour);
}

void SvgWriter::text(double x, double y, std::string_view text, const TextStyle& style) {
  static constexpr const char* anchors[] = {"start", "middle", "end"};
  body_ += fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\"", number(x), number(y), number(style.size),
                       style.colour);
  if (style.anchor != TextAnchor::start)
    body_ += fmt::format(" text-anchor=\"{}\"", anchors[static_cast<int>(style.anchor)]);
  if (style.bold) body_ += " font-weight=\"bold\"";
  if (style.monospace) body_ += fmt::format(" font-family=\"{}\"", mono);
  if (style.upwards) body_ += fmt::format(" transform=\"rotate(-90 {} {})\"", number(x), number(y));
  body_ += fmt::format(">{}</text>\n", escape_xml(text));
}

double SvgWriter::paragraph(double x, double y, double width, std::string_view text, const TextStyle& style) {
  const auto columns = static_cast<std::size_t>(width / widest_column / style.size);
  const std::vector<std::string> lines = wrap(printable(text), columns);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) y += std::round(1.3 * style.size);
    this->text(x, y, lines[i], style);
  }
  return y;
}

double SvgWriter::legend(double x, double y, double width,
                         const std::vector<std::pair<std::string, std::string>>& swatches) {
  constexpr double swatch = 22, gap = 18, height = 12, size = 11;
  double left = x;
  for (const auto& [fill, words] : swatches) {
    if (left > x && left + swatch + widest_text(words, size) > x + width) {
      left = x;
      y += height + 6;
    }
    rect(left, y, 16, height, fill, {{"stroke", "#444444"}});
    text(left + swatch, y + 10, words, {.size = size});
    left += swatch + text_width(words, size) + gap;
  }
  return y + height;
}

void SvgWriter::hatch(std::string_view id, std::string_view colour, std::string_view background) {
  body_ += fmt::format(
      "<defs><pattern id=\"{}\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">"
      "<rect width=\"6\" height=\"6\" fill=\"{}\"/><path d=\"M-1,1 l2,-2 M0,6 l6,-6 M5,7 l2,-2\" "
      "stroke=\"{}\"/></pattern></defs>\n",
      id, background, colour);
}

std::string SvgWriter::finish(int width, double unit_width, double unit_height, std::string_view title,
                              std::string_view description) const {
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" viewBox=\"0 0 {} {}\" font-family=\"{}\">\n"
      "<title>{}</title>\n<desc>{}</desc>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{}</svg>\n",
      width, static_cast<int>(std::lround(unit_height * width / unit_width)), number(unit_width), number(unit_height),
      sans, escape_xml(title), escape_xml(description), body_);
}

double text_width(std::string_view text, double size) {
  return usual_column * size * static_cast<double>(display_width(text));
}

double widest_text(std::string_view text, double size) {
  return widest_column * size * static_cast<double>(display_width(text));
}

}  // namespace hybridkv
