#include "transfer/state_runs.h"

#include <algorithm>

#include "transfer/nearest_rank.h"

namespace hybridkv {

namespace {

/// Axis of a state tensor that ranks split: the channels of a convolution, else the first one.
int split_axis(const HeldTensor& tensor) {
  return tensor.key.tensor == "conv" ? tensor.state_tensor().layout.find("channel") : 0;
}

/// Rows of a convolution that hold inputs, K - 1; the others are for those of drafts.
std::int64_t live_steps(const HeldTensor& tensor) {
  return state_of(*tensor.set->recurrent, {}).tensors.front().layout.extent("step");
}

/// A place in a tensor that lies in several pieces.
struct InPieces {
  const HeldTensor& tensor;
  std::int64_t element;

  explicit InPieces(const HeldTensor& of) : tensor(of), element(element_bytes(of.dtype())) {}
  /// The piece in which that byte of the dense tensor lies.
  std::size_t piece_of(std::int64_t byte) const {
    std::size_t piece = tensor.pieces.size() - 1;
    while (piece > 0 && byte < tensor.pieces[piece]->first_element * element) --piece;
    return piece;
  }
  std::int64_t begin(std::size_t piece) const { return tensor.pieces[piece]->first_element * element; }
  /// Bytes from that one to the end of its piece.
  std::int64_t left(std::size_t piece, std::int64_t byte, std::int64_t wanted) const {
    return piece + 1 < tensor.pieces.size() ? std::min(wanted, begin(piece + 1) - byte) : wanted;
  }
};

/// A run of the dense tensors, cut where a piece of either side ends.
template <class Visit>
void cut_run(const InPieces& from, std::int64_t from_byte, const InPieces& to, std::int64_t to_byte, BoxRun run,
             Visit&& visit) {
  while (run.from_bytes > 0) {
    const std::size_t from_piece = from.piece_of(from_byte), to_piece = to.piece_of(to_byte);
    const std::int64_t elements = std::min(from.left(from_piece, from_byte, run.from_bytes) / from.element,
                                           to.left(to_piece, to_byte, run.to_bytes) / to.element);
    const BoxRun part{elements * from.element, elements * to.element};
    visit(StatePieceRun{from_piece, to_piece, from_byte - from.begin(from_piece), to_byte - to.begin(to_piece), part});
    from_byte += part.from_bytes;
    to_byte += part.to_bytes;
    run.from_bytes -= part.from_bytes;
    run.to_bytes -= part.to_bytes;
  }
}

}  // namespace

void for_each_state_run(const HeldTensor& from, std::int64_t from_ranks, const HeldTensor& to, std::int64_t to_ranks,
                        std::int64_t to_rank,
                        const std::function<void(std::int64_t from_rank, const StatePieceRun&)>& visit) {
  const Layout& source = from.state_tensor().layout;
  const Layout& target = to.state_tensor().layout;
  const InPieces read(from), written(to);
  std::int64_t from_first = 0, to_first = 0;  // of the section, on the split axis of each rank
  for (const SharedParts& shared : shared_parts(to)) {
    for (const PartsFromRank& parts : parts_from_ranks(shared.parts, from_ranks, to_ranks, to_rank)) {
      std::array<BoxAxis, Layout::max_rank> axes;
      std::int64_t from_byte = 0, to_byte = 0;
      for (int i = 0; i < target.rank(); ++i) {
        const Axis& axis = target[i];
        BoxAxis& box = axes[static_cast<std::size_t>(i)];
        box = {axis.extent, source.stride(axis.name) * read.element, axis.stride * written.element};
        if (to.key.tensor == "conv" && axis.name == AxisName("step")) box.extent = live_steps(to);
        if (i != split_axis(to)) continue;
        box.extent = parts.count * shared.elements;
        from_byte = (from_first + parts.from_first * shared.elements) * box.from_stride;
        to_byte = (to_first + parts.to_first * shared.elements) * box.to_stride;
      }
      BoxRun run{read.element, written.element};
      const auto rest = fold_box(std::span(axes).first(static_cast<std::size_t>(target.rank())), run);
      for_each_run_of_box(std::span<const BoxAxis>(rest), from_byte, to_byte, [&](std::int64_t at, std::int64_t into) {
        cut_run(read, at, written, into, run, [&](const StatePieceRun& part) { visit(parts.from_rank, part); });
      });
    }
    from_first += rank_share(shared.parts, from_ranks, 0).count * shared.elements;
    to_first += rank_share(shared.parts, to_ranks, 0).count * shared.elements;
  }
}

std::int64_t whole_state_bytes(const HeldTensor& to) {
  const Layout& layout = to.state_tensor().layout;
  Checked elements = 0;
  for (const SharedParts& shared : shared_parts(to)) elements += Checked(shared.parts) * shared.elements;
  for (int i = 0; i < layout.rank(); ++i) {
    if (i == split_axis(to)) continue;
    elements *= to.key.tensor == "conv" && layout[i].name == AxisName("step") ? live_steps(to) : layout[i].extent;
  }
  return elements * element_bytes(to.dtype());
}

}  // namespace hybridkv
