#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hybridkv {

/// A value of an enumeration and how files, flags and messages call it.
template <class Enum>
struct Named {
  Enum value;
  std::string_view name;
};

/// All values of an enumeration with their names, in the order in which lists show them: the one table that parsers,
/// printers, messages and schemas read. Built with std::to_array<Named<Enum>>.
template <class Enum, std::size_t size>
using NamedValues = std::array<Named<Enum>, size>;

/// The name of a value; "?" for one that the table lacks, which no code makes.
template <class Enum, std::size_t size>
constexpr std::string_view name_in(const NamedValues<Enum, size>& table, Enum value) {
  for (const Named<Enum>& named : table)
    if (named.value == value) return named.name;
  return "?";
}

/// The value of that name.
template <class Enum, std::size_t size>
constexpr std::optional<Enum> value_in(const NamedValues<Enum, size>& table, std::string_view name) {
  for (const Named<Enum>& named : table)
    if (named.name == name) return named.value;
  return std::nullopt;
}

/// The values in the order of the table.
template <class Enum, std::size_t size>
constexpr std::array<Enum, size> values_of(const NamedValues<Enum, size>& table) {
  std::array<Enum, size> values{};
  for (std::size_t i = 0; i < size; ++i) values[i] = table[i].value;
  return values;
}

/// The names in the order of the table, for lists of what is allowed.
template <class Enum, std::size_t size>
std::vector<std::string> names_of(const NamedValues<Enum, size>& table) {
  std::vector<std::string> names;
  for (const Named<Enum>& named : table) names.emplace_back(named.name);
  return names;
}

}  // namespace hybridkv
