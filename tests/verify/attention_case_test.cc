#include "verify/attention_case.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "attention/reference.h"
#include "attention/unified.h"
#include "base/error.h"
#include "base/npy_file.h"
#include "tests/scratch_folder.h"
#include "tests/verify/plans.h"
#include "verify/verify.h"
#include "test_paths.h"

using namespace hybridkv;
using hybridkv::testing::ScratchFolder;
namespace fs = std::filesystem;

namespace {

fs::path copy_of_case(const ScratchFolder& scratch, const char* name) {
  fs::copy(fs::path(HYBRIDKV_TEST_DATA) / "attention" / name, scratch.path / name, fs::copy_options::recursive);
  return scratch.path / name;
}

/// A file of zeros behind a header, which takes no room; false where the file system has none of that size.
bool write_zeros(const fs::path& file, const std::string& type, const std::string& shape, std::int64_t bytes) {
  std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }";
  header.resize(117, ' ');
  std::ofstream(file, std::ios::binary) << std::string("\x93NUMPY\x01\x00\x76\x00", 10) << header << "\n";
  std::error_code error;
  fs::resize_file(file, 128 + static_cast<std::uintmax_t>(bytes), error);
  return !error;
}

double largest_difference(std::span<const double> a, std::span<const double> b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i] != b[i]) largest = std::max(largest, std::isnan(a[i] - b[i]) ? INFINITY : std::abs(a[i] - b[i]));
  return largest;
}

}  // namespace

TEST_CASE("golden: published batches read from their folders give the published output") {
  for (const char* name : {"doc_example", "doc_example_unshared", "shared_prefill_decode_bs4", "vllm_mixed_small",
                           "vllm_small_decode", "vllm_small_prefill"}) {
    CAPTURE(name);
    ScratchFolder scratch;
    const fs::path folder = copy_of_case(scratch, name);
    const AttentionCase batch = load_attention_case(folder);
    const AttentionOutput<double> output = unified_attention<double>(batch.inputs).output;
    CHECK(largest_difference(output.out, read_npy(folder / "out_ref_f64.npy").values<double>()) <= 1e-12);
    write_attention_output(folder, batch.inputs, output);
    CHECK(largest_difference(read_npy(folder / "out.npy").values<double>(), output.out) == 0);
    CHECK(largest_difference(read_npy(folder / "lse.npy").values<double>(), output.lse) == 0);
  }
}

TEST_CASE("law: what verify exports is read back and gives what verify computed") {
  for (const DType dtype : {DType::fp32, DType::bf16, DType::fp8_e4m3}) {
    CAPTURE(to_string(dtype));
    ScratchFolder scratch;
    VerifySpec spec;
    spec.export_folder = scratch.path / "export";
    const CachePlan plan = testing::small_plan(3, CacheMode::align, dtype);
    REQUIRE(verify_plan(plan, spec).passed());
    std::size_t layers = 0;
    for (const fs::directory_entry& entry : fs::directory_iterator(spec.export_folder)) {
      if (!entry.path().filename().string().starts_with("layer_")) continue;
      ++layers;
      const AttentionCase batch = load_attention_case(entry.path());
      const AttentionOutput<double> again = reference_attention(batch.inputs);
      // What bytes with a scale stand for is exported rounded to float32.
      const double allowed = dtype == DType::fp8_e4m3 ? 1e-6 : 1e-12;
      CHECK(largest_difference(again.out, read_npy(entry.path() / "out_ref_f64.npy").values<double>()) <= allowed);
    }
    CHECK(layers == 6);
    const NpyArray blocks = read_npy(spec.export_folder / "pages" / "blocks.npy");
    read_npy(spec.export_folder / "pages" / "pool_0.npy").check_shape({blocks.shape[0], plan.page_bytes()});
    CHECK_THROWS_WITH_AS(verify_plan(plan, spec), doctest::Contains("exists already"), InputError);
  }
}

TEST_CASE("edge: unsigned bytes without a scale are exported as what they are") {
  ScratchFolder scratch;
  VerifySpec spec;
  spec.export_folder = scratch.path / "export";
  verify_plan(testing::small_plan(3, CacheMode::align, DType::uint8), spec);
  CHECK(read_npy_header(spec.export_folder / "layer_1" / "kv_cache.npy").type == NpyType::uint8);
}

TEST_CASE("edge: a folder that lacks a file or contradicts itself is refused with the file's name") {
  ScratchFolder scratch;
  CHECK_THROWS_WITH_AS(load_attention_case(scratch.path / "nowhere"), doctest::Contains("no such folder"), InputError);
  const fs::path folder = copy_of_case(scratch, "doc_example");
  const auto refused = [&](const char* file, const std::string& text, const char* message) {
    const fs::path path = folder / file;
    const fs::path kept = scratch.path / "kept";
    fs::rename(path, kept);
    if (!text.empty()) std::ofstream(path) << text;
    CHECK_THROWS_WITH_AS(load_attention_case(folder), doctest::Contains(message), InputError);
    fs::remove(path);
    fs::rename(kept, path);
  };
  refused("q.npy", "", "q.npy");
  refused("kv_cache.npy", "no array", "kv_cache.npy");
  refused("case.json", "{\"scale\": \"wide\"}", "case.json");
  refused("case.json", "{\"dtype\": \"fp12\"}", "dtype: \"fp12\", where one of");
  refused("case.json", "{\"num_kv_heads\": 3}", "num_kv_heads: 3, but the tensors have 2");
  refused("case.json", "{\"query_lens\": [8, 4, 2, 1]}", "query_lens: value 2 is 2, but");
  refused("case.json", "{\"context_lens\": [0, 4, 6]}", "context_lens: holds 3 values, 4 are expected");
  refused("case.json", "{", "case.json");
  write_npy<std::int64_t>(folder / "context_lens.npy", std::vector<std::int64_t>{4},
                          std::vector<std::int64_t>{0, 4, 6, 5});
  write_npy<std::int64_t>(folder / "seq_lens.npy", std::vector<std::int64_t>{4}, std::vector<std::int64_t>{8, 8, 7, 5});
  CHECK_THROWS_WITH_AS(load_attention_case(folder), doctest::Contains("value 3 is 5"), InputError);
  write_npy<std::int64_t>(folder / "query_lens.npy", std::vector<std::int64_t>{3}, std::vector<std::int64_t>{8, 4, 3});
  CHECK_THROWS_WITH_AS(load_attention_case(folder),
                       doctest::Contains("query_lens.npy: the shape is (3,), but (4,) is expected"), InputError);
}

TEST_CASE("edge: bit patterns need a dtype, case.json may be missing altogether") {
  ScratchFolder scratch;
  const fs::path folder = copy_of_case(scratch, "vllm_small_prefill");
  fs::remove(folder / "case.json");
  const AttentionCase batch = load_attention_case(folder);
  CHECK(batch.inputs.scale == doctest::Approx(1.0 / std::sqrt(128.0)));
  CHECK(batch.inputs.is_decode == std::vector<bool>(2, false));
  const NpyArray cache = read_npy(folder / "kv_cache.npy");
  std::vector<std::byte> halves(cache.bytes.size() / 2);
  write_npy(folder / "kv_cache.npy", NpyType::uint16, cache.shape, halves);
  CHECK_THROWS_WITH_AS(load_attention_case(folder), doctest::Contains("names no \"dtype\""), InputError);
  std::ofstream(folder / "case.json") << "{\"dtype\": \"fp8_e4m3\"}";
  CHECK_THROWS_WITH_AS(load_attention_case(folder), doctest::Contains("no bit patterns of fp8_e4m3"), InputError);
}

TEST_CASE("edge: shapes are compared before a huge file is read") {
  ScratchFolder scratch;
  const fs::path folder = copy_of_case(scratch, "doc_example");
  const std::int64_t many = std::int64_t{1} << 40;
  for (const char* name : {"query_lens.npy", "context_lens.npy", "seq_lens.npy", "slot_mapping.npy"}) {
    CAPTURE(name);
    const bool existed = fs::exists(folder / name);
    if (existed) fs::rename(folder / name, scratch.path / "own");
    if (!write_zeros(folder / name, "<i8", "(1099511627776,)", 8 * many)) {
      std::printf("SKIPPED: no sparse file of 8 TiB\n");
    } else {
      CHECK_THROWS_WITH_AS(load_attention_case(folder), doctest::Contains("the shape is (1099511627776,)"), InputError);
    }
    fs::remove(folder / name);
    if (existed) fs::rename(scratch.path / "own", folder / name);
  }
}

TEST_CASE("edge: a case of more than the free memory is refused with what it takes, before it is read") {
  ScratchFolder scratch;
  const fs::path folder = copy_of_case(scratch, "doc_example");
  const std::int64_t tokens = std::int64_t{1} << 31;
  if (!write_zeros(folder / "q.npy", "<f4", "(2147483648, 4, 32)", tokens * 4 * 32 * 4) ||
      !write_zeros(folder / "k_new.npy", "<f4", "(2147483648, 2, 32)", tokens * 2 * 32 * 4) ||
      !write_zeros(folder / "v_new.npy", "<f4", "(2147483648, 2, 32)", tokens * 2 * 32 * 4)) {
    std::printf("SKIPPED: no sparse files of 2 TiB\n");
    return;
  }
  // Tokens of 1,024 bytes are read and stand beside it once more as floats: 2^31 * 2,048. The cache has 13 * 2 * 4 * 2
  // * 32 floats, 26,624 bytes, the block table 4 x 2 integers of 4 bytes, and four lengths of 4 bytes count four times.
  CHECK_THROWS_WITH_AS(load_attention_case(folder),
                       doctest::Contains("needs 4398046537824 bytes (4.00 TiB) of resident memory"), ResourceError);
}

TEST_CASE("edge: lengths that sum to more tokens than there are queries are refused before anything is made of them") {
  ScratchFolder scratch;
  const fs::path folder = copy_of_case(scratch, "doc_example");
  write_npy<std::int64_t>(folder / "query_lens.npy", std::vector<std::int64_t>{4},
                          std::vector<std::int64_t>{std::int64_t{1} << 62, 4, 1, 1});
  CHECK_THROWS_WITH_AS(load_attention_case(folder),
                       doctest::Contains("query_lens.npy: the lengths sum to 4611686018427387910 tokens, but"),
                       InputError);
}

TEST_CASE("edge: both results or neither, whatever stands in their way") {
  ScratchFolder scratch;
  const fs::path folder = copy_of_case(scratch, "doc_example");
  fs::create_directory(folder / "lse.npy");
  const AttentionCase batch = load_attention_case(folder);
  const AttentionOutput<double> output = unified_attention<double>(batch.inputs).output;
  CHECK_THROWS_WITH_AS(write_attention_output(folder, batch.inputs, output), doctest::Contains("lse.npy: is a folder"),
                       InputError);
  CHECK_FALSE(fs::exists(folder / "out.npy"));
}
