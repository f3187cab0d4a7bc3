#include "ask/conform/figure_place.h"

namespace hybridkv {

FigurePlace figure_place(const std::string& figure) {
  FigurePlace place;
  for (std::size_t at = 0; at < figure.size(); ++at) {
    if (figure[at] != '[') {
      place.name += figure[at];
      continue;
    }
    const std::size_t end = figure.find(']', at);
    if (!place.position) place.position = std::stoul(figure.substr(at + 1, end - at - 1));
    at = end;
  }
  return place;
}

}  // namespace hybridkv
