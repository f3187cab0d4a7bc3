#include "engines/gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "base/error.h"
#include "base/suggest.h"

namespace hybridkv {

namespace {

// Source of the bytes: torch.cuda.mem_get_info in logs of these cards.
constexpr std::array gpus{
    Gpu{"H100", 85'017'493'504, BackendProfile::sm90},
    Gpu{"A100-PCIe", 85'093'777'408, BackendProfile::sm80},
    Gpu{"L4", 23'659'151'360, BackendProfile::sm80},
    Gpu{"RTX-4090", 25'250'627'584, BackendProfile::sm80},
    Gpu{"RTX-A6000", 50'899'648'512, BackendProfile::sm80},
};

/// "NVIDIA RTX A6000" and "rtx-a6000" as "a6000".
std::string reduced(std::string_view name) {
  std::string letters;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)))
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const std::string_view before : {"nvidia", "geforce", "rtx"})
    if (letters.starts_with(before)) letters.erase(0, before.size());
  return letters;
}

}  // namespace

std::span<const Gpu> known_gpus() { return gpus; }

const Gpu& find_gpu(const std::string& name) {
  const auto found =
      std::find_if(gpus.begin(), gpus.end(), [&](const Gpu& gpu) { return reduced(gpu.name) == reduced(name); });
  if (found != gpus.end()) return *found;
  std::vector<std::string> names;
  for (const Gpu& gpu : gpus) names.emplace_back(gpu.name);
  throw InputError(fmt::format("--gpu {}: its memory is not known; any other GPU goes by --available-memory, as the "
                               "engine prints it{}", name, suggestion(name, names, "known:")));
}

}  // namespace hybridkv
