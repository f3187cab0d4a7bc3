#pragma once

#include <string>
#include <string_view>

#include "report/document.h"

namespace hybridkv {

/// One HTML page that holds all it shows: style and pictures are part of it, and its Content-Security-Policy keeps the
/// browser from fetching anything or running a script. Prints on A4. Also well-formed XML. The title of the page is the
/// first heading of level 1.
std::string render_html(const Document& document);

/// An SVG file as a part of an HTML page: without its XML declaration, and with `prefix` before every id, so that
/// pictures on one page do not share names.
std::string inline_svg(std::string_view svg, std::string_view prefix);

}  // namespace hybridkv
