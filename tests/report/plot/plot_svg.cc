#include "tests/report/plot/plot_svg.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <pugixml.hpp>
#include <stdexcept>

namespace hybridkv::testing {

namespace {

std::vector<double> numbers_in(const std::string& text) {
  std::vector<double> numbers;
  for (const char* at = text.c_str(); *at != '\0';) {
    char* end = nullptr;
    const double number = std::strtod(at, &end);
    if (end == at) {
      ++at;
    } else {
      numbers.push_back(number);
      at = end;
    }
  }
  return numbers;
}

std::vector<Pixel> pixels_in(const std::string& text) {
  const std::vector<double> numbers = numbers_in(text);
  std::vector<Pixel> pixels;
  for (std::size_t i = 0; i + 1 < numbers.size(); i += 2) pixels.push_back({numbers[i], numbers[i + 1]});
  return pixels;
}

/// "16,384" -> 16384.
double number_of(std::string label) {
  label.erase(std::remove(label.begin(), label.end(), ','), label.end());
  char* end = nullptr;
  const double number = std::strtod(label.c_str(), &end);
  if (label.empty() || *end != '\0') throw std::runtime_error("a tick is labelled '" + label + "'");
  return number;
}

std::string text_of(const pugi::xml_node& node) {
  std::string text;
  for (const pugi::xml_node& child : node.children())
    text += child.type() == pugi::node_pcdata ? std::string(child.value()) : text_of(child);
  return text;
}

void walk(const pugi::xml_node& node, const std::function<void(const pugi::xml_node&)>& visit) {
  visit(node);
  for (const pugi::xml_node& child : node.children()) walk(child, visit);
}

bool same(double a, double b) { return std::abs(a - b) < 0.05; }

DrawnSeries read_series(const pugi::xml_node& group, const DrawnPanel& panel) {
  DrawnSeries series;
  series.name = group.child("title").text().get();
  const auto inside = [&](const Pixel& pixel) { return pixel.x < panel.right + 1; };
  walk(group, [&](const pugi::xml_node& node) {
    const std::string name = node.name();
    if (name == "text") {
      series.legend = text_of(node);
      const std::vector<Pixel> at = pixels_in(node.parent().attribute("transform").value());
      if (!at.empty()) series.legend_at = at.front();
    }
    if (name == "path")
      for (const Pixel& pixel : pixels_in(node.attribute("d").value()))
        if (inside(pixel)) series.line.push_back(pixel);
    if (name == "use") {
      const std::vector<Pixel> at = pixels_in(node.attribute("transform").value());
      if (!at.empty() && inside(at.front())) series.marks.push_back(at.front());
    }
    if (name == "polygon") {
      std::vector<Pixel> corners = pixels_in(node.attribute("points").value());
      if (std::all_of(corners.begin(), corners.end(), inside)) series.polygons.push_back(std::move(corners));
    }
  });
  return series;
}

/// The lines left and below of a panel: down, then right.
bool read_frame(const pugi::xml_node& path, DrawnPanel& panel) {
  const std::vector<Pixel> at = pixels_in(path.attribute("d").value());
  if (at.size() < 5 || !same(at[0].x, at[1].x) || !same(at[1].y, at[2].y) || !same(at[4].x, at[0].x)) return false;
  panel.left = at[0].x;
  panel.top = at[0].y;
  panel.bottom = at[1].y;
  panel.right = at[2].x;
  return panel.bottom > panel.top && panel.right > panel.left;
}

}  // namespace

Pixel DrawnPanel::pixel_of(double x, double y, bool logarithmic_x, bool logarithmic_y) const {
  const auto along = [](const std::vector<DrawnTick>& ticks, double value, bool logarithmic) {
    if (ticks.size() < 2) throw std::runtime_error("an axis has fewer than two ticks");
    const auto place = [&](double at) { return logarithmic ? std::log2(at) : at; };
    const double share =
        (place(value) - place(ticks.front().value)) / (place(ticks.back().value) - place(ticks.front().value));
    return ticks.front().pixel + share * (ticks.back().pixel - ticks.front().pixel);
  };
  return {along(x_ticks, x, logarithmic_x), along(y_ticks, y, logarithmic_y)};
}

bool DrawnPlot::says(const std::string& text) const {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

DrawnPlot read_plot_svg(const std::string& svg) {
  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load_buffer(svg.data(), svg.size());
  if (!parsed) throw std::runtime_error(std::string("no well-formed XML: ") + parsed.description());
  const pugi::xml_node root = document.child("svg");
  DrawnPlot plot;
  plot.width = root.attribute("width").as_double();
  plot.height = root.attribute("height").as_double();
  plot.title = root.child("title").text().get();
  plot.description = root.child("desc").text().get();
  walk(root, [&](const pugi::xml_node& node) {
    DrawnPanel panel;
    if (std::string(node.name()) == "text") plot.texts.push_back(text_of(node));
    if (const std::string fonts = node.attribute("font-family").value(); !fonts.empty()) {
      if (!plot.fonts.empty() && plot.fonts != fonts) throw std::runtime_error("several fonts in one picture");
      plot.fonts = fonts;
    }
    if (std::string(node.name()) != "path" || !read_frame(node, panel)) return;
    if (plot.panels.empty() || !same(plot.panels.back().top, panel.top) || !same(plot.panels.back().left, panel.left))
      plot.panels.push_back(panel);
  });
  std::size_t begun = 0;  // panels whose first series was seen; numbers begin again in each
  walk(root, [&](const pugi::xml_node& node) {
    const std::string id = node.attribute("id").value();
    if (const std::size_t at = id.find("_plot_"); at != std::string::npos) {
      if (std::atoi(id.c_str() + at + 6) == 1) ++begun;
      DrawnPanel& panel = plot.panels.at(begun - 1);
      panel.series.push_back(read_series(node, panel));
    }
    const pugi::xml_node label = node.next_sibling("g").child("text");
    if (std::string(node.name()) != "path" || !label) return;
    const std::vector<Pixel> ends = pixels_in(node.attribute("d").value());
    if (ends.size() != 2) return;
    for (DrawnPanel& panel : plot.panels) {
      const bool on_left = same(ends[0].x, panel.left) && same(ends[0].y, ends[1].y) && ends[1].x < ends[0].x &&
                           ends[0].y > panel.top - 1 && ends[0].y < panel.bottom + 1;
      const bool below = same(ends[0].y, panel.bottom) && same(ends[0].x, ends[1].x) && ends[1].y > ends[0].y &&
                         ends[0].x > panel.left - 1 && ends[0].x < panel.right + 1;
      if (on_left) panel.y_ticks.push_back({ends[0].y, number_of(text_of(label))});
      if (below) panel.x_ticks.push_back({ends[0].x, number_of(text_of(label))});
    }
  });
  return plot;
}

}  // namespace hybridkv::testing
