#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "report/bars.h"
#include "report/format.h"
#include "report/table.h"

namespace hybridkv {

/// A title: 1 for the whole document, 2 for a section, 3 for an entry of a section.
struct Heading {
  std::string text;
  int level = 2;
};
/// A sentence or a few.
struct Paragraph {
  std::string text;
};
/// Labelled values, one a line, aligned: "rule  B = A * ceil(M / (A * N * a1))".
struct Facts {
  std::vector<std::pair<std::string, std::string>> entries;
};
/// Sentences that stand beside each other; the terminal sets warnings off.
struct Listing {
  std::vector<std::string> items;
  bool warning = false;
};

/// Commands to be typed or copied as they are; the terminal breaks long ones as a shell takes them.
struct Code {
  std::vector<std::string> lines;
};
/// A picture that lies in a file beside the document.
struct Picture {
  std::string file;     ///< relative to the document, with slashes: "plots/block-size.svg"
  std::string title;    ///< what it shows, for those who do not see it
  std::string caption;  ///< a sentence or two below it
  std::string svg;      ///< the whole SVG, for documents that hold their pictures; empty: not drawn
};

/// Begins what a reader opens when it is wanted, and what is left out on paper; up to the next FoldEnd. Folds are not
/// nested.
struct FoldBegin {
  std::string title;
};
struct FoldEnd {};

/// A piece of a document. A new kind of content is one alternative here and one case in each renderer.
using Block = std::variant<Heading, Paragraph, Facts, Listing, Table, Bars, Code, Picture, FoldBegin, FoldEnd>;

/// What a report says, in order, without any form. Rendered by the functions below and by report/html.h.
struct Document {
  std::vector<Block> blocks;
};

/// For the terminal. Sentences are wrapped at style.width, blocks stand apart by an empty line (entries of level 3 and
/// their facts do not).
std::string render_text(const Document& document, const Style& style = {});

/// GitHub's Markdown.
std::string render_markdown(const Document& document);

/// As the one or the other. Pre: format is table or markdown.
std::string render_people(const Document& document, Format format, const Style& style);

}  // namespace hybridkv
