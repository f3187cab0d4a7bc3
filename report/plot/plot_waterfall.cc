#include "report/plot/plot_waterfall.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "report/field.h"
#include "report/human.h"
#include "report/plot/plot_layouts.h"
#include "report/plot/svg.h"
#include "report/replay/loss_report.h"
#include "report/replay/replay_text.h"

namespace hybridkv {

namespace {

/// One bar: what is left after it begins where the bar begins, except of the two whole ones.
struct WaterfallBar {
  std::string name;   ///< "state_evicted"
  std::string title;
  std::int64_t from = 0, to = 0;  ///< tokens
  const char* fill = "";
};

std::vector<WaterfallBar> bars_of(const ReuseLoss& loss) {
  constexpr const char *whole = "#66AAD1", *step = "#E69E66", *found = "#7FC9A8";
  std::vector<WaterfallBar> bars{
      {"token_exact", "token by token, endless memory", 0, loss.token_exact_tokens, whole}};
  std::int64_t left = loss.token_exact_tokens;
  for (const auto& [cause, name] : loss_cause_names) {
    bars.push_back({std::string(name), std::string(loss_title(cause)), left - loss.of(cause), left, step});
    left -= loss.of(cause);
  }
  bars.push_back({"found", "found", 0, loss.found_tokens, found});
  return bars;
}

class WaterfallPainter {
 public:
  WaterfallPainter(std::string title, std::string subtitle, const LossStats& losses)
      : title_(std::move(title)),
        subtitle_(std::move(subtitle)),
        bars_(bars_of(losses.total)),
        prompt_tokens_(losses.prompt_tokens) {}

  std::string paint(int width) const {
    SvgWriter svg;
    double y = svg.paragraph(margin, 28, canvas - 2 * margin, title_, {.size = 17}) + 20;
    y = svg.paragraph(margin, y, canvas - 2 * margin, subtitle_, {.size = 12, .colour = grey}) + 18;
    double names = 0;
    for (const WaterfallBar& bar : bars_) names = std::max(names, widest_text(bar.title, name_size));
    const double left = margin + names + 12;
    const double most = static_cast<double>(std::max<std::int64_t>(1, bars_.front().to));
    const auto x_of = [&](std::int64_t tokens) {
      return left + static_cast<double>(tokens) / most * (canvas - margin - totals - left);
    };
    for (std::size_t i = 0; i < bars_.size(); ++i, y += row) {
      const WaterfallBar& bar = bars_[i];
      svg.text(left - 10, y + 14, bar.title, {.size = name_size, .anchor = TextAnchor::end});
      svg.rect(x_of(bar.from), y, x_of(bar.to) - x_of(bar.from), height, bar.fill,
               {{"class", "bar"},
                {"data-cause", bar.name},
                {"data-tokens", std::to_string(bar.to - bar.from)},
                {"stroke", "#444444"},
                {"stroke-width", "0.5"}},
               fmt::format("{}: {} tokens", bar.title, human_count(bar.to - bar.from)));
      svg.text(x_of(bar.to) + 8, y + 14, label(bar), {.size = 11});
      // What a step leaves is where the next bar ends.
      const double end = x_of(i == 0 ? bar.to : bar.from);
      if (i + 1 < bars_.size()) svg.line(end, y + height, end, y + row, grey, 0.8, "3,2");
    }
    return svg.finish(width, canvas, y + 10, title_, "One bar a cause, to scale in tokens.");
  }

 private:
  static constexpr double canvas = 830, margin = 24, name_size = 12, height = 20, row = 28, totals = 150;
  static constexpr const char* grey = "#666666";

  std::string label(const WaterfallBar& bar) const {
    const std::int64_t tokens = bar.to - bar.from;
    const double share =
        prompt_tokens_ == 0 ? 0 : 100 * static_cast<double>(tokens) / static_cast<double>(prompt_tokens_);
    return fmt::format("{:.2f} %, {}", share, human_count(tokens));
  }

  std::string title_, subtitle_;
  std::vector<WaterfallBar> bars_;
  std::int64_t prompt_tokens_;
};

}  // namespace

std::vector<Plot> plot_waterfalls(const PlotInputs& inputs, const Waterfalls& values) {
  std::vector<Plot> plots;
  for (std::size_t i = 0; i < inputs.set.plans.size(); ++i) {
    const CachePlan& plan = inputs.set.plans[i];
    const LossStats& losses = values.plans[i];
    const std::vector<Field<WaterfallBar>> fields{
        {{"cause"}, &WaterfallBar::name},
        {{"tokens"}, [](const WaterfallBar& bar) { return bar.to - bar.from; }},
        {{"percent"}, [&](const WaterfallBar& bar) { return percent_of(bar.to - bar.from, losses.prompt_tokens); }}};
    Plot plot{.name = fmt::format("waterfall-n{}", plan.attention_pack_size),
              .title = fmt::format("Where the tokens went, {}", layout_title(plan)),
              .subtitle = plot_subtitle(inputs.set),
              .caption = fmt::format("{}; shares of their prompt tokens. A token is booked to the first cause, from "
                                     "above, that leaves no place to resume from behind it.",
                                     replay_caption(values.trace, inputs.simulate.driver)),
              .pack = plan.attention_pack_size};
    plot.tables.push_back({"", table_of(fields, bars_of(losses.total))});
    plot.svg = [painter = WaterfallPainter(plot.title, plot.subtitle, losses)](int width) {
      return painter.paint(width);
    };
    plots.push_back(std::move(plot));
  }
  return plots;
}

}  // namespace hybridkv
