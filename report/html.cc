#include "report/html.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/human.h"
#include "report/plot/svg.h"

namespace hybridkv {

namespace {

constexpr const char* style_sheet = R"css(
:root { color-scheme: light dark; --ink: #222; --paper: #fff; --dim: #666; --line: #ccc; --faint: #e4e4e4;
  --rule: #888; --marked: #fff4d6; --warning: #fdf1e8; --code: #f5f5f5; --kv: #66aad1; --state: #e69e66;
  --more: #ece27a; --lost: #8a8a8a; --lostbg: #e8e8e8; --kept: #9a86b8; --idle: #fff; --onpart: #111; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #ddd; --paper: #181a1b; --dim: #a0a0a0; --line: #444; --faint: #333; --rule: #777; --marked: #4a3f1c;
    --warning: #40291a; --code: #242627; --kv: #4f93ba; --state: #c9834c; --more: #b9b04f; --lost: #aaa;
    --lostbg: #3a3a3a; --kept: #7d6aa0; --idle: #181a1b; }
  figure svg { filter: invert(0.91) hue-rotate(180deg); }
}
body { font: 15px/1.5 Helvetica, Arial, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 1000px; margin: 2em auto; padding: 0 1.5em; }
h1 { font-size: 1.7em; line-height: 1.25; margin: 0 0 .6em; }
h2 { font-size: 1.25em; margin: 2em 0 .5em; padding-bottom: .2em; border-bottom: 1px solid var(--line); }
h3 { font-size: 1em; margin: 1.2em 0 .2em; }
p { max-width: 50em; }
h1 + p { font-size: 1.15em; font-weight: bold; margin-top: 0; }
.wide { overflow-x: auto; margin: .8em 0; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { padding: .25em .6em; text-align: right; vertical-align: top; border-bottom: 1px solid var(--faint); }
th { vertical-align: bottom; border-bottom: 2px solid var(--rule); font-weight: bold; }
th small { display: block; font-weight: normal; color: var(--dim); }
td { white-space: nowrap; }
th.text, td.text { text-align: left; white-space: normal; }
tr.marked td { background: var(--marked); font-weight: bold; }
tfoot td { border-top: 2px solid var(--rule); font-weight: bold; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15em 1.2em; margin: .6em 0; }
dt { color: var(--dim); }
dd { margin: 0; }
ul.warnings { list-style: none; padding: 0; }
ul.warnings li { border-left: 4px solid #d55e00; background: var(--warning); padding: .4em .8em; margin: .4em 0;
  max-width: 50em; }
pre { background: var(--code); padding: .8em 1em; overflow-x: auto; font-size: 13px;
  white-space: pre-wrap; overflow-wrap: anywhere; }
figure { margin: 1.5em 0; }
figure svg { max-width: 100%; height: auto; display: block; }
.bar-title { margin: .6em 0 .2em; }
.bar { display: flex; height: 34px; border: 1px solid var(--rule); box-sizing: border-box;
  print-color-adjust: exact; -webkit-print-color-adjust: exact; }
.bar span { min-width: 0; overflow: hidden; white-space: nowrap; text-overflow: ellipsis; text-align: center;
  line-height: 32px; font-size: 12px; color: var(--onpart); box-shadow: inset 1px 0 var(--paper); }
.swatch { display: inline-block; width: .85em; height: .85em; margin-right: .5em; border: 1px solid var(--rule);
  vertical-align: -.1em; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
.tone-tokens { background: var(--kv); }
.tone-states { background: var(--state); }
.tone-more_states { background: var(--more); }
.tone-padding { background: repeating-linear-gradient(45deg, var(--lost) 0 1px, var(--lostbg) 1px 6px); }
.tone-tails { background: repeating-linear-gradient(-45deg, var(--lost) 0 3px, var(--lostbg) 3px 6px); }
.tone-reserved { background: var(--kept); }
.tone-idle { background: var(--idle); }
figcaption { color: var(--dim); font-size: 13px; max-width: 60em; margin-top: .4em; }
nav ol { columns: 2 17em; padding: 0; }
nav li { margin-left: 2.2em; }
a { color: inherit; }
details { margin: 1em 0; border-left: 3px solid var(--line); padding-left: .8em; }
summary { cursor: pointer; font-weight: bold; }
@media screen and (max-width: 600px) {
  body { margin: 1em auto; padding: 0 .8em; }
  h1 { font-size: 1.35em; }
  th, td { padding: .25em .4em; }
  dl { grid-template-columns: minmax(0, 1fr); gap: 0; }
  dd { margin: 0 0 .4em 1em; overflow-wrap: anywhere; }
  figure svg { max-width: none; width: 720px; }
}
@page { size: A4; margin: 12mm; }
@media print {
  :root { color-scheme: light; --ink: #222; --paper: #fff; --dim: #666; --line: #ccc; --faint: #e4e4e4; --rule: #888;
    --marked: #fff4d6; --warning: #fdf1e8; --code: #f5f5f5; }
  figure svg { filter: none; }
  body { max-width: none; margin: 0; padding: 0; font-size: 8.5pt; line-height: 1.35; }
  nav, details { display: none; }
  h2 { margin: 1.2em 0 .3em; }
  h3 { margin: .7em 0 .1em; }
  dl { margin: .2em 0; }
  h2, h3 { break-after: avoid; }
  figure, tr, li, pre { break-inside: avoid; }
  figure { margin: .6em 0; }
  figure svg { max-height: 118mm; width: auto; }
  .wide { overflow: visible; }
  table { font-size: 7pt; }
  th, td { padding: .15em .35em; white-space: normal; }
  pre { font-size: 7.5pt; }
  a { color: inherit; text-decoration: none; }
}
)css";

/// Writes the blocks of one page; counts headings and pictures, which get ids.
class HtmlWriter {
 public:
  std::string operator()(const Heading& heading) {
    if (heading.level != 2) return fmt::format("<h{0}>{1}</h{0}>\n", heading.level, escape_xml(heading.text));
    return fmt::format("<h2 id=\"section-{}\">{}</h2>\n", ++sections_, escape_xml(heading.text));
  }
  std::string operator()(const Paragraph& paragraph) const {
    return fmt::format("<p>{}</p>\n", escape_xml(paragraph.text));
  }
  std::string operator()(const Facts& facts) const {
    std::string html = "<dl>\n";
    for (const auto& [label, value] : facts.entries)
      html += fmt::format("<dt>{}</dt><dd>{}</dd>\n", escape_xml(label), escape_xml(value));
    return html + "</dl>\n";
  }
  std::string operator()(const Listing& listing) const {
    std::string html = listing.warning ? "<ul class=\"warnings\">\n" : "<ul>\n";
    for (const std::string& item : listing.items) html += fmt::format("<li>{}</li>\n", escape_xml(item));
    return html + "</ul>\n";
  }
  std::string operator()(const Code& code) const {
    std::string html = "<pre>";
    for (const std::string& line : code.lines) html += escape_xml(line) + "\n";
    return html + "</pre>\n";
  }
  std::string operator()(const Bars& bars) const {
    std::int64_t longest = 1;
    for (const Bar& bar : bars.bars) longest = std::max(longest, bar.total());
    std::string html = fmt::format("<figure role=\"group\" aria-label=\"{}\">\n", escape_xml(bars.caption));
    for (const Bar& bar : bars.bars)
      html += fmt::format("<p class=\"bar-title\">{}</p>\n<div class=\"bar\" style=\"width: {:.3f}%\">{}</div>\n",
                          escape_xml(bar.title), part_percent(bar.total(), longest), bar_parts(bars, bar));
    return html + numbers_of(bars) + fmt::format("<figcaption>{}</figcaption>\n</figure>\n", escape_xml(bars.caption));
  }
  std::string operator()(const Picture& picture) {
    const std::string drawn = picture.svg.empty() ? fmt::format("<p>{}: not drawn.</p>", escape_xml(picture.title))
                                                  : inline_svg(picture.svg, fmt::format("picture{}-", ++pictures_));
    return fmt::format(
        "<figure role=\"group\" aria-label=\"{}\">\n<div class=\"wide\">{}</div>\n"
        "<figcaption>{}</figcaption>\n</figure>\n",
        escape_xml(picture.title), drawn, escape_xml(picture.caption));
  }
  std::string operator()(const FoldBegin& fold) const {
    return fmt::format("<details>\n<summary>{}</summary>\n", escape_xml(fold.title));
  }
  std::string operator()(const FoldEnd&) const { return "</details>\n"; }
  std::string operator()(const Table& table) const { return table_html(table, {}); }

 private:
  static double part_percent(std::int64_t part, std::int64_t whole) {
    return 100 * static_cast<double>(part) / static_cast<double>(whole);
  }

  /// The parts that are there, to scale; a word where it has room.
  static std::string bar_parts(const Bars& bars, const Bar& bar) {
    constexpr double percent_a_letter = 0.8;  // of a wide screen; on a narrow one the word is cut short
    const std::int64_t total = std::max<std::int64_t>(1, bar.total());
    std::string html;
    for (std::size_t kind = 0; kind < bars.kinds.size(); ++kind) {
      const std::int64_t bytes = bar.bytes[kind];
      if (bytes <= 0) continue;
      const double percent = part_percent(bytes, total);
      const std::string& title = bars.kinds[kind].title;
      const bool named = percent > percent_a_letter * static_cast<double>(title.size());
      html += fmt::format("<span class=\"tone-{}\" style=\"width: {:.3f}%\" title=\"{}: {}, {}\">{}</span>",
                          bars.kinds[kind].tone, percent, escape_xml(title), exact_bytes(bytes), human_percent(percent),
                          named ? escape_xml(title) : "");
    }
    return html;
  }

  /// The table of the bars, with the fill of each kind before its name.
  static std::string numbers_of(const Bars& bars) {
    const Table table = bars_table(bars);
    std::vector<std::string> swatches;
    for (const std::vector<Cell>& row : table.rows())
      for (const BarKind& kind : bars.kinds)
        if (human_cell(row.front()) == kind.title)
          swatches.push_back(fmt::format("<span class=\"swatch tone-{}\"></span>", kind.tone));
    return table_html(table, swatches);
  }

  /// `before`: what stands in the first cell of a row before its text; empty: nothing.
  static std::string table_html(const Table& table, const std::vector<std::string>& before) {
    std::string head;
    for (const Column& column : table.columns()) {
      if (column.audience == Audience::programs) continue;
      const std::string below =
          column.subtitle.empty() ? "" : fmt::format("<small>{}</small>", escape_xml(column.subtitle));
      head += fmt::format("<th{}>{}{}</th>", text_class(column), escape_xml(column.title), below);
    }
    std::string body;
    for (std::size_t row = 0; row < table.rows().size(); ++row)
      body += fmt::format("<tr{}>{}</tr>\n", table.is_marked(row) ? " class=\"marked\"" : "",
                          cells(table, table.rows()[row], before.empty() ? std::string() : before[row]));
    const std::string foot =
        table.footer() ? fmt::format("<tfoot><tr>{}</tr></tfoot>\n", cells(table, *table.footer())) : std::string();
    return fmt::format(
        "<div class=\"wide\"><table>\n<thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody>\n{}</table></div>\n", head, body,
        foot);
  }

  static const char* text_class(const Column& column) { return column.align == Align::left ? " class=\"text\"" : ""; }

  /// The exact number behind one that is rounded for people, where the mouse rests on it.
  static std::string exact_title(const Cell& cell) {
    const std::string unit = std::holds_alternative<ByteCount>(cell) ? " bytes"
                             : std::holds_alternative<Percent>(cell) ? " %"
                                                                     : "";
    const bool rounded = !unit.empty() || std::holds_alternative<Real>(cell);
    const std::string exact = rounded ? raw_cell(cell) : std::string();
    return exact.empty() ? exact : fmt::format(" title=\"{}{}\"", exact, unit);
  }

  static std::string cells(const Table& table, const std::vector<Cell>& row, std::string before = {}) {
    std::string html;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (table.columns()[i].audience == Audience::programs) continue;
      html += fmt::format("<td{}{}>{}{}</td>", text_class(table.columns()[i]), exact_title(row[i]), before,
                          escape_xml(human_cell(row[i])));
      before.clear();
    }
    return html;
  }

  int sections_ = 0;
  int pictures_ = 0;
};

std::string title_of(const Document& document) {
  for (const Block& block : document.blocks)
    if (const auto* heading = std::get_if<Heading>(&block); heading != nullptr && heading->level == 1)
      return heading->text;
  return "hybridkv";
}

std::string contents(const Document& document) {
  std::string items;
  int section = 0;
  for (const Block& block : document.blocks)
    if (const auto* heading = std::get_if<Heading>(&block); heading != nullptr && heading->level == 2)
      items += fmt::format("<li><a href=\"#section-{}\">{}</a></li>\n", ++section, escape_xml(heading->text));
  return section < 3 ? std::string() : fmt::format("<nav><ol>\n{}</ol></nav>\n", items);
}

void replace_all(std::string& text, std::string_view from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

}  // namespace

std::string inline_svg(std::string_view svg, std::string_view prefix) {
  const std::size_t start = svg.find("<svg");
  std::string text(start == std::string_view::npos ? svg : svg.substr(start));
  // Every way in which gnuplot and we name a shape, and refer to it.
  for (const char* before : {" id='", " id=\"", "href='#", "href=\"#", "url(#"})
    replace_all(text, before, before + std::string(prefix));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::string render_html(const Document& document) {
  HtmlWriter writer;
  std::string body;
  bool listed = false;
  for (const Block& block : document.blocks) {
    // The table of contents stands before the first section.
    const auto* heading = std::get_if<Heading>(&block);
    if (!listed && heading != nullptr && heading->level == 2) {
      body += contents(document);
      listed = true;
    }
    body += std::visit(writer, block);
  }
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "img-src data:\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width\"/>\n<link rel=\"icon\" href=\"data:,\"/>\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
      escape_xml(title_of(document)), style_sheet, body);
}

}  // namespace hybridkv
