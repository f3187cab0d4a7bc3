#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hybridkv {

/// Element types of .npy files that hybridkv reads and writes. bf16 and fp8 have no type there: they travel as
/// uint16 and uint8 bit patterns.
enum class NpyType { float32, float64, float16, int64, int32, uint16, int8, uint8, boolean };

/// The name NumPy prints: "float32", …, "bool".
std::string_view to_string(NpyType type);

/// Bytes of one element: 8, 4, 2 or 1.
std::int64_t element_bytes(NpyType type);

/// The file type that holds elements of the C++ type T.
template <class T>
inline constexpr NpyType npy_type_of = [] { static_assert(sizeof(T) == 0, "no .npy type for this type"); }();
template <>
inline constexpr NpyType npy_type_of<float> = NpyType::float32;
template <>
inline constexpr NpyType npy_type_of<double> = NpyType::float64;
template <>
inline constexpr NpyType npy_type_of<std::int64_t> = NpyType::int64;
template <>
inline constexpr NpyType npy_type_of<std::int32_t> = NpyType::int32;
template <>
inline constexpr NpyType npy_type_of<std::uint16_t> = NpyType::uint16;
template <>
inline constexpr NpyType npy_type_of<std::int8_t> = NpyType::int8;
template <>
inline constexpr NpyType npy_type_of<std::uint8_t> = NpyType::uint8;
template <>
inline constexpr NpyType npy_type_of<bool> = NpyType::boolean;

/// What the header of a .npy file says.
struct NpyHeader {
  std::string source;               ///< the file, for messages
  NpyType type = NpyType::float32;
  std::vector<std::int64_t> shape;  ///< extents, outermost first; empty for a single number

  /// Throws InputError naming the file where the shape is another one; -1 stands for any extent.
  void check_shape(std::span<const std::int64_t> expected) const;
  void check_shape(std::initializer_list<std::int64_t> expected) const {
    check_shape(std::span<const std::int64_t>(expected.begin(), expected.size()));
  }
  /// Throws InputError naming the file unless the elements are int32 or int64.
  void check_integers() const;
  /// Of all elements, which fit 64 bits.
  std::int64_t data_bytes() const;
};

/// One array as a .npy file holds it.
/// Example: the keys of 14 tokens, 2 heads of 32: type float32, shape {14, 2, 32}, 3584 bytes.
struct NpyArray : NpyHeader {
  std::vector<std::byte> bytes;     ///< elements, little endian, last axis contiguous

  /// The elements. Throws InputError naming the file where it holds elements of another type.
  template <class T>
  std::span<const T> values() const {
    check_type(npy_type_of<T>);
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  /// Integers of an int32 or int64 file. Throws InputError for any other type.
  std::vector<std::int64_t> integers() const;

 private:
  void check_type(NpyType expected) const;
};

/// "(14, 2, 32)", "(14,)", "()".
std::string shape_text(std::span<const std::int64_t> shape);

/// Reads no more than the header, whatever the size of the file. Throws as read_npy, which reads the rest.
NpyHeader read_npy_header(const std::filesystem::path& file);

/// Reads a whole file: format versions 1.0 and 2.0, little endian, C order. Throws InputError, with the file's
/// name and the numbers, where the file is missing, damaged, shorter or longer than its header says, or holds
/// what hybridkv does not read (Fortran order, big endian, objects, records, other element types).
/// Source: NumPy's numpy.lib.format.
NpyArray read_npy(const std::filesystem::path& file);

/// The content of a file of format version 1.0, byte for byte as numpy.save writes it. Pre: the bytes are those of the
/// shape.
std::string npy_text(NpyType type, std::span<const std::int64_t> shape, std::span<const std::byte> bytes);

template <class T>
std::string npy_text(std::span<const std::int64_t> shape, std::span<const T> values) {
  return npy_text(npy_type_of<T>, shape, std::as_bytes(values));
}

}  // namespace hybridkv
