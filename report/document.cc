#include "report/document.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/text.h"

namespace hybridkv {

namespace {

/// `text` wrapped behind `first`, following lines indented by as many columns.
std::string hanging(const std::string& first, const std::string& text, const Style& style) {
  const std::size_t indent = display_width(first);
  const auto width = static_cast<std::size_t>(std::max(style.width, 20));
  std::string result;
  for (const std::string& line : wrap(printable(text), width > indent + 20 ? width - indent : 20))
    result += (result.empty() ? first : std::string(indent, ' ')) + line + "\n";
  return result.empty() ? first.substr(0, first.find_last_not_of(' ') + 1) + "\n" : result;
}

/// One block of a terminal report.
struct TextBlock {
  const Style& style;

  std::string operator()(const Heading& heading) const { return bold(printable(heading.text), style) + "\n"; }
  std::string operator()(const Paragraph& paragraph) const { return hanging("", paragraph.text, style); }
  std::string operator()(const Facts& facts) const {
    std::size_t widest = 0;
    for (const auto& [label, value] : facts.entries) widest = std::max(widest, display_width(label));
    std::string result;
    for (const auto& [label, value] : facts.entries)
      result += hanging("  " + label + std::string(widest - display_width(label) + 2, ' '), value, style);
    return result;
  }
  std::string operator()(const Listing& listing) const {
    std::string result;
    for (const std::string& item : listing.items)
      result += listing.warning ? yellow(hanging("! ", item, style), style) : hanging("- ", item, style);
    return result;
  }
  std::string operator()(const Table& table) const { return render_text(table, style); }
  std::string operator()(const Bars& bars) const {
    std::string result;
    if (bars.bars.size() == 1) result += hanging("", bars.bars.front().title, style) + "\n";
    return result + render_text(bars_table(bars), style) + "\n" + hanging("", bars.caption, style);
  }
  std::string operator()(const Code& code) const {
    std::string result;
    for (const std::string& command : code.lines)
      for (const std::string& line : wrap_command(printable(command), static_cast<std::size_t>(style.width) - 2))
        result += "  " + line + "\n";
    return result;
  }
  std::string operator()(const Picture& picture) const {
    return hanging("", fmt::format("{}: {}{}", picture.title, picture.file, picture.svg.empty() ? " (not drawn)" : ""),
                   style);
  }
  std::string operator()(const FoldBegin& fold) const { return bold(printable(fold.title), style) + "\n"; }
  std::string operator()(const FoldEnd&) const { return ""; }
};

struct MarkdownBlock {
  std::string operator()(const Heading& heading) const {
    return std::string(static_cast<std::size_t>(heading.level), '#') + " " + escape_markdown(heading.text) + "\n";
  }
  std::string operator()(const Paragraph& paragraph) const { return escape_markdown(paragraph.text) + "\n"; }
  std::string operator()(const Facts& facts) const {
    std::string result;
    for (const auto& [label, value] : facts.entries)
      result += "- " + escape_markdown(label) + ": " + escape_markdown(value) + "\n";
    return result;
  }
  std::string operator()(const Listing& listing) const {
    std::string result;
    for (const std::string& item : listing.items) result += "- " + escape_markdown(item) + "\n";
    return result;
  }
  std::string operator()(const Table& table) const { return render_markdown(table); }
  std::string operator()(const Bars& bars) const {
    std::string result;
    if (bars.bars.size() == 1) result += escape_markdown(bars.bars.front().title) + "\n\n";
    return result + render_markdown(bars_table(bars)) + "\n" + escape_markdown(bars.caption) + "\n";
  }
  std::string operator()(const Code& code) const {
    std::string result = "```sh\n";
    for (const std::string& line : code.lines) result += printable(line) + "\n";
    return result + "```\n";
  }
  std::string operator()(const Picture& picture) const {
    const std::string caption = escape_markdown(picture.caption) + "\n";
    if (picture.svg.empty()) return escape_markdown(picture.title + ": not drawn.") + "\n\n" + caption;
    return fmt::format("![{}]({})\n\n{}", escape_markdown(picture.title), picture.file, caption);
  }
  // GitHub's Markdown has no fold of its own, but takes this of HTML.
  std::string operator()(const FoldBegin& fold) const {
    return "<details>\n<summary>" + escape_markdown(fold.title) + "</summary>\n";
  }
  std::string operator()(const FoldEnd&) const { return "</details>\n"; }
};

/// What a title stands directly above, without an empty line.
bool follows_closely(const Block& before, const Block& after) {
  const auto* heading = std::get_if<Heading>(&before);
  if (heading == nullptr) return false;
  return heading->level == 2 || (heading->level == 3 && std::holds_alternative<Facts>(after));
}

}  // namespace

std::string render_text(const Document& document, const Style& style) {
  std::string text;
  const Block* before = nullptr;
  for (const Block& block : document.blocks) {
    if (before != nullptr && !follows_closely(*before, block)) text += "\n";
    text += std::visit(TextBlock{style}, block);
    before = &block;
  }
  return text;
}

std::string render_markdown(const Document& document) {
  std::string text;
  for (const Block& block : document.blocks) {
    if (!text.empty()) text += "\n";
    text += std::visit(MarkdownBlock{}, block);
  }
  return text;
}

std::string render_people(const Document& document, Format format, const Style& style) {
  return format == Format::markdown ? render_markdown(document) : render_text(document, style);
}

}  // namespace hybridkv
