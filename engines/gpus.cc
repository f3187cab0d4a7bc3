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

/// As PyTorch prints the capacity of a card, to 0.01 GiB.
consteval std::int64_t printed(double gib) { return static_cast<std::int64_t>(gib * (std::int64_t{1} << 30)); }

// Source of the bytes: torch.cuda.mem_get_info in logs of these cards; of those in GiB, "GPU 0 has a total capacity of"
// of PyTorch where their memory was too small, the figure that most logs have (drivers differ by some 0.1 GiB).
constexpr std::array gpus{
    Gpu{"H100", 85'017'493'504, BackendProfile::sm90},
    Gpu{"H200", printed(139.80), BackendProfile::sm90},
    Gpu{"B200", printed(178.35), BackendProfile::sm100_flashinfer},
    Gpu{"B300", printed(267.69), BackendProfile::sm100_flashinfer},
    Gpu{"GB200", printed(184.31), BackendProfile::sm100_flashinfer},
    Gpu{"GB300", printed(276.50), BackendProfile::sm100_flashinfer},
    Gpu{"A100-PCIe", 85'093'777'408, BackendProfile::sm80},
    Gpu{"A100-SXM-80GB", printed(79.25), BackendProfile::sm80},
    Gpu{"A100-SXM-40GB", printed(39.49), BackendProfile::sm80},
    Gpu{"L4", 23'659'151'360, BackendProfile::sm80},
    Gpu{"L40S", printed(44.40), BackendProfile::sm80},
    Gpu{"RTX-4090", 25'250'627'584, BackendProfile::sm80},
    Gpu{"RTX-5090", printed(31.36), BackendProfile::sm80},
    Gpu{"RTX-PRO-6000", printed(94.97), BackendProfile::sm80},
    Gpu{"RTX-A6000", 50'899'648'512, BackendProfile::sm80},
    Gpu{"MI300X", printed(191.98), BackendProfile::rocm},
    Gpu{"MI325X", printed(255.98), BackendProfile::rocm},
    Gpu{"MI355X", printed(287.98), BackendProfile::rocm},
};

/// "NVIDIA RTX A6000" and "rtx-a6000" as "a6000".
std::string reduced(std::string_view name) {
  std::string letters;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)))
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const std::string_view before : {"nvidia", "geforce", "amd", "instinct", "rtx"})
    if (letters.starts_with(before)) letters.erase(0, before.size());
  return letters;
}

}  // namespace

std::span<const Gpu> known_gpus() { return gpus; }

Gpu unnamed_gpu(std::int64_t total_bytes) { return {"GPU", total_bytes, std::nullopt}; }

const Gpu& find_gpu(const std::string& name) {
  const auto found =
      std::find_if(gpus.begin(), gpus.end(), [&](const Gpu& gpu) { return reduced(gpu.name) == reduced(name); });
  if (found != gpus.end()) return *found;
  std::vector<std::string> names;
  for (const Gpu& gpu : gpus) names.emplace_back(gpu.name);
  throw InputError(fmt::format("--gpu {}: its memory is not known; any other GPU goes by --gpu-memory, or by "
                               "--available-memory as the engine prints it{}", name,
                               suggestion(name, names, "known:")));
}

}  // namespace hybridkv
