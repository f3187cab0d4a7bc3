#include "report/plot/plot_names.h"

#include <string_view>

#include "report/plot/svg.h"

namespace hybridkv {

namespace {

/// Replaces what stands between the next `open` and `close` from `at` on, where there are any; moves behind it.
void replace_next(std::string& text, std::size_t& at, std::string_view open, std::string_view close,
                  const std::string& with) {
  const std::size_t begin = text.find(open, at);
  if (begin == std::string::npos) return;
  const std::size_t inside = begin + open.size();
  const std::size_t end = text.find(close, inside);
  if (end == std::string::npos) return;
  text.replace(inside, end - inside, with);
  at = inside + with.size() + close.size();
}

std::string name_of(const PlotPanel& panel, const PlotSeries& series) {
  return series.title.empty() ? panel.title : panel.title + ": " + series.title;
}

}  // namespace

std::string with_names(const Plot& plot, const std::string& svg) {
  std::string text = svg;
  std::size_t at = 0;
  replace_next(text, at, "<svg", "width", " role=\"img\"\n ");
  replace_next(text, at, "<title>", "</title>", escape_xml(plot.title + ", " + plot.subtitle));
  replace_next(text, at, "<desc>", "</desc>", escape_xml(plot.caption));
  for (const PlotPanel& panel : plot.panels)
    for (const PlotSeries& series : panel.series)
      replace_next(text, at, "<title>", "</title>", escape_xml(name_of(panel, series)));
  return text;
}

}  // namespace hybridkv
