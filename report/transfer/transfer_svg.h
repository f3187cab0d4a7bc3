#pragma once

#include <string>
#include <vector>

#include "ask/transfer/transfer_pages.h"
#include "report/plot/plot.h"

namespace hybridkv {

/// Pages of both sides below each other, to scale, with a band for what each descriptor copies from one to the other:
/// all pages of a kind of layers in bytes of one size, unless one would then be too short to be seen.
///
/// Runs nearer than a pixel on both sides are drawn as one band, and the first of them enlarged below. Rectangles of
/// parts have class "part" and the data of page maps with data-side "from" or "to"; bands have class "run" with
/// data-from-begin, data-from-end, data-to-begin, data-to-end (bytes in the pages) and data-runs; those of the enlarged
/// ones "detail". Pre: the pages are of the answer; width >= 200 pixels.
std::string transfer_pages_svg(const TransferAnswer& answer, const std::vector<TransferPages>& pages, int width);

/// The picture, with the runs as data. The answer is kept but for its list.
Plot plot_transfer(const TransferAnswer& answer);

}  // namespace hybridkv
