#include "report/page_map_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "layout/dtype.h"
#include "report/human.h"
#include "report/page_strip.h"
#include "report/plot_layouts.h"
#include "report/svg.h"

namespace hybridkv {

namespace {

constexpr double canvas_width = 830;
constexpr double margin = 24;
constexpr double bar_width = canvas_width - 2 * margin;
constexpr double bar_height = 46;
constexpr double overview_height = 26;
constexpr double row_height = 15;  ///< of offsets, dimension lines and lines of text
constexpr double narrowest = 7;    ///< pixels of a part that can still be seen and pointed at
constexpr const char* ink = "#222222";
constexpr const char* grey = "#666666";
constexpr const char* padding_fill = "url(#padding)";

/// Okabe and Ito's colours, lightened so that black text can be read on them: strongly for V, less for K.
struct Tint {
  const char* strong;
  const char* light;
};
constexpr std::array<Tint, 4> layer_tints{
    {{"#66AAD1", "#B8D8EA"}, {"#F0C566", "#F8E5BA"}, {"#66C5AB", "#B8E4D9"}, {"#E0AFCA", "#F2DDE9"}}};
constexpr std::array<const char*, 3> state_fills{"#E69E66", "#F6F08E", "#9AD2F2"};

/// Where each byte of a stretch of a page stands on the picture.
class BarScale {
 public:
  /// Of the parts that lie in these bytes of the page.
  BarScale(const std::vector<PagePart>& all, ByteExtent bytes) : bytes_(bytes) {
    for (const PagePart& part : all)
      if (part.bytes.begin >= bytes.begin && part.bytes.end <= bytes.end) parts_.push_back(&part);
    std::vector<double> widths = natural_widths();
    widen(widths);
    double x = margin;
    for (const double width : widths) {
      edges_.push_back(x);
      x += width;
    }
    edges_.push_back(margin + bar_width);
  }

  const std::vector<const PagePart*>& parts() const { return parts_; }
  ByteExtent bytes() const { return bytes_; }
  double left(std::size_t part) const { return edges_[part]; }
  double right(std::size_t part) const { return edges_[part + 1]; }
  double width(std::size_t part) const { return right(part) - left(part); }
  bool is_widened(std::size_t part) const { return widened_[part]; }
  bool to_scale() const {
    return std::none_of(widened_.begin(), widened_.end(), [](bool widened) { return widened; });
  }

  double x(std::int64_t byte) const {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const ByteExtent& bytes = parts_[i]->bytes;
      if (byte > bytes.end) continue;
      return left(i) +
             width(i) * static_cast<double>(byte - bytes.begin) / static_cast<double>(bytes.end - bytes.begin);
    }
    return margin + bar_width;
  }

 private:
  std::vector<double> natural_widths() const {
    std::vector<double> widths;
    for (const PagePart* part : parts_)
      widths.push_back(bar_width * static_cast<double>(part->bytes.end - part->bytes.begin) /
                       static_cast<double>(bytes_.end - bytes_.begin));
    return widths;
  }

  /// Makes narrow parts visible at the cost of the others, unless there are too many of them.
  void widen(std::vector<double>& widths) {
    widened_.assign(widths.size(), false);
    if (narrowest * static_cast<double>(widths.size()) > bar_width / 2) return;
    while (true) {
      double fixed = 0;
      double free = 0;
      for (std::size_t i = 0; i < widths.size(); ++i) (widened_[i] ? fixed : free) += widths[i];
      const double factor = (bar_width - fixed) / free;
      bool changed = false;
      for (std::size_t i = 0; i < widths.size(); ++i) {
        if (widened_[i] || widths[i] * factor >= narrowest) continue;
        widths[i] = narrowest;
        widened_[i] = changed = true;
      }
      if (changed) continue;
      for (std::size_t i = 0; i < widths.size(); ++i)
        if (!widened_[i]) widths[i] *= factor;
      return;
    }
  }

  ByteExtent bytes_;
  std::vector<const PagePart*> parts_;
  std::vector<double> edges_;
  std::vector<bool> widened_;
};

/// What is written into a part; `short_pack`: what is free there is no padding but the room of a layer.
std::string part_word(const PagePart& part, bool short_pack) {
  if (!part.layer && short_pack) return "no layer";
  if (!part.half.empty()) return part.half;
  return part.tensor == "kv" ? "K+V" : part.tensor;
}

std::string part_title(const PagePart& part, bool short_pack) {
  std::string text;
  if (part.layer) text += fmt::format("layer {} ", *part.layer);
  text += part_word(part, short_pack);
  if (part.kernel_block) text += fmt::format(", kernel block {}", *part.kernel_block);
  return text + fmt::format(": bytes {} to {} of the page, {} bytes", human_count(part.bytes.begin),
                            human_count(part.bytes.end), human_count(part.bytes.end - part.bytes.begin));
}

/// Draws the rows of one plan.
class PageMapPainter {
 public:
  PageMapPainter(const PlanSet& set, const CachePlan& plan) : set_(set), plan_(plan) {}

  std::string paint(int width) {
    heading();
    std::vector<PageStrip> strips = page_strips(plan_);
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

  const std::vector<std::int64_t>& layers_of(const PageStrip& strip) const {
    return plan_.groups[static_cast<std::size_t>(strip.group)].pages[static_cast<std::size_t>(strip.pool)];
  }

  /// The last pack of a spec that lacks layers.
  bool is_short(const PageStrip& strip) const { return std::ssize(layers_of(strip)) < spec_of(strip).layers_per_page; }

  /// From one kernel block to the next.
  std::int64_t kernel_block_bytes(const PageStrip& strip) const {
    const ViewPlan& view = plan_.views[strip.views.front()];
    return view.layout.stride("block") * element_bytes(view.dtype);
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
    svg_.text(margin, 28, title(), {.size = 17});
    svg_.text(
        margin, 48,
        fmt::format("One of the {} pages of pool 0, {} bytes. A block id belongs to one group at a time, which sees "
                    "the same bytes in its own way.",
                    human_count(plan_.num_blocks), human_count(plan_.page_bytes)),
        {.size = 12, .colour = grey});
    y_ = 52;
  }

  std::string strip_title(const PageStrip& strip) const {
    const SpecPlan& spec = spec_of(strip);
    const GroupPlan& group = plan_.groups[static_cast<std::size_t>(strip.group)];
    const std::vector<std::int64_t>& layers = layers_of(strip);
    std::int64_t groups = 0;
    for (const GroupPlan& other : plan_.groups) groups += other.spec == group.spec ? 1 : 0;
    std::string text = fmt::format("For {} {}{} group{}", groups == 1 ? "the" : "a", spec.draft ? "draft " : "",
                                   spec.kind, groups == 1 ? "" : fmt::format(" (one of {})", groups));
    if (strip.pool != 0) text += fmt::format(", in pool {}", strip.pool);
    text += fmt::format(": layer{} {}", layers.size() == 1 ? "" : "s", human_list(layers));
    if (is_short(strip))
      text += fmt::format(", room for {} more stays empty", spec.layers_per_page - std::ssize(layers));
    if (spec.attention) text += fmt::format("; block {} tokens", human_count(spec.block_size_tokens));
    if (strip.kernel_blocks > 1)
      text += fmt::format(" = {} kernel blocks of {}", strip.kernel_blocks, human_count(spec.kernel_block_size_tokens));
    return text;
  }

  void draw(const PageStrip& strip) {
    y_ += 34;
    svg_.text(margin, y_, strip_title(strip), {.size = 13, .bold = true});
    const BarScale whole(strip.parts, {0, plan_.page_bytes});
    if (strip.kernel_blocks == 1) {
      draw_detail(strip, whole, "part");
    } else {
      draw_overview(strip, whole);
      const BarScale first(strip.parts, {0, kernel_block_bytes(strip)});
      enlarge(whole, first.bytes());
      draw_detail(strip, first, "detail");
    }
    draw_layouts(strip);
  }

  std::string fill_of(const PageStrip& strip, const PagePart& part) const {
    if (!part.layer) return padding_fill;
    if (spec_of(strip).state) {
      std::vector<std::string> tensors;
      for (const std::size_t view : strip.views) tensors.push_back(plan_.views[view].tensor);
      const auto at = std::find(tensors.begin(), tensors.end(), part.tensor) - tensors.begin();
      return state_fills[static_cast<std::size_t>(at) % state_fills.size()];
    }
    std::size_t place = 0;
    while (place < strip.views.size() && plan_.views[strip.views[place]].layer != *part.layer) ++place;
    const Tint& tint = layer_tints[place % layer_tints.size()];
    return part.half == "V" ? tint.light : tint.strong;
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
      svg_.rect(scale.left(i), top, scale.width(i), height, fill_of(strip, part), data,
                part_title(part, is_short(strip)));
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
    svg_.line(whole.x(bytes.begin), from, margin, y_ + 20, grey, 1, "4,3");
    svg_.line(whole.x(bytes.end), from, margin + bar_width, y_ + 20, grey, 1, "4,3");
    svg_.text(margin + bar_width, from + 16, "below: kernel block 0, enlarged",
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
    svg_.text(margin + bar_width, y_ - 3, "parts with a dashed edge are drawn wider than they are",
              {.size = 10.5, .anchor = TextAnchor::end, .colour = grey});
  }

  /// The number of the layer above each run of parts that are its own.
  void draw_layer_names(const BarScale& scale) {
    const auto& parts = scale.parts();
    for (std::size_t first = 0; first < parts.size();) {
      std::size_t last = first;
      while (last + 1 < parts.size() && parts[last + 1]->layer == parts[first]->layer) ++last;
      if (parts[first]->layer) {
        const double left = scale.left(first);
        const double right = scale.right(last);
        std::string label = fmt::format("layer {}", *parts[first]->layer);
        if (text_width(label, 11) > right - left - 4) label = fmt::format("L{}", *parts[first]->layer);
        if (text_width(label, 11) <= right - left)
          svg_.text((left + right) / 2, y_ - 7, label, {.size = 11, .anchor = TextAnchor::middle});
        svg_.line(left + 1, y_ - 3, right - 1, y_ - 3, ink);
      }
      first = last + 1;
    }
  }

  void draw_words(const PageStrip& strip, const BarScale& scale) {
    for (std::size_t i = 0; i < scale.parts().size(); ++i) {
      const std::string word = part_word(*scale.parts()[i], is_short(strip));
      const double middle = (scale.left(i) + scale.right(i)) / 2;
      if (text_width(word, 12) + 4 <= scale.width(i))
        svg_.text(middle, y_ + bar_height / 2 + 4, word, {.size = 12, .anchor = TextAnchor::middle});
      else if (scale.width(i) >= 9.5 && text_width(word, 10) <= bar_height)
        svg_.text(middle + 3.5, y_ + bar_height / 2, word, {.size = 10, .anchor = TextAnchor::middle, .upwards = true});
    }
  }

  /// The first byte of every part and the end of the last, in up to three rows; what finds no room is left to the
  /// titles of the parts.
  void draw_offsets(const BarScale& scale) {
    std::array<double, 3> free_from{0, 0, 0};
    std::size_t rows = 1;
    std::size_t row_of_end = 0;  // below every tick that would cross the last label
    const std::string end = human_count(scale.bytes().end) + " bytes";
    const double end_left = margin + bar_width - text_width(end, 10.5) - 8;
    const auto put = [&](std::size_t row, double x, const std::string& label, TextAnchor anchor) {
      const double baseline = y_ + 14 + row_height * static_cast<double>(row);
      svg_.line(x, y_, x, baseline - 9, grey);
      svg_.text(x, baseline, label, {.size = 10.5, .anchor = anchor});
      rows = std::max(rows, row + 1);
    };
    for (std::size_t i = 0; i < scale.parts().size(); ++i) {
      const double x = scale.left(i);
      const std::string label = human_count(scale.parts()[i]->bytes.begin);
      const double width = text_width(label, 10.5);
      // A label that would reach beyond the page ends at its tick.
      const TextAnchor anchor = i == 0                               ? TextAnchor::start
                                : x + width / 2 > margin + bar_width ? TextAnchor::end
                                                                     : TextAnchor::middle;
      const double left = anchor == TextAnchor::start ? x : anchor == TextAnchor::end ? x - width : x - width / 2;
      for (std::size_t row = 0; row < free_from.size(); ++row) {
        if (left < free_from[row]) continue;
        put(row, x, label, anchor);
        free_from[row] = left + width + 8;
        if (x > end_left) row_of_end = std::max(row_of_end, row + 1);
        break;
      }
    }
    while (row_of_end < free_from.size() && free_from[row_of_end] > end_left) ++row_of_end;
    put(row_of_end, margin + bar_width, end, TextAnchor::end);
    y_ += 4 + row_height * static_cast<double>(rows);
  }

  /// One dimension line per stride and offset that is long enough; the others in words.
  void draw_strides(const PageStrip& strip, const BarScale& scale) {
    const ViewPlan& view = plan_.views[strip.views.back()];
    const ViewPlan& first = plan_.views[strip.views.front()];
    const std::int64_t element = element_bytes(view.dtype);
    const bool is_state = spec_of(strip).state.has_value();
    const std::int64_t start = is_state ? view.layout.offset() * element : 0;
    const Layout& layout = is_state ? view.layout : first.layout;
    std::string too_short;
    for (const Axis& axis : layout.axes()) {
      if (axis.extent == 1) continue;
      const std::int64_t from = axis.name == AxisName("block") ? 0 : start;
      const std::string label = fmt::format("{} stride {} = {}", axis.name.view(), human_plural(axis.stride, "element"),
                                            human_plural(axis.stride * element, "byte"));
      if (axis.name == AxisName("channel") || from + axis.stride * element > scale.bytes().end ||
          scale.x(from + axis.stride * element) - scale.x(from) < 12)
        too_short += (too_short.empty() ? "" : "; ") + label;
      else
        dimension(scale.x(from), scale.x(from + axis.stride * element), label);
    }
    if (strip.views.size() > 1) {
      const ViewPlan& second = plan_.views[strip.views[1]];
      const std::int64_t offset = second.layout.offset() * element_bytes(second.dtype);
      dimension(scale.x(0), scale.x(offset),
                fmt::format("offset of {}: {} = {}", is_state ? second.tensor : fmt::format("layer {}", second.layer),
                            human_plural(second.layout.offset(), "element"), human_plural(offset, "byte")));
    }
    if (too_short.empty()) return;
    y_ += row_height;
    svg_.text(margin, y_, too_short, {.size = 10.5, .colour = grey});
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
      const bool fits = to + 8 + width <= canvas_width - margin;
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
      svg_.text(
          margin, y_,
          fmt::format("layer {} {} {} {}", view.layer, view.tensor, to_string(view.dtype), to_string(view.layout)),
          {.size = 10, .colour = grey, .monospace = true});
    }
  }

  void legend() {
    y_ += 18;
    svg_.rect(margin, y_, 16, 12, padding_fill, {{"stroke", "#444444"}});
    svg_.text(margin + 22, y_ + 10,
              "no tensor's: padding, or the room of layers that a short pack lacks.  Numbers below a bar: bytes from "
              "the start of the page.",
              {.size = 11});
    y_ += 26;
  }

  const PlanSet& set_;
  const CachePlan& plan_;
  SvgWriter svg_;
  double y_ = 0;
};

}  // namespace

std::string page_map_svg(const PlanSet& set, const CachePlan& plan, int width) {
  return PageMapPainter(set, plan).paint(width);
}

std::vector<Plot> plot_page_maps(const PlanSet& set) {
  std::vector<Plot> plots;
  for (const CachePlan& plan : set.plans) {
    Plot plot{.name = fmt::format("page-map-n{}", plan.attention_pack_size),
              .title = fmt::format("Page map, N = {}", plan.attention_pack_size),
              .subtitle = plot_subtitle(set),
              .caption = "The bytes of one page as each kind of group sees it, enumerated from the views of the plan."};
    plot.tables.push_back({"", page_table(plan)});
    plot.svg = [&set, &plan](int width) { return page_map_svg(set, plan, width); };
    plots.push_back(std::move(plot));
  }
  return plots;
}

}  // namespace hybridkv
