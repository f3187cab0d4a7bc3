#include "measure/machine_rates.h"

#include <doctest/doctest.h>

#include <chrono>
#include <vector>

#include "attention/amx.h"
#include "measure/best_rate.h"
#include "measure/machine_peak.h"
#include "measure/peak_loops.h"
#include "measure/streaming_read.h"

namespace hybridkv::test {
namespace {

TEST_CASE("law: in every round every thread does its part once") {
  std::vector<std::int64_t> done(3);
  std::int64_t took_part = 0;
  const double rate = best_rate(3, 7, [&](std::int64_t thread, std::int64_t threads) {
    if (thread == 0) took_part = threads;
    ++done[thread];
    return 1.0;
  });
  CHECK(rate > 0);
  CHECK((took_part >= 1 && took_part <= 3));
  for (std::int64_t thread = 0; thread < took_part; ++thread) CHECK(done[thread] == 7);
}

TEST_CASE("law: a rate is that of the best round, of each thread over its own time") {
  const auto after = [](double seconds) {
    const auto start = std::chrono::steady_clock::now();
    while (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < seconds) continue;
  };
  int round = 0;
  const double rate = best_rate(1, 3, [&](std::int64_t, std::int64_t) {
    after(++round == 2 ? 0.001 : 0.02);
    return 5.0;
  });
  CHECK(rate > 5 / 0.02);
  CHECK(rate <= 5 / 0.001);
}

TEST_CASE("law: a machine computes by the instructions of its fastest path, and reads from memory") {
  ResidentBudget budget(std::int64_t{2} << 30);
  const MachineRates rates = measure_machine({1, 2}, budget);
  CHECK(budget.charged_bytes() == 0);
  for (const std::int64_t threads : {1, 2}) {
    const auto has = [&](Arithmetic arithmetic) {
      for (const MachineRates::Peak& peak : rates.peaks)
        if (peak.threads == threads && peak.arithmetic == arithmetic) return peak.flops_per_second > 0;
      return false;
    };
    CHECK(has(Arithmetic::fp64_plain));
    for (const SimdPath path : available_simd_paths()) CHECK(has(float_arithmetic(path)));
    CHECK(has(Arithmetic::bf16_avx512) == is_available(SimdPath::avx512bf16));
    CHECK(has(Arithmetic::bf16_tiles) == may_use_amx());
  }
  for (const MachineRates::Read& read : rates.reads) CHECK(read.bytes_per_second > 0);
  CHECK(rates.reads.back().level == MemoryLevel::memory);
  CHECK(rates.reads.back().threads == 2);
  // Half a gibibyte at most, however large the caches are that it has to be more than.
  CHECK(rates.reads.back().bytes <= 1 << 29);
}

TEST_CASE("edge: where there is no room for a buffer the level is left out, and the rest is measured") {
  for (const std::int64_t room : {0, 1 << 24}) {
    ResidentBudget budget(room);
    const MachineRates rates = measure_machine({1}, budget);
    for (const MachineRates::Read& read : rates.reads) CHECK(read.bytes <= room);
    CHECK(rates.peaks.size() >= 2);
  }
}

TEST_CASE("law: no byte of a line is left out, in one stream or eight, with loads of any width") {
  // 43 lines: eight streams of 5 lines, and 3 lines that they do not divide.
  constexpr std::int64_t lines = 43, line_bytes = 64;
  std::vector<std::byte> memory(lines * line_bytes);
  for (const SimdPath path : available_simd_paths())
    for (const std::int64_t streams : {1, 8}) {
      CAPTURE(to_string(path));
      CAPTURE(streams);
      CHECK(read_lines(memory.data(), lines, streams, path) == 0);
      const std::int64_t bytes_read = lines / streams * streams * line_bytes;
      std::int64_t seen = 0;
      for (std::int64_t at = 0; at < std::ssize(memory); ++at) {
        memory[at] = std::byte{0x5a};
        const std::uint64_t read = read_lines(memory.data(), lines, streams, path);
        memory[at] = std::byte{0};
        const std::uint64_t wanted = at < bytes_read ? std::uint64_t{0x5a} << (at % 8 * 8) : 0;
        seen += read == wanted;
      }
      CHECK(seen == std::ssize(memory));
    }
}

TEST_CASE("law: few bytes are read as whole lines, by any number of threads") {
  const StreamingRead read(1 << 20);
  for (const std::int64_t bytes : {1, 64, 4096, 1 << 20})
    for (const std::int64_t threads : {1, 3}) {
      const double rate = read.bytes_per_second(bytes, threads);
      CHECK(rate > 0);
      // No core loads more than three times 64 bytes in each of 6 10^9 cycles a second.
      CHECK(rate < 1.2e12 * static_cast<double>(threads));
    }
}

TEST_CASE("law: a loop is there where a kernel of its instructions is") {
  for (const Arithmetic plain : {Arithmetic::fp64_plain, Arithmetic::fp32_plain}) CHECK(peak_loop(plain));
  for (const Arithmetic wide : {Arithmetic::fp64_avx, Arithmetic::fp32_avx2})
    CHECK(peak_loop(wide).has_value() == is_available(SimdPath::avx2));
  CHECK(peak_loop(Arithmetic::fp32_avx512).has_value() == is_available(SimdPath::avx512));
  CHECK(peak_loop(Arithmetic::bf16_avx512).has_value() == is_available(SimdPath::avx512bf16));
  CHECK(peak_loop(Arithmetic::bf16_tiles).has_value() == is_available(SimdPath::amx));
}

TEST_CASE("law: a step of a peak loop has as many operations as it is counted for") {
  for (const Arithmetic arithmetic : all_arithmetics)
    if (const std::optional<PeakLoop> loop = peak_loop(arithmetic)) {
      CAPTURE(to_string(arithmetic));
      CHECK(loop->run(1) == loop->flops_of_step / 2 * peak_product);
    }
}

TEST_CASE("law: wider instructions of a type are no slower") {
  if (!is_available(SimdPath::avx2)) return;
  // Once out of many times: another program may take the processor in the middle of either.
  const auto rate = [](Arithmetic arithmetic) { return peak_flops_per_second(arithmetic, 1); };
  bool is_faster = false;
  for (int round = 0; round < 20 && !is_faster; ++round)
    is_faster = rate(Arithmetic::fp32_avx2) > 0.9 * rate(Arithmetic::fp32_plain);
  CHECK(is_faster);
}

}  // namespace
}  // namespace hybridkv::test
