#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/document.h"
#include "report/field.h"
#include "report/proof/checks_table.h"

namespace hybridkv {

// What is told of runs that check something, with a fault planted or without. Run: VerifyReport or TransferProof.

struct CaughtFaults {
  std::int64_t planted = 0;  ///< that had a place
  std::int64_t caught = 0;
};
template <class Run>
CaughtFaults count_caught(std::span<const Run> runs) {
  CaughtFaults count;
  for (const Run& run : runs) {
    count.planted += run.fault && run.no_place.empty();
    count.caught += run.caught();
  }
  return count;
}

template <class Run>
std::string planted_result(const Run& run) {
  if (!run.no_place.empty()) return "no place";
  return run.caught() ? "caught" : "NOT caught";
}

/// Many faults planted one after the other: what became of each (`table`), which had no place ("has no place here") or
/// were not caught ("by any check"), and how many were caught as the last line.
template <class Run, class Name>
void add_catalogue(Document& document, std::span<const Run> runs, Table table, const char* where, const char* by,
                   Name name_of) {
  Listing no_place, missed{{}, true};
  double seconds = 0;
  for (const Run& run : runs) {
    seconds += run.seconds;
    if (!run.no_place.empty())
      no_place.items.push_back(
          fmt::format("{} has no place {} and does not count: {}", name_of(run), where, run.no_place));
    else if (!run.caught())
      missed.items.push_back(fmt::format("{} was NOT caught by {}: the checks are broken", name_of(run), by));
  }
  document.blocks.emplace_back(std::move(table));
  for (Listing* const listing : {&no_place, &missed})
    if (!listing->items.empty()) document.blocks.emplace_back(std::move(*listing));
  document.blocks.emplace_back(Facts{{{"time", fmt::format("{:.1f} s", seconds)}}});
  const auto [planted, caught] = count_caught(runs);
  document.blocks.emplace_back(Paragraph{fmt::format("{} of {} caught", caught, planted)});
}

/// A check of a run; of a fault without a place the one that would have found it.
template <class Run>
struct RunCheck {
  const Run& run;
  CheckResult check;
  bool ran = true;
};

/// What programs get of each check.
template <class Run>
std::vector<Field<RunCheck<Run>>> run_check_fields() {
  using Row = RunCheck<Run>;
  const auto of = [](auto member) { return via(&Row::check, member); };
  const auto if_ran = [&](auto getter) { return where(&Row::ran, of(getter)); };
  return {{{"fault", "planted"},
           [](const Row& row) { return std::string(row.run.fault ? to_string(*row.run.fault) : ""); }},
          {{"check", "check"}, of(&CheckResult::name)},
          {{"status", "result"},
           [](const Row& row) { return row.ran ? status_word(row.check.status) : std::string_view("no place"); }},
          {{"count", "looked at"}, if_ran(&CheckResult::count)},
          {{"unit", "unit"}, of(&CheckResult::unit)},
          {{"max_error", "largest error"}, if_ran(as<Real>(&CheckResult::max_error))},
          {{"tolerance", "allowed"}, if_ran(as<Real>(&CheckResult::tolerance))},
          {{"message", "message"}, of(&CheckResult::message)}};
}

template <class Run>
Table run_checks_table(const std::vector<Field<RunCheck<Run>>>& fields, std::span<const Run> runs) {
  std::vector<RunCheck<Run>> rows;
  for (const Run& run : runs) {
    if (!run.no_place.empty())
      rows.push_back(
          {run, {.name = std::string(info_of(*run.fault).found_by), .message = run.no_place}, false});
    for (const CheckResult& check : run.checks) rows.push_back({run, check});
  }
  return table_of(fields, rows);
}

}  // namespace hybridkv
