#include "tests/report/drawn_text.h"

#include <pugixml.hpp>
#include <sstream>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "report/plot/svg.h"

namespace hybridkv::testing {

namespace {

pugi::xml_document read_svg(const std::string& svg) {
  pugi::xml_document document;
  if (!document.load_buffer(svg.data(), svg.size())) throw std::runtime_error("no well-formed picture");
  return document;
}

/// Where a text of that width begins and ends.
std::pair<double, double> from_to(const pugi::xml_node& text, double width) {
  const std::string anchor = text.attribute("text-anchor").value();
  const double x = text.attribute("x").as_double();
  const double left = anchor == "end" ? x - width : anchor == "middle" ? x - width / 2 : x;
  return {left, left + width};
}

}  // namespace

std::vector<DrawnText> read_texts(const std::string& svg) {
  const pugi::xml_document document = read_svg(svg);
  std::vector<DrawnText> texts;
  for (const pugi::xml_node& node : document.child("svg").children("text")) {
    if (node.attribute("transform")) continue;
    DrawnText text{.words = node.text().get()};
    const double size = node.attribute("font-size").as_double();
    std::tie(text.left, text.right) = from_to(node, text_width(text.words, size));
    text.bottom = node.attribute("y").as_double();
    text.top = text.bottom - 0.7 * size;
    texts.push_back(text);
  }
  return texts;
}

std::vector<std::string> struck_texts(const std::string& svg) {
  const pugi::xml_document document = read_svg(svg);
  std::vector<std::string> struck;
  const std::vector<DrawnText> texts = read_texts(svg);
  for (const pugi::xml_node& line : document.child("svg").children("line")) {
    const double x = line.attribute("x1").as_double();
    if (x != line.attribute("x2").as_double()) continue;
    for (const DrawnText& text : texts)
      if (x > text.left && x < text.right && line.attribute("y1").as_double() < text.bottom &&
          line.attribute("y2").as_double() > text.top)
        struck.push_back(text.words);
  }
  return struck;
}

std::vector<std::string> covered_texts(const std::string& svg) {
  std::vector<std::string> covered;
  const std::vector<DrawnText> texts = read_texts(svg);
  for (std::size_t i = 0; i < texts.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (texts[i].left < texts[k].right && texts[k].left < texts[i].right && texts[i].top < texts[k].bottom &&
          texts[k].top < texts[i].bottom)
        covered.push_back(texts[i].words + " | " + texts[k].words);
  return covered;
}

std::vector<std::string> outside_texts(const std::string& svg) {
  const pugi::xml_document document = read_svg(svg);
  double x = 0, y = 0, width = 0, height = 0;
  std::istringstream(document.child("svg").attribute("viewBox").value()) >> x >> y >> width >> height;
  std::vector<std::string> outside;
  for (const pugi::xml_node& node : document.child("svg").children("text")) {
    if (node.attribute("transform")) continue;
    const std::string words = node.text().get();
    const auto [left, right] = from_to(node, widest_text(words, node.attribute("font-size").as_double()));
    if (left < x || right > x + width || node.attribute("y").as_double() > y + height) outside.push_back(words);
  }
  return outside;
}

}  // namespace hybridkv::testing
