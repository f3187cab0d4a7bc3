#include "report/plot/page_map_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "report/human.h"
#include "report/plot/bar_scale.h"
#include "report/plot/page_fills.h"
#include "report/plot/svg.h"

namespace hybridkv {

namespace {

constexpr double canvas_width = 830;
constexpr double page_margin = 24;
constexpr double bar_width = canvas_width - 2 * page_margin;
constexpr double bar_height = 46;
constexpr double overview_height = 26;
constexpr double row_height = 15;  ///< of offsets, dimension lines and lines of text
constexpr const char* ink = "#222222";
constexpr const char* grey = "#666666";

/// Draws the rows of one plan.
class PageMapPainter {
 public:
  /// Pre: the strips are of the plan, which is one of the set.
  PageMapPainter(const PlanSet& set, const CachePlan& plan, const std::vector<PageStrip>& strips)
      : set_(set), plan_(plan), strips_(strips) {}

  std::string paint(int width) {
    heading();
    std::vector<PageStrip> strips = strips_;
    std::stable_sort(strips.begin(), strips.end(), [&](const PageStrip& a, const PageStrip& b) {
      return spec_of(a).attention.has_value() && !spec_of(b).attention.has_value();
    });
    for (const PageStrip& strip : strips) draw(strip);
    legend();
    return svg_.finish(width, canvas_width, y_, title(), description());
  }

 private:
  const SpecPlan& spec_of(const PageStrip& strip) const {
    return plan_.specs[static_cast<std::size_t>(plan_.groups[static_cast<std::size_t>(strip.group)].spec)];
  }

  std::int64_t page_bytes(const PageStrip& strip) const {
    return plan_.page_bytes(plan_.groups[static_cast<std::size_t>(strip.group)]);
  }

  /// From one kernel block to the next.
  std::int64_t kernel_block_bytes(const PageStrip& strip) const {
    const ViewPlan& view = plan_.views[strip.views.front()];
    return view.bytes.stride("block");
  }

  std::string title() const {
    return fmt::format("Page map: {}, tensor parallel {}, N = {}", set_.model, set_.tensor_parallel,
                       plan_.attention_pack_size);
  }

  static std::string description() {
    return "One page of a pool as each kind of group sees it, drawn from the shapes, strides and offsets of the plan's "
           "views.";
  }

  void heading() {
    svg_.hatch("padding", "#C0C0C0", "#F4F4F4");
    y_ = svg_.paragraph(page_margin, 28, bar_width, title(), {.size = 17}) + 20;
    y_ = 4 + svg_.paragraph(
        page_margin, y_, bar_width,
        plan_.cache_order
            ? fmt::format("A page of each kind of group of one allocation in order {}, {} blocks of {} bytes. A block "
                          "id belongs to one group at a time, which sees the same bytes in its own way.",
                          to_string(*plan_.cache_order), human_count(plan_.arenas.front().num_ids),
                          human_count(plan_.arenas.front().bytes_per_id))
        : plan_.is_uniform()
            ? fmt::format(
                  "One of the {} pages of pool 0, {} bytes. A block id belongs to one group at a time, which sees "
                  "the same bytes in its own way.",
                  human_count(plan_.num_blocks()), human_count(plan_.page_bytes()))
            : std::string("A page of each pool as its group sees it: tokens and states have pools of their own."),
        {.size = 12, .colour = grey});
  }

  void draw(const PageStrip& strip) {
    y_ += 34;
    y_ = svg_.paragraph(page_margin, y_, bar_width, page_title(plan_, strip), {.size = 13, .bold = true});
    const BarScale whole(strip.parts, {0, page_bytes(strip)}, page_margin, bar_width);
    if (strip.kernel_blocks == 1) {
      draw_detail(strip, whole, "part");
    } else {
      draw_overview(strip, whole);
      const BarScale first(strip.parts, {0, kernel_block_bytes(strip)}, page_margin, bar_width);
      enlarge(whole, first.bytes());
      draw_detail(strip, first, "detail");
    }
    draw_layouts(strip);
  }

  void draw_parts(const PageStrip& strip, const BarScale& scale, double top, double height, const char* css_class) {
    for (std::size_t i = 0; i < scale.parts().size(); ++i) {
      const PagePart& part = *scale.parts()[i];
      SvgWriter::Attributes data{{"class", css_class},
                                 {"data-group", std::to_string(strip.group)},
                                 {"data-pool", std::to_string(strip.pool)},
                                 {"data-begin", std::to_string(part.bytes.begin)},
                                 {"data-end", std::to_string(part.bytes.end)},
                                 {"data-tensor", part.tensor}};
      if (part.layer) data.emplace_back("data-layer", std::to_string(*part.layer));
      if (!part.half.empty()) data.emplace_back("data-half", part.half);
      if (part.kernel_block) data.emplace_back("data-kernel-block", std::to_string(*part.kernel_block));
      if (scale.width(i) >= 3) data.emplace_back("stroke", "#444444");
      if (scale.is_widened(i)) data.emplace_back("stroke-dasharray", "2,2");
      const std::string fill = fill_of(plan_, strip, part);
      drawn_.insert(fill);
      svg_.rect(scale.left(i), top, scale.width(i), height, fill, data,
                part_title(part, is_short_pack(plan_, strip)));
    }
  }

  /// The whole page with its kernel blocks, without words inside.
  void draw_overview(const PageStrip& strip, const BarScale& scale) {
    y_ += 22;
    const std::int64_t bytes = kernel_block_bytes(strip);
    double free_from = 0;
    for (std::int64_t i = 0; i < strip.kernel_blocks; ++i) {
      const std::string label = i == 0 ? "kernel block 0" : std::to_string(i);
      const double left = scale.x(i * bytes);
      if (left < free_from) continue;
      svg_.text(left, y_ - 5, label, {.size = 10.5, .colour = grey});
      svg_.line(left, y_ - 3, left, y_, grey);
      free_from = left + text_width(label, 10.5) + 8;
    }
    draw_parts(strip, scale, y_, overview_height, "part");
    y_ += overview_height;
    scale_note(scale);
  }

  void enlarge(const BarScale& whole, ByteExtent bytes) {
    const double from = y_;
    y_ += 30;
    svg_.line(whole.x(bytes.begin), from, page_margin, y_ + 20, grey, 1, "4,3");
    svg_.line(whole.x(bytes.end), from, page_margin + bar_width, y_ + 20, grey, 1, "4,3");
    svg_.text(page_margin + bar_width, from + 16, "below: kernel block 0, enlarged",
              {.size = 10.5, .anchor = TextAnchor::end, .colour = grey});
  }

  void draw_detail(const PageStrip& strip, const BarScale& scale, const char* css_class) {
    y_ += 22;
    draw_layer_names(scale);
    draw_parts(strip, scale, y_, bar_height, css_class);
    draw_words(strip, scale);
    y_ += bar_height;
    draw_offsets(scale);
    if (std::string_view(css_class) == "part") scale_note(scale);
    draw_strides(strip, scale);
  }

  void scale_note(const BarScale& scale) {
    if (scale.to_scale()) return;
    y_ += row_height;
    svg_.text(page_margin + bar_width, y_ - 3, "parts with a dashed edge are drawn wider than they are",
              {.size = 10.5, .anchor = TextAnchor::end, .colour = grey});
  }

  /// A run of parts of one layer, from pixel to pixel.
  struct LayerRun {
    std::int64_t layer;
    double left;
    double right;
  };

  static std::vector<LayerRun> layer_runs(const BarScale& scale) {
    std::vector<LayerRun> runs;
    const auto& parts = scale.parts();
    for (std::size_t first = 0; first < parts.size();) {
      std::size_t last = first;
      while (last + 1 < parts.size() && parts[last + 1]->layer == parts[first]->layer) ++last;
      if (parts[first]->layer) runs.push_back({*parts[first]->layer, scale.left(first), scale.right(last)});
      first = last + 1;
    }
    return runs;
  }

  /// Can every so-manieth name stand above its run without touching the next?
  static bool names_fit(const std::vector<LayerRun>& runs, const char* prefix, std::size_t every) {
    double free_from = 0;
    for (std::size_t i = 0; i < runs.size(); i += every) {
      const double middle = (runs[i].left + runs[i].right) / 2;
      const double width = text_width(fmt::format("{}{}", prefix, runs[i].layer), 11);
      if (middle - width / 2 < free_from) return false;
      free_from = middle + width / 2 + 4;
    }
    return true;
  }

  /// The number of the layer above each run of parts that are its own; of every second, fifth … run where the names of
  /// all would not fit.
  void draw_layer_names(const BarScale& scale) {
    const std::vector<LayerRun> runs = layer_runs(scale);
    const char* prefix = names_fit(runs, "layer ", 1) ? "layer " : "L";
    std::size_t every = 1;
    for (const std::size_t step : {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000}) {
      every = step;
      if (names_fit(runs, prefix, step)) break;
    }
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const auto& [layer, left, right] = runs[i];
      svg_.line(left + 1, y_ - 3, std::max(left + 1.5, right - 1), y_ - 3, ink);
      if (i % every == 0)
        svg_.text((left + right) / 2, y_ - 7, fmt::format("{}{}", prefix, layer),
                  {.size = 11, .anchor = TextAnchor::middle});
    }
  }

  void draw_words(const PageStrip& strip, const BarScale& scale) {
    for (std::size_t i = 0; i < scale.parts().size(); ++i) {
      const std::string word = part_word(*scale.parts()[i], is_short_pack(plan_, strip));
      const double middle = (scale.left(i) + scale.right(i)) / 2;
      if (text_width(word, 12) + 4 <= scale.width(i))
        svg_.text(middle, y_ + bar_height / 2 + 4, word, {.size = 12, .anchor = TextAnchor::middle});
      else if (scale.width(i) >= 9.5 && text_width(word, 10) <= bar_height)
        svg_.text(middle + 3.5, y_ + bar_height / 2, word, {.size = 10, .anchor = TextAnchor::middle, .upwards = true});
    }
  }

  /// The label of a byte below a bar: which row it stands in, and from where to where.
  struct OffsetLabel {
    double tick;
    double left, right;
    std::size_t row;
    std::string text;
    TextAnchor anchor;
  };

  /// Is there room for the label in its row, with no tick of another struck through it, nor its own through another?
  static bool has_room(const OffsetLabel& label, const std::vector<OffsetLabel>& placed) {
    return std::none_of(placed.begin(), placed.end(), [&](const OffsetLabel& other) {
      const auto strikes = [](const OffsetLabel& line, const OffsetLabel& text) {
        return line.row > text.row && line.tick > text.left - 1.5 && line.tick < text.right + 1.5;
      };
      const bool touch = label.row == other.row && label.left < other.right + 8 && other.left < label.right + 8;
      return touch || strikes(label, other) || strikes(other, label);
    });
  }

  /// The first byte of every part and the end of the last, in up to three rows; what finds no room has a short tick,
  /// and its number in the title of the part. Where there are many, only layers' first bytes are tried.
  void draw_offsets(const BarScale& scale) {
    constexpr std::size_t many = 24;
    constexpr std::size_t most_rows = 3;
    const auto& parts = scale.parts();
    std::vector<OffsetLabel> placed;
    const auto place = [&](double x, const std::string& text, TextAnchor anchor, std::size_t rows) {
      const double width = text_width(text, 10.5);
      const double left = anchor == TextAnchor::start ? x : anchor == TextAnchor::end ? x - width : x - width / 2;
      for (std::size_t row = 0; row < rows; ++row) {
        const OffsetLabel label{x, left, left + width, row, text, anchor};
        if (!has_room(label, placed)) continue;
        placed.push_back(label);
        return true;
      }
      return false;
    };
    const double end = page_margin + bar_width;
    const auto place_end = [&](std::size_t rows) {
      place(end, human_count(scale.bytes().end) + " bytes", TextAnchor::end, rows);
    };
    if (parts.size() > many) place_end(1);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const double x = scale.left(i);
      const bool begins_layer = i == 0 || parts[i]->layer != parts[i - 1]->layer;
      const std::string text = human_count(parts[i]->bytes.begin);
      // A label that would reach beyond the page ends or begins at its tick.
      const double half = text_width(text, 10.5) / 2;
      const TextAnchor anchor = x - half < page_margin ? TextAnchor::start
                                : x + half > end  ? TextAnchor::end
                                                  : TextAnchor::middle;
      const bool tried = parts.size() <= many || begins_layer;
      if (!tried || !place(x, text, anchor, parts.size() <= many ? most_rows : 1)) svg_.line(x, y_, x, y_ + 3, grey);
    }
    if (parts.size() <= many) place_end(most_rows + 1);
    std::size_t rows = 1;
    for (const OffsetLabel& label : placed) {
      const double baseline = y_ + 14 + row_height * static_cast<double>(label.row);
      svg_.line(label.tick, y_, label.tick, baseline - 9, grey);
      svg_.text(label.tick, baseline, label.text, {.size = 10.5, .anchor = label.anchor});
      rows = std::max(rows, label.row + 1);
    }
    y_ += 4 + row_height * static_cast<double>(rows);
  }

  /// One dimension line per stride and offset that is long enough; the others in words.
  void draw_strides(const PageStrip& strip, const BarScale& scale) {
    const ViewPlan& view = plan_.views[strip.views.back()];
    const ViewPlan& first = plan_.views[strip.views.front()];
    const std::int64_t element = element_bytes(view.dtype);
    const bool is_state = spec_of(strip).state.has_value();
    const std::int64_t start = is_state ? view.bytes.offset() - strip.front : 0;
    const Layout layout = is_state ? view.elements() : first.elements();
    std::string too_short;
    for (const Axis& axis : layout.axes()) {
      if (axis.extent == 1) continue;
      const std::int64_t from = axis.name == AxisName("block") ? 0 : start;
      const std::string label = fmt::format("{} stride {} = {}", axis.name.view(), human_plural(axis.stride, "element"),
                                            human_plural(axis.stride * element, "byte"));
      const bool apart = strip.runs > 1 && axis.name == AxisName("head");  // drawn nearer than they lie
      if (axis.name == AxisName("channel") || apart || from + axis.stride * element > scale.bytes().end ||
          scale.x(from + axis.stride * element) - scale.x(from) < 12)
        too_short += (too_short.empty() ? "" : "; ") + label;
      else
        dimension(scale.x(from), scale.x(from + axis.stride * element), label);
    }
    if (strip.views.size() > 1) {
      const ViewPlan& second = plan_.views[strip.views[1]];
      const std::int64_t offset = second.bytes.offset() - strip.front;
      dimension(scale.x(0), scale.x(offset),
                fmt::format("offset of {}: {} = {}", is_state ? second.tensor : fmt::format("layer {}", second.layer),
                            human_plural(offset / element_bytes(second.dtype), "element"),
                            human_plural(offset, "byte")));
    }
    if (too_short.empty()) return;
    y_ += row_height;
    y_ = svg_.paragraph(page_margin, y_, bar_width, too_short, {.size = 10.5, .colour = grey});
  }

  void dimension(double from, double to, const std::string& label) {
    y_ += row_height + 2;
    const double width = text_width(label, 10.5);
    if (width + 24 <= to - from) {
      const double middle = (from + to) / 2;
      svg_.span(from, to, y_ - 4, grey);
      svg_.rect(middle - width / 2 - 3, y_ - 11, width + 6, 14, "#ffffff");
      svg_.text(middle, y_, label, {.size = 10.5, .anchor = TextAnchor::middle});
    } else {
      svg_.span(from, to, y_ - 4, grey);
      const bool fits = to + 8 + width <= canvas_width - page_margin;
      svg_.text(fits ? to + 8 : from - 8, y_, label,
                {.size = 10.5, .anchor = fits ? TextAnchor::start : TextAnchor::end});
    }
  }

  /// Shape and strides of the first two views and the last.
  void draw_layouts(const PageStrip& strip) {
    y_ += 4;
    for (std::size_t i = 0; i < strip.views.size(); ++i) {
      if (i > 1 && i + 1 < strip.views.size()) continue;
      const ViewPlan& view = plan_.views[strip.views[i]];
      y_ += row_height;
      y_ = svg_.paragraph(
          page_margin, y_, bar_width,
          fmt::format("layer {} {} {} {}", view.layer, view.tensor, to_string(view.dtype), to_string(view.elements())),
          {.size = 10, .colour = grey, .monospace = true});
    }
  }

  /// What the fills mean that the picture has, then what the numbers are.
  void legend() {
    std::vector<std::pair<std::string, std::string>> swatches;
    for (const auto& [fill, words] : {std::pair(key_fill, "K"), std::pair(value_fill, "V"),
                                      std::pair(mixed_fill, "K and V, or a latent"),
                                      std::pair(padding_fill,
                                                "no tensor's: padding, or the room that a short pack leaves")})
      if (drawn_.contains(fill)) swatches.emplace_back(fill, words);
    y_ = svg_.legend(page_margin, y_ + 18, bar_width, swatches) + 14;
    svg_.text(page_margin, y_, "Numbers below a bar: bytes from the start of the page.", {.size = 11});
    y_ += 16;
  }

  const PlanSet& set_;
  const CachePlan& plan_;
  const std::vector<PageStrip>& strips_;
  SvgWriter svg_;
  std::set<std::string> drawn_;  ///< fills of the parts so far
  double y_ = 0;
};

}  // namespace

std::string page_map_svg(const PlanSet& set, const CachePlan& plan, const std::vector<PageStrip>& strips, int width) {
  return PageMapPainter(set, plan, strips).paint(width);
}

}  // namespace hybridkv
