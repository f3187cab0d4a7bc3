#include "base/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <fstream>
#include <optional>
#include <system_error>

#include "base/checked.h"
#include "base/error.h"

namespace hybridkv {

static_assert(std::endian::native == std::endian::little, "elements are copied as they lie in memory");

namespace {

struct TypeInfo {
  NpyType type;
  std::string_view name;
  std::string_view descr;
  std::int64_t bytes;
};
constexpr std::array<TypeInfo, 9> type_infos{{{NpyType::float32, "float32", "<f4", 4},
                                              {NpyType::float64, "float64", "<f8", 8},
                                              {NpyType::float16, "float16", "<f2", 2},
                                              {NpyType::int64, "int64", "<i8", 8},
                                              {NpyType::int32, "int32", "<i4", 4},
                                              {NpyType::uint16, "uint16", "<u2", 2},
                                              {NpyType::int8, "int8", "|i1", 1},
                                              {NpyType::uint8, "uint8", "|u1", 1},
                                              {NpyType::boolean, "bool", "|b1", 1}}};

const TypeInfo& info(NpyType type) {
  for (const TypeInfo& candidate : type_infos)
    if (candidate.type == type) return candidate;
  throw std::logic_error("an element type outside its enumeration");
}

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t largest_header_bytes = std::size_t{1} << 20;  // NumPy itself stops at 10,000

NpyType parse_descr(std::string_view descr) {
  for (const TypeInfo& candidate : type_infos)
    if (candidate.descr == descr) return candidate.type;
  if (descr.starts_with('>'))
    throw InputError(fmt::format("elements '{}' are big endian; save them little endian", descr));
  if (descr.find('O') != std::string_view::npos)
    throw InputError(fmt::format("elements '{}' are Python objects; save plain numbers", descr));
  std::string known;
  for (const TypeInfo& candidate : type_infos)
    known += fmt::format("{}{} ('{}')", known.empty() ? "" : ", ", candidate.name, candidate.descr);
  throw InputError(fmt::format("element type '{}' is not read; use one of {}", descr, known));
}

/// Reads the header: the literal of a Python dictionary with the keys descr, fortran_order and shape.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  NpyHeader parse() {
    std::optional<NpyType> type;
    std::optional<bool> fortran_order;
    std::optional<std::vector<std::int64_t>> shape;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = string();
      expect(':');
      if (key == "descr" && !type) type = descr();
      else if (key == "fortran_order" && !fortran_order) fortran_order = boolean();
      else if (key == "shape" && !shape) shape = tuple();
      else fail(fmt::format("key '{}' is unknown or repeated", key));
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (position_ != text_.size()) fail("text after the dictionary");
    if (!type || !fortran_order || !shape) fail("one of the keys 'descr', 'fortran_order', 'shape' is missing");
    if (*fortran_order) throw InputError("the array is in Fortran order; save it in C order (numpy.ascontiguousarray)");
    return {.source = {}, .type = *type, .shape = *shape};
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw InputError(fmt::format("damaged header at character {} of {}: {}", position_, text_.size(), what));
  }
  void skip_space() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\n')) ++position_;
  }
  bool accept(char wanted) {
    skip_space();
    if (position_ == text_.size() || text_[position_] != wanted) return false;
    ++position_;
    return true;
  }
  void expect(char wanted) {
    if (!accept(wanted)) fail(fmt::format("'{}' expected", wanted));
  }
  bool accept_word(std::string_view word) {
    skip_space();
    if (!text_.substr(position_).starts_with(word)) return false;
    position_ += word.size();
    return true;
  }

  std::string_view string() {
    skip_space();
    const char quote = position_ < text_.size() ? text_[position_] : '\0';
    if (quote != '\'' && quote != '"') fail("a quoted text expected");
    const std::size_t end = text_.find(quote, position_ + 1);
    if (end == std::string_view::npos) fail("a text without its closing quote");
    const std::string_view content = text_.substr(position_ + 1, end - position_ - 1);
    position_ = end + 1;
    return content;
  }
  NpyType descr() {
    skip_space();
    if (position_ < text_.size() && text_[position_] == '[')
      throw InputError("the elements are records with named fields; save plain numbers");
    return parse_descr(string());
  }
  bool boolean() {
    if (accept_word("True")) return true;
    if (accept_word("False")) return false;
    fail("True or False expected");
  }
  std::int64_t number() {
    skip_space();
    const std::size_t start = position_;
    Checked value = 0;
    for (; position_ < text_.size() && text_[position_] >= '0' && text_[position_] <= '9'; ++position_)
      value = value * 10 + (text_[position_] - '0');
    if (position_ == start) fail("an extent (a number that is not negative) expected");
    return value;
  }
  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> values;
    expect('(');
    while (!accept(')')) {
      values.push_back(number());
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return values;
  }

  std::string_view text_;
  std::size_t position_ = 0;
};

/// Bytes of all elements. Throws InputError where they do not fit 64 bits.
std::int64_t bytes_of(NpyType type, std::span<const std::int64_t> shape) {
  Checked bytes = element_bytes(type);
  for (const std::int64_t extent : shape) bytes *= extent;
  return bytes;
}

std::string read_text(std::istream& stream, std::size_t length, std::string_view what) {
  std::string text(length, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(length));
  if (static_cast<std::size_t>(stream.gcount()) != length)
    throw InputError(fmt::format("the file ends after {} of {} bytes of its {}", stream.gcount(), length, what));
  return text;
}

/// Little-endian number of the file's preamble.
std::size_t little_endian(std::string_view bytes) {
  std::size_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

/// Reads up to the first element, and checks that the file is as long as its header says.
NpyHeader read_header(std::istream& stream, std::int64_t file_bytes) {
  const std::string start = read_text(stream, magic.size() + 2, "start");
  if (!std::string_view(start).starts_with(magic)) throw InputError("not a .npy file: the magic \\x93NUMPY is missing");
  const int major = static_cast<unsigned char>(start[magic.size()]);
  const int minor = static_cast<unsigned char>(start[magic.size() + 1]);
  if ((major != 1 && major != 2) || minor != 0)
    throw InputError(fmt::format("format version {}.{} is not read; use 1.0 or 2.0", major, minor));
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  const std::size_t header_bytes = little_endian(read_text(stream, length_bytes, "header length"));
  if (header_bytes > largest_header_bytes)
    throw InputError(fmt::format("a header of {} bytes; at most {} are read", header_bytes, largest_header_bytes));
  const auto before_data = static_cast<std::int64_t>(start.size() + length_bytes + header_bytes);
  if (before_data > file_bytes)
    throw InputError(
        fmt::format("the header should end at byte {}, but the file has {} bytes", before_data, file_bytes));
  NpyHeader header = HeaderParser(read_text(stream, header_bytes, "header")).parse();
  const std::int64_t expected = header.data_bytes();
  const std::int64_t present = file_bytes - before_data;
  if (present != expected)
    throw InputError(fmt::format("{} {} needs {} bytes, but {} bytes follow the header", to_string(header.type),
                                 shape_text(header.shape), expected, present));
  return header;
}

NpyArray read_array(std::istream& stream, NpyHeader header) {
  NpyArray array{std::move(header), {}};
  const std::int64_t expected = array.data_bytes();
  array.bytes.resize(static_cast<std::size_t>(expected));
  stream.read(reinterpret_cast<char*>(array.bytes.data()), expected);
  if (stream.gcount() != expected)
    throw InputError(fmt::format("only {} of {} data bytes could be read", stream.gcount(), expected));
  if (array.type == NpyType::boolean) {
    const auto bad = std::find_if(array.bytes.begin(), array.bytes.end(), [](std::byte b) { return b > std::byte{1}; });
    if (bad != array.bytes.end())
      throw InputError(fmt::format("element {} is {}, a bool is 0 or 1", bad - array.bytes.begin(),
                                   std::to_integer<int>(*bad)));
  }
  return array;
}

/// An open file and its size.
struct OpenFile {
  std::ifstream stream;
  std::int64_t bytes = 0;
};

OpenFile open_file(const std::filesystem::path& file) {
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (status.type() == std::filesystem::file_type::not_found) throw InputError("no such file");
  if (error) throw InputError("cannot be opened: " + error.message());
  if (!std::filesystem::is_regular_file(status)) throw InputError("not a regular file");
  OpenFile open{std::ifstream(file, std::ios::binary), 0};
  if (!open.stream) throw InputError(fmt::format("cannot be opened: {}", std::generic_category().message(errno)));
  open.bytes = static_cast<std::int64_t>(std::filesystem::file_size(file, error));
  if (error) throw InputError("its size cannot be told: " + error.message());
  return open;
}

/// Puts the file's name before what is wrong with it.
template <class Read>
auto read_named(const std::filesystem::path& file, Read read) {
  try {
    auto result = read();
    result.source = file.string();
    return result;
  } catch (const InputError& error) {
    throw InputError(file.string() + ": " + error.what());
  }
}

}  // namespace

std::string_view to_string(NpyType type) { return info(type).name; }

std::int64_t element_bytes(NpyType type) { return info(type).bytes; }

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text = fmt::format("{}", fmt::join(shape, ", "));
  if (shape.size() == 1) text += ",";
  return "(" + text + ")";
}

std::int64_t NpyHeader::data_bytes() const { return bytes_of(type, shape); }

void NpyHeader::check_integers() const {
  if (type != NpyType::int64 && type != NpyType::int32)
    throw InputError(fmt::format("{}: the elements are {}, but int32 or int64 are expected", source, to_string(type)));
}

std::vector<std::int64_t> NpyArray::integers() const {
  check_integers();
  if (type == NpyType::int64) {
    const auto wide = values<std::int64_t>();
    return {wide.begin(), wide.end()};
  }
  const auto narrow = values<std::int32_t>();
  return {narrow.begin(), narrow.end()};
}

void NpyHeader::check_shape(std::span<const std::int64_t> expected) const {
  const bool fits = std::equal(shape.begin(), shape.end(), expected.begin(), expected.end(),
                               [](std::int64_t have, std::int64_t want) { return want == -1 || have == want; });
  if (fits) return;
  std::string wanted = shape_text(expected);
  for (std::size_t at; (at = wanted.find("-1")) != std::string::npos;) wanted.replace(at, 2, "any");
  throw InputError(fmt::format("{}: the shape is {}, but {} is expected", source, shape_text(shape), wanted));
}

void NpyArray::check_type(NpyType expected) const {
  if (type != expected)
    throw InputError(
        fmt::format("{}: the elements are {}, but {} are expected", source, to_string(type), to_string(expected)));
}

NpyHeader read_npy_header(const std::filesystem::path& file) {
  return read_named(file, [&] {
    OpenFile open = open_file(file);
    return read_header(open.stream, open.bytes);
  });
}

NpyArray read_npy(const std::filesystem::path& file) {
  return read_named(file, [&] {
    OpenFile open = open_file(file);
    return read_array(open.stream, read_header(open.stream, open.bytes));
  });
}

std::string npy_text(NpyType type, std::span<const std::int64_t> shape, std::span<const std::byte> bytes) {
  expects(static_cast<std::int64_t>(bytes.size()) == bytes_of(type, shape), "the bytes are those of the shape");
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", info(type).descr,
                                   shape_text(shape));
  // Like NumPy: leave room for 21 digits of the first extent, then let the data start on a multiple of 64 bytes.
  if (!shape.empty()) header.append(21 - fmt::formatted_size("{}", shape[0]), ' ');
  const std::size_t preamble_bytes = magic.size() + 4;
  const std::size_t unpadded = preamble_bytes + header.size() + 1;
  header.append((64 - unpadded % 64) % 64, ' ');
  header.push_back('\n');
  expects(header.size() <= 0xffff, "the header fits format version 1.0");

  std::string text(magic);
  text += {'\1', '\0', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  text += header;
  text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text;
}

}  // namespace hybridkv
