#include "report/transfer/transfer_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/field.h"
#include "report/human.h"
#include "report/plot/bar_scale.h"
#include "report/plot/page_fills.h"
#include "report/plot/svg.h"

namespace hybridkv {

namespace {

constexpr double picture_width = 830;
constexpr double picture_margin = 24;
constexpr double full_bar = picture_width - 2 * picture_margin;
constexpr double page_height = 30;
constexpr double gap_height = 90;        ///< between two pages, for the bands
constexpr double shortest_bar = 60;
constexpr std::size_t enlarged_runs = 6;
constexpr const char* quiet_colour = "#666666";
constexpr const char* run_opacity = "0.5";

/// Neighbouring runs that are drawn as one.
struct DrawnRuns {
  ByteExtent from;
  ByteExtent to;
  std::int64_t runs = 1;
};

std::string title_of(const DrawnRuns& drawn) {
  const auto bytes = [](const ByteExtent& extent) {
    return fmt::format("{} to {}", human_count(extent.begin), human_count(extent.end));
  };
  return fmt::format("{}: bytes {} of the source's page to bytes {} of the destination's",
                     human_plural(drawn.runs, "descriptor"), bytes(drawn.from), bytes(drawn.to));
}

SvgWriter::Attributes data_of(const DrawnRuns& drawn, const char* css_class) {
  return {{"class", css_class},
          {"data-from-begin", std::to_string(drawn.from.begin)},
          {"data-from-end", std::to_string(drawn.from.end)},
          {"data-to-begin", std::to_string(drawn.to.begin)},
          {"data-to-end", std::to_string(drawn.to.end)},
          {"data-runs", std::to_string(drawn.runs)},
          {"fill-opacity", run_opacity}};
}

/// Draws the pages of every kind of layers.
class TransferPainter {
 public:
  TransferPainter(const TransferAnswer& answer, const std::vector<TransferPages>& pages)
      : answer_(answer), pages_(pages) {}

  std::string paint(int width) {
    svg_.hatch("padding", "#C0C0C0", "#F4F4F4");
    y_ = svg_.paragraph(picture_margin, 28, full_bar, title(), {.size = 17}) + 20;
    y_ = 4 + svg_.paragraph(
                 picture_margin, y_, full_bar,
                 "Pages of both sides, to scale; a band is what one descriptor copies from one to the other.",
                 {.size = 12, .colour = quiet_colour});
    for (const bool is_by_token : {true, false})
      for (const TransferPages& pages : pages_)
        if (is_by_token == spec_of(from_plan(pages), pages.from).attention.has_value()) draw(pages);
    legend();
    return svg_.finish(width, picture_width, y_, title(),
                       "A page of the source above one of the destination, with what is copied between them.");
  }

 private:
  std::string title() const {
    return fmt::format("Transfer: {}, {} from {} to {}", answer_.model,
                       human_plural(answer_.request.tokens, "token"),
                       human_plural(answer_.map->from().num_ranks(), "rank"),
                       human_plural(answer_.map->to().num_ranks(), "rank"));
  }

  const CachePlan& from_plan(const TransferPages& pages) const { return answer_.map->from().plan_of(pages.from.rank); }
  const CachePlan& to_plan(const TransferPages& pages) const { return answer_.map->to().plan_of(pages.to.rank); }

  static const SpecPlan& spec_of(const CachePlan& plan, const TransferPage& page) {
    return plan.spec_of(plan.groups[static_cast<std::size_t>(page.strip.group)]);
  }

  static std::string page_text(const char* side, const CachePlan& plan, const TransferPage& page) {
    const SpecPlan& spec = spec_of(plan, page);
    std::string text = fmt::format("{} rank {}, id {}: layer{} {}, {}", side, page.rank, human_count(page.id),
                                   page.layers.size() == 1 ? "" : "s", human_list(page.layers),
                                   exact_bytes(page.page_bytes));
    if (spec.attention) text += fmt::format(", {} tokens", human_count(spec.block_size_tokens));
    if (page.strip.runs > 1) text += fmt::format("; in {} runs, one a head", page.strip.runs);
    return text;
  }

  /// How wide the bars of two pages are: of one scale, unless one would be too short.
  static std::pair<double, double> widths_of(const TransferPages& pages) {
    const double from = static_cast<double>(pages.from.page_bytes), to = static_cast<double>(pages.to.page_bytes);
    const double longest = std::max(from, to);
    const double shorter = full_bar * std::min(from, to) / longest;
    if (shorter < shortest_bar) return {full_bar, full_bar};
    return {full_bar * from / longest, full_bar * to / longest};
  }

  void draw(const TransferPages& pages) {
    y_ += 34;
    svg_.text(picture_margin, y_, fmt::format("{}{}", pages.role == SpecRole::draft ? "draft " : "", pages.kind),
              {.size = 13, .bold = true});
    const auto [from_width, to_width] = widths_of(pages);
    const BarScale from(pages.from.strip.parts, {0, pages.from.page_bytes}, picture_margin, from_width);
    const BarScale to(pages.to.strip.parts, {0, pages.to.page_bytes}, picture_margin, to_width);
    y_ += 18;
    y_ = svg_.paragraph(picture_margin, y_, full_bar, page_text("source:", from_plan(pages), pages.from), {.size = 11});
    y_ += 18;
    layer_names(from);
    parts(from_plan(pages), pages.from.strip, from, "from");
    y_ += page_height;
    const std::vector<DrawnRuns> drawn = drawn_runs(pages, from, to);
    for (const DrawnRuns& run : drawn) {
      const double left = from.x(run.from.begin), into = to.x(run.to.begin);
      svg_.band({left, std::max(left + 0.75, from.x(run.from.end)), y_, into, std::max(into + 0.75, to.x(run.to.end)),
                 y_ + gap_height},
                band_fill(pages, run.to.begin), data_of(run, "run"), title_of(run));
    }
    y_ += gap_height;
    parts(to_plan(pages), pages.to.strip, to, "to");
    y_ += page_height + 16;
    y_ = svg_.paragraph(picture_margin, y_, full_bar, page_text("destination:", to_plan(pages), pages.to),
                        {.size = 11});
    y_ += 16;
    y_ = svg_.paragraph(picture_margin, y_, full_bar, notes(pages, drawn, from, to),
                        {.size = 10.5, .colour = quiet_colour});
    if (drawn.size() < pages.runs.size()) enlarge(pages);
  }

  static std::string notes(const TransferPages& pages, const std::vector<DrawnRuns>& drawn, const BarScale& from,
                           const BarScale& to) {
    std::int64_t bytes = 0;
    for (const PageRun& run : pages.runs) bytes += run.from.end - run.from.begin;
    std::string text = fmt::format("{} between these pages, {}", human_plural(std::ssize(pages.runs), "descriptor"),
                                   human_bytes(bytes));
    if (drawn.size() < pages.runs.size()) text += fmt::format(", drawn as {}", human_plural(std::ssize(drawn), "band"));
    if (!from.to_scale() || !to.to_scale()) text += "; parts with a dashed edge are drawn wider than they are";
    if (widths_of(pages) == std::pair(full_bar, full_bar) && pages.from.page_bytes != pages.to.page_bytes)
      text += "; each page in a scale of its own";
    return text;
  }

  /// Runs that touch on the screen on both sides as one.
  std::vector<DrawnRuns> drawn_runs(const TransferPages& pages, const BarScale& from, const BarScale& to) const {
    constexpr double too_near = 1;
    std::vector<DrawnRuns> drawn;
    for (const PageRun& run : pages.runs) {
      if (!drawn.empty()) {
        DrawnRuns& last = drawn.back();
        const bool near = run.from.begin >= last.from.end &&
                          from.x(run.from.begin) - from.x(last.from.end) < too_near &&
                          to.x(run.to.begin) - to.x(last.to.end) < too_near &&
                          to.x(run.to.end) - to.x(run.to.begin) < 2 * too_near &&
                          band_fill(pages, last.to.begin) == band_fill(pages, run.to.begin);
        if (near) {
          last.from.end = run.from.end;
          last.to.end = run.to.end;
          ++last.runs;
          continue;
        }
      }
      drawn.push_back({run.from, run.to});
    }
    return drawn;
  }

  /// The colour of the part of the destination in which a run begins.
  std::string band_fill(const TransferPages& pages, std::int64_t byte) const {
    const std::vector<PagePart>& parts = pages.to.strip.parts;
    const auto part = std::find_if(parts.begin(), parts.end(), [&](const PagePart& one) {
      return byte >= one.bytes.begin && byte < one.bytes.end;
    });
    return part == parts.end() ? quiet_colour : fill_of(to_plan(pages), pages.to.strip, *part);
  }

  void parts(const CachePlan& plan, const PageStrip& strip, const BarScale& scale, const char* side) {
    for (std::size_t i = 0; i < scale.parts().size(); ++i) {
      const PagePart& part = *scale.parts()[i];
      SvgWriter::Attributes data{{"class", "part"},
                                 {"data-side", side},
                                 {"data-begin", std::to_string(part.bytes.begin)},
                                 {"data-end", std::to_string(part.bytes.end)},
                                 {"data-tensor", part.tensor}};
      if (part.layer) data.emplace_back("data-layer", std::to_string(*part.layer));
      if (scale.width(i) >= 3) data.emplace_back("stroke", "#444444");
      if (scale.is_widened(i)) data.emplace_back("stroke-dasharray", "2,2");
      const std::string fill = fill_of(plan, strip, part);
      fills_.emplace(fill, part.layer ? part_word(part) : "no tensor's: padding, never copied");
      svg_.rect(scale.left(i), y_, scale.width(i), page_height, fill, data, part_title(part));
      const std::string word = part_word(part);
      if (text_width(word, 11) + 4 <= scale.width(i))
        svg_.text((scale.left(i) + scale.right(i)) / 2, y_ + page_height / 2 + 4, word,
                  {.size = 11, .anchor = TextAnchor::middle});
    }
  }

  /// Above the bar, where there is room.
  void layer_names(const BarScale& scale) {
    const auto& parts = scale.parts();
    double free_from = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!parts[i]->layer || (i > 0 && parts[i - 1]->layer == parts[i]->layer)) continue;
      const std::string name = fmt::format("L{}", *parts[i]->layer);
      if (scale.left(i) < free_from) continue;
      svg_.text(scale.left(i), y_ - 4, name, {.size = 10, .colour = quiet_colour});
      free_from = scale.left(i) + text_width(name, 10) + 6;
    }
  }

  /// The first runs, and what lies between them, in bytes of one size.
  void enlarge(const TransferPages& pages) {
    const std::size_t count = std::min(enlarged_runs, pages.runs.size());
    ByteExtent from = pages.runs.front().from, to = pages.runs.front().to;
    for (std::size_t i = 0; i < count; ++i) {
      from = {std::min(from.begin, pages.runs[i].from.begin), std::max(from.end, pages.runs[i].from.end)};
      to = {std::min(to.begin, pages.runs[i].to.begin), std::max(to.end, pages.runs[i].to.end)};
    }
    const double pixels = full_bar / static_cast<double>(std::max(from.end - from.begin, to.end - to.begin));
    const auto place = [&](const ByteExtent& whole, std::int64_t byte) {
      return picture_margin + pixels * static_cast<double>(byte - whole.begin);
    };
    y_ += 24;
    svg_.text(picture_margin, y_, fmt::format("the first {} of them, enlarged", count), {.size = 11});
    y_ += 8;
    const double top = y_, bottom = y_ + page_height + gap_height / 2;
    svg_.rect(picture_margin, top, place(from, from.end) - picture_margin, page_height, "#EEEEEE");
    svg_.rect(picture_margin, bottom, place(to, to.end) - picture_margin, page_height, "#EEEEEE");
    for (std::size_t i = 0; i < count; ++i) {
      const PageRun& run = pages.runs[i];
      const DrawnRuns drawn{run.from, run.to};
      const std::string fill = band_fill(pages, run.to.begin);
      const double left = place(from, run.from.begin), right = place(from, run.from.end);
      const double into = place(to, run.to.begin), until = place(to, run.to.end);
      const SvgWriter::Attributes edge{{"stroke", "#444444"}};
      svg_.rect(left, top, right - left, page_height, fill, edge, title_of(drawn));
      svg_.rect(into, bottom, until - into, page_height, fill, edge, title_of(drawn));
      svg_.band({left, right, top + page_height, into, until, bottom}, fill, data_of(drawn, "detail"), title_of(drawn));
    }
    y_ = bottom + page_height;
  }

  void legend() {
    y_ = svg_.legend(picture_margin, y_ + 24, full_bar, {fills_.begin(), fills_.end()}) + 12;
  }

  const TransferAnswer& answer_;
  const std::vector<TransferPages>& pages_;
  SvgWriter svg_;
  std::map<std::string, std::string> fills_;  ///< of the parts so far, with what they are
  double y_ = 0;
};

/// One row per run of two pages.
Table run_table(const TransferAnswer& answer, const std::vector<TransferPages>& all) {
  struct Row {
    const TransferPages* pages;
    const PageRun* run;
  };
  std::vector<Row> rows;
  for (const TransferPages& pages : all)
    for (const PageRun& run : pages.runs) rows.push_back({&pages, &run});
  const auto content = [&](auto member) {
    return [&answer, member](const Row& row) {
      return answer.list.contents[static_cast<std::size_t>(row.run->content)].*member;
    };
  };
  return table_of<Row>({{{"kind"}, via(&Row::pages, &TransferPages::kind)},
                        {{"from_rank"}, [](const Row& row) { return row.pages->from.rank; }},
                        {{"from_id"}, [](const Row& row) { return row.pages->from.id; }},
                        {{"to_rank"}, [](const Row& row) { return row.pages->to.rank; }},
                        {{"to_id"}, [](const Row& row) { return row.pages->to.id; }},
                        {{"from_begin_byte"}, [](const Row& row) { return row.run->from.begin; }},
                        {{"from_end_byte"}, [](const Row& row) { return row.run->from.end; }},
                        {{"to_begin_byte"}, [](const Row& row) { return row.run->to.begin; }},
                        {{"to_end_byte"}, [](const Row& row) { return row.run->to.end; }},
                        {{"layer"}, content(&Content::layer)},
                        {{"tensor"}, content(&Content::tensor)}},
                       rows);
}

std::string side_subtitle(const TransferSideFacts& side) {
  return fmt::format("{}, {}, N = {}", human_plural(side.stages * side.tensor_parallel, "rank"), side.order,
                     side.engine.attention_pack_size);
}

}  // namespace

std::string transfer_pages_svg(const TransferAnswer& answer, const std::vector<TransferPages>& pages, int width) {
  return TransferPainter(answer, pages).paint(width);
}

Plot plot_transfer(const TransferAnswer& answer) {
  const std::vector<TransferPages> pages = transfer_pages(answer);
  Plot plot{.name = "transfer",
            .title = "Pages of both sides of a transfer",
            .subtitle = fmt::format("{}: {} to {}", answer.model, side_subtitle(answer.from), side_subtitle(answer.to)),
            .caption = "Pages that hold the first token of the request to move, with the runs between them, from the "
                       "list of copies."};
  plot.tables.push_back({"", run_table(answer, pages)});
  TransferAnswer kept{.model = answer.model, .map = answer.map, .request = answer.request};  // without its list
  plot.svg = [kept = std::move(kept), pages](int width) { return transfer_pages_svg(kept, pages, width); };
  return plot;
}

}  // namespace hybridkv
