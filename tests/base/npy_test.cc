#include "base/npy.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "base/npy_file.h"
#include "test_paths.h"
#include "tests/scratch_folder.h"

namespace hybridkv {
namespace {

namespace fs = std::filesystem;

/// A file name of its own for one test; the file goes with it.
class TemporaryFile {
 public:
  const fs::path& path() const { return path_; }
  void write(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary) << bytes;
  }

 private:
  testing::ScratchFolder folder_;
  fs::path path_ = folder_.path / "array.npy";
};

std::string file_bytes(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// A file of format version 1.0 with this header text and this many data bytes.
std::string with_header(const std::string& header, std::size_t data_bytes) {
  return std::string("\x93NUMPY\x01", 7) + '\0' + static_cast<char>(header.size() & 0xff) +
         static_cast<char>(header.size() >> 8) + header + std::string(data_bytes, '\0');
}

/// What read_npy says about a file of these bytes, without the file's name; "" where it reads it.
std::string complaint(const std::string& bytes) {
  const TemporaryFile file;
  file.write(bytes);
  try {
    read_npy(file.path());
    return "";
  } catch (const InputError& error) {
    const std::string message = error.what(), prefix = file.path().string() + ": ";
    CHECK_MESSAGE(message.starts_with(prefix), message);
    return message.substr(prefix.size());
  }
}

bool says(const std::string& message, const std::string& part) {
  return message.find(part) != std::string::npos;
}

template <class T>
void round_trip(const std::vector<std::int64_t>& shape, const std::vector<T>& values) {
  const TemporaryFile file;
  write_npy<T>(file.path(), shape, std::span<const T>(values));
  const NpyArray array = read_npy(file.path());
  RC_ASSERT(array.type == npy_type_of<T>);
  RC_ASSERT(array.shape == shape);
  const auto read = array.values<T>();
  RC_ASSERT(read.size() == values.size());
  // Bytes, because NaN differs from itself.
  const auto bytes = std::as_bytes(read), expected = std::as_bytes(std::span<const T>(values));
  RC_ASSERT(std::equal(bytes.begin(), bytes.end(), expected.begin(), expected.end()));
}

TEST_CASE("law: what is written is read back, any type and shape") {
  CHECK(rc::check("round trip", [] {
    const auto extents = rc::gen::inRange<std::int64_t>(0, 5);
    std::vector<std::int64_t> shape = *rc::gen::container<std::vector<std::int64_t>>(extents);
    if (shape.size() > 5) shape.resize(5);
    std::size_t count = 1;
    for (const std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
    round_trip(shape, *rc::gen::container<std::vector<float>>(count, rc::gen::arbitrary<float>()));
    round_trip(shape, *rc::gen::container<std::vector<double>>(count, rc::gen::arbitrary<double>()));
    round_trip(shape, *rc::gen::container<std::vector<std::int64_t>>(count, rc::gen::arbitrary<std::int64_t>()));
    round_trip(shape, *rc::gen::container<std::vector<std::int32_t>>(count, rc::gen::arbitrary<std::int32_t>()));
    round_trip(shape, *rc::gen::container<std::vector<std::uint16_t>>(count, rc::gen::arbitrary<std::uint16_t>()));
    round_trip(shape, *rc::gen::container<std::vector<std::int8_t>>(count, rc::gen::arbitrary<std::int8_t>()));
    round_trip(shape, *rc::gen::container<std::vector<std::uint8_t>>(count, rc::gen::arbitrary<std::uint8_t>()));
  }));
}

TEST_CASE("golden: files of numpy.save are read and written again byte for byte") {
  const fs::path folder = fs::path(HYBRIDKV_TEST_DATA) / "attention" / "doc_example";
  int files = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".npy") continue;
    ++files;
    const NpyArray array = read_npy(entry.path());
    const TemporaryFile copy;
    write_npy(copy.path(), array.type, array.shape, array.bytes);
    CHECK_MESSAGE(file_bytes(copy.path()) == file_bytes(entry.path()), entry.path().string());
  }
  CHECK(files == 9);
  CHECK(read_npy(folder / "block_table.npy").integers() == std::vector<std::int64_t>{1, 2, 5, 3, 4, 6, 4, 7});
}

TEST_CASE("edge: bools, float16, a single number, version 2.0, keys in another order") {
  const TemporaryFile file;
  const bool flags[] = {true, false, true};
  const std::int64_t three[] = {3};
  write_npy<bool>(file.path(), three, flags);
  const NpyArray bools = read_npy(file.path());
  CHECK(bools.type == NpyType::boolean);
  CHECK(std::vector<bool>(bools.values<bool>().begin(), bools.values<bool>().end()) ==
        std::vector<bool>{true, false, true});

  const std::uint16_t one = 0x3c00;
  write_npy(file.path(), NpyType::float16, {}, std::as_bytes(std::span(&one, 1)));
  const NpyArray half = read_npy(file.path());
  CHECK(half.shape.empty());
  CHECK(half.type == NpyType::float16);
  CHECK(half.bytes.size() == 2);

  const std::string header = "{\"shape\":(2,),'fortran_order':False, 'descr':'|u1'}\n";
  std::string version2("\x93NUMPY\x02\0", 8);
  version2 += std::string{static_cast<char>(header.size()), '\0', '\0', '\0'} + header + "\x05\x07";
  file.write(version2);
  const NpyArray array = read_npy(file.path());
  CHECK(array.values<std::uint8_t>()[1] == 7);
}

TEST_CASE("edge: files that are missing, short, long or no .npy files are refused with the numbers") {
  const std::string good = with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 24);
  CHECK(complaint(good) == "");
  CHECK(complaint("") == "the file ends after 0 of 8 bytes of its start");
  CHECK(complaint(good.substr(0, 9)) == "the file ends after 1 of 2 bytes of its header length");
  CHECK(says(complaint(good.substr(0, 30)), "the header should end at byte 69, but the file has 30 bytes"));
  CHECK(complaint(good.substr(0, good.size() - 1)) == "float32 (2, 3) needs 24 bytes, but 23 bytes follow the header");
  CHECK(complaint(good + "xy") == "float32 (2, 3) needs 24 bytes, but 26 bytes follow the header");
  CHECK(says(complaint("PK\x03\x04 a zip archive"), "not a .npy file"));
  std::string version3 = good;
  version3[6] = 3;
  CHECK(says(complaint(version3), "format version 3.0 is not read"));
  CHECK(says(complaint(with_header("{'descr': '|b1', 'fortran_order': False, 'shape': (1,), }", 0) + "\x02"),
             "element 0 is 2, a bool is 0 or 1"));

  const fs::path folder = HYBRIDKV_TEST_DATA;
  CHECK_THROWS_WITH_AS(read_npy(folder / "nothing.npy"), doctest::Contains("nothing.npy: no such file"), InputError);
  CHECK_THROWS_WITH_AS(read_npy(folder), doctest::Contains("not a regular file"), InputError);
}

TEST_CASE("edge: damaged headers and arrays of another kind are refused") {
  const auto complains = [](const std::string& header, const std::string& part) {
    const std::string message = complaint(with_header(header, 24));
    CHECK_MESSAGE(says(message, part), header << " -> " << message);
  };
  complains("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", "Fortran order");
  complains("{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3), }", "'>f4' are big endian");
  complains("{'descr': '|O', 'fortran_order': False, 'shape': (2, 3), }", "'|O' are Python objects");
  complains("{'descr': '<c8', 'fortran_order': False, 'shape': (3,), }", "element type '<c8' is not read; use one of");
  complains("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (6,), }", "records with named fields");
  complains("{'descr': '<f4', 'shape': (2, 3), }", "one of the keys");
  complains("{'descr': '<f4', 'fortran_order': False, 'shape': (2, -3), }", "an extent");
  complains("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)", "'}' expected");
  complains("{'descr': '<f4', 'fortran_order': False, 'shape': (2 3), }", "')' expected");
  complains("{'descr': '<f4' 'fortran_order': False}", "'}' expected");
  complains("{'descr': '<f4', 'fortran_order': 0, 'shape': (6,), }", "True or False expected");
  complains("{'descr': '<f4', 'descr': '<f4', 'shape': (6,), }", "key 'descr' is unknown or repeated");
  complains("{'descr': '<f4', 'fortran_order': False, 'shape': (6,), } x", "text after the dictionary");
  complains("{'descr", "a text without its closing quote");
  complains("", "'{' expected");
  complains("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", "too large for 64 bits");
  complains("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", "too large for 64 bits");
  complains("{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776,), }", "needs 4398046511104 bytes");
}

TEST_CASE("fault: every damaged byte of a header is refused or leaves the data whole") {
  const std::string good = with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 24);
  int refused = 0;
  for (std::size_t i = 0; i < good.size() - 24; ++i) {
    std::string damaged = good;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x15);
    if (!complaint(damaged).empty()) ++refused;
  }
  // A changed space is still refused; nothing in a header is there for show.
  CHECK(refused == static_cast<int>(good.size() - 24));
}

TEST_CASE("edge: an array of another type or shape than expected names its file") {
  const NpyArray array = read_npy(fs::path(HYBRIDKV_TEST_DATA) / "attention" / "doc_example" / "q.npy");
  CHECK_NOTHROW(array.check_shape({14, 4, 32}));
  CHECK_NOTHROW(array.check_shape({-1, 4, -1}));
  CHECK_THROWS_WITH_AS(array.check_shape({14, 4, 64}),
                       doctest::Contains("q.npy: the shape is (14, 4, 32), but (14, 4, 64) is expected"), InputError);
  CHECK_THROWS_WITH_AS(array.check_shape({-1, 4}), doctest::Contains("but (any, 4) is expected"), InputError);
  CHECK_THROWS_WITH_AS(array.values<double>(),
                       doctest::Contains("q.npy: the elements are float32, but float64 are expected"), InputError);
  CHECK_THROWS_WITH_AS(array.integers(), doctest::Contains("but int32 or int64 are expected"), InputError);
}

TEST_CASE("edge: a file that cannot be written is a resource error") {
  const std::int64_t one[] = {1};
  const float value[] = {1.0f};
  CHECK_THROWS_WITH_AS(write_npy<float>("/nowhere/at/all.npy", one, value), doctest::Contains("there is no folder"),
                       InputError);
  if (fs::exists("/dev/full")) {
    const std::vector<float> many(1 << 16);
    const std::int64_t shape[] = {1 << 16};
    CHECK_THROWS_WITH_AS(write_npy<float>("/dev/full", shape, many), doctest::Contains("cannot be written"),
                         ResourceError);
  }
}

TEST_CASE("edge: a header is read without its elements, and a header without end is not read") {
  const NpyHeader header = read_npy_header(fs::path(HYBRIDKV_TEST_DATA) / "attention" / "doc_example" / "q.npy");
  CHECK(header.type == NpyType::float32);
  CHECK(header.shape == std::vector<std::int64_t>{14, 4, 32});
  CHECK(header.data_bytes() == 7168);
  CHECK_THROWS_WITH_AS(header.check_integers(), doctest::Contains("but int32 or int64 are expected"), InputError);
  const TemporaryFile file;
  file.write(std::string("\x93NUMPY\x02\x00", 8) + std::string("\xff\xff\xff\x7f", 4));
  std::error_code error;
  fs::resize_file(file.path(), std::uintmax_t{1} << 32, error);
  if (error) return;
  CHECK_THROWS_WITH_AS(read_npy(file.path()), doctest::Contains("a header of 2147483647 bytes"), InputError);
}

TEST_CASE("edge: what is no file is refused by its kind") {
  const TemporaryFile link;
  fs::create_symlink(link.path(), link.path());
  CHECK_THROWS_WITH_AS(read_npy(link.path()), doctest::Contains("cannot be opened: Too many levels"), InputError);
  CHECK_THROWS_WITH_AS(read_npy(fs::temp_directory_path()), doctest::Contains("not a regular file"), InputError);
  CHECK_THROWS_WITH_AS(read_npy(fs::temp_directory_path() / std::string(300, 'x')),
                       doctest::Contains("cannot be opened: File name too long"), InputError);
}

}  // namespace
}  // namespace hybridkv
