#include "ask/plot/picture_style.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "base/error.h"
#include "scenarios/key_table.h"
#include "scenarios/yaml_tree.h"

namespace hybridkv {

namespace {

constexpr double least_text = 0.7, most_text = 1.4;  // letters of other sizes do not fit their places
// Both columns of a paper. In one of them letters would have 4 points: everything shrinks with the width.
constexpr double narrowest_mm = 120, widest_mm = 2600;

bool is_colour(std::string_view text) {
  return text.size() == 7 && text[0] == '#' && std::all_of(text.begin() + 1, text.end(), [](unsigned char c) {
           return std::isxdigit(c) != 0;
         });
}

/// Letters, digits, blanks and hyphens: what names of fonts have, and gnuplot and SVG take as they are.
bool is_font(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == ' ' || c == '-';
  });
}

void check_colours(const std::string& key, const YamlNode& node, const std::vector<std::string>& colours) {
  const YamlNode* const list = node.find(key);
  for (std::size_t i = 0; i < colours.size(); ++i)
    if (!is_colour(colours[i]))
      throw error_at(list->kind == YamlNode::Kind::list ? list->items[i].place : list->place,
                     fmt::format("{}: {} is no colour; write it in quotes like \"#0072B2\"", key,
                                 in_quotes(colours[i])));
}

void check_style(const std::string&, const YamlNode& node, PictureStyle& style) {
  if (const YamlNode* const font = node.find("font"); font && !is_font(style.font))
    throw error_at(font->place, fmt::format("font: {} is no name of a font; write one like Times New Roman",
                                            in_quotes(style.font)));
  if (const YamlNode* const text = node.find("text"); text && !(style.text >= least_text && style.text <= most_text))
    throw error_at(text->place, fmt::format("text: {} is no size of letters; allowed: {} to {}", style.text, least_text,
                                            most_text));
  if (const YamlNode* const width = node.find("width_mm");
      width && !(*style.width_mm >= narrowest_mm && *style.width_mm <= widest_mm))
    throw error_at(width->place, fmt::format("width_mm: {} leaves no letters that can be read; allowed: {} to {}",
                                             *style.width_mm, narrowest_mm, widest_mm));
  check_colours("lines", node, style.line_colours);
  check_colours("fills", node, style.fill_colours);
}

const Section<PictureStyle>& style_keys() {
  static const Section<PictureStyle> section = [] {
    Section<PictureStyle> keys("style", "how pictures look");
    const auto key = [](const char* name, const char* doc) {
      KeyInfo info;
      info.name = name;
      info.doc = doc;
      return info;
    };
    keys.text(key("font", "a font that gnuplot finds"), &PictureStyle::font)
        .number(key("text", "size of letters beside the usual one, 0.7 to 1.4"), &PictureStyle::text)
        .number(key("width_mm", "width of a picture in millimetres"), &PictureStyle::width_mm)
        .texts(key("lines", "colours of curves"), &PictureStyle::line_colours)
        .texts(key("fills", "colours of stacked bars and areas"), &PictureStyle::fill_colours)
        .check(check_style);
    return keys;
  }();
  return section;
}

}  // namespace

PictureStyle read_picture_style(const std::string& file) {
  const FileText content = read_text_file(file);
  if (!content.problem.empty()) throw InputError(fmt::format("{}: {}", file, content.problem));
  ReadContext context;
  PictureStyle style;
  style_keys().read(context, "", parse_yaml(content.text, {file}), style);
  return style;
}

}  // namespace hybridkv
