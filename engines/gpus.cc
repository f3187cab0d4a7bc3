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

/// GB/s of the memory; dense TFLOP/s in bf16, fp8 and fp4, 0 without such units; GB/s between GPUs, one way.
consteval GpuSpeed speed(double memory, double bf16, double fp8, double fp4, double link) {
  // Measured of a delta rule on Hopper and on Blackwell (clock/step_clock.cc); others are taken to be slower by their
  // products in bf16.
  constexpr double hopper = 2.5e-9, hopper_tflops = 989, blackwell = 1.75e-9, blackwell_tflops = 2250;
  const double older = hopper * hopper_tflops / bf16;
  const double scan = bf16 >= blackwell_tflops ? blackwell : bf16 >= hopper_tflops ? hopper : older;
  return {memory * 1e9, bf16 * 1e12, fp8 * 1e12, fp4 * 1e12, link * 1e9, scan};
}

// Source of the speeds: datasheets of the makers, without sparsity; those of L40S as its datasheet prints them, which
// is with it in bf16 (362). Cards without NVLink: PCIe.
// Source of the bytes: torch.cuda.mem_get_info in logs of these cards; of those in GiB, "GPU 0 has a total capacity of"
// of PyTorch where their memory was too small, the figure that most logs have (drivers differ by some 0.1 GiB).
constexpr std::array gpus{
    Gpu{"H100", 85'017'493'504, BackendProfile::sm90, speed(3350, 989, 1978, 0, 450)},
    Gpu{"H200", printed(139.80), BackendProfile::sm90, speed(4800, 989, 1978, 0, 450)},
    Gpu{"B200", printed(178.35), BackendProfile::sm100_flashinfer, speed(7700, 2250, 4500, 9000, 900)},
    Gpu{"B300", printed(267.69), BackendProfile::sm100_flashinfer, speed(7750, 2250, 4500, 14000, 900)},
    Gpu{"GB200", printed(184.31), BackendProfile::sm100_flashinfer, speed(8000, 2500, 5000, 10000, 900)},
    Gpu{"GB300", printed(276.50), BackendProfile::sm100_flashinfer, speed(8000, 2500, 5000, 15000, 900)},
    Gpu{"A100-PCIe", 85'093'777'408, BackendProfile::sm80, speed(1935, 312, 0, 0, 300)},
    Gpu{"A100-SXM-80GB", printed(79.25), BackendProfile::sm80, speed(2039, 312, 0, 0, 300)},
    Gpu{"A100-SXM-40GB", printed(39.49), BackendProfile::sm80, speed(1555, 312, 0, 0, 300)},
    Gpu{"L4", 23'659'151'360, BackendProfile::sm80, speed(300, 121, 242, 0, 32)},
    Gpu{"L40S", printed(44.40), BackendProfile::sm80, speed(864, 362.05, 733, 0, 32)},
    Gpu{"RTX-4090", 25'250'627'584, BackendProfile::sm80, speed(1008, 165.2, 330.3, 0, 32)},
    Gpu{"RTX-5090", printed(31.36), BackendProfile::sm80, speed(1792, 209.5, 419, 838, 64)},
    Gpu{"RTX-PRO-6000", printed(94.97), BackendProfile::sm80, speed(1792, 467.8, 935.6, 1871.2, 64)},
    Gpu{"RTX-A6000", 50'899'648'512, BackendProfile::sm80, speed(768, 154.8, 0, 0, 32)},
    Gpu{"MI300X", printed(191.98), BackendProfile::rocm, speed(5300, 1307.4, 2614.9, 0, 448)},
    Gpu{"MI325X", printed(255.98), BackendProfile::rocm, speed(6000, 1307.4, 2614.9, 0, 448)},
    Gpu{"MI355X", printed(287.98), BackendProfile::rocm, speed(8000, 2516.6, 5033.2, 10066.3, 537.6)},
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
