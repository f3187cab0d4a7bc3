#include "audit/recording_file.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "audit/event_reader.h"
#include "audit/ownership.h"
#include "base/error.h"
#include "base/input_file.h"
#include "base/line_reader.h"

namespace hybridkv {

namespace {

constexpr std::int64_t lines_between_progress = 16384;

/// The next line that is not blank.
std::optional<std::string_view> next_filled(LineReader& lines) {
  while (const std::optional<std::string_view> line = lines.next())
    if (line->find_first_not_of(" \t\r") != std::string_view::npos) return line;
  return std::nullopt;
}

}  // namespace

OwnershipVerdict audit_recording(const std::string& path,
                                 const std::function<void(std::int64_t, double)>& on_progress) {
  LineReader lines(open_bytes(path));
  EventReader reader;
  OwnershipVerdict verdict;
  const auto fail = [&](const std::string& what) {
    throw InputError(fmt::format("{}:{}: {}", input_name(path), lines.line_number(), what));
  };
  try {
    const std::optional<std::string_view> first = next_filled(lines);
    if (!first) throw InputError(fmt::format("{}: the recording is empty; its first line is a header (docs/audit.md)",
                                             input_name(path)));
    verdict.recording = reader.header(*first);
  } catch (const InputError& error) {
    if (lines.line_number() == 0) throw;
    fail(error.what());
  }
  Ownership ownership(verdict.recording, [&](const OwnershipFinding& finding) {
    if (++verdict.num_findings <= OwnershipVerdict::most_kept) verdict.findings.push_back(finding);
  });
  while (const std::optional<std::string_view> line = next_filled(lines)) {
    try {
      ownership.consume(reader.event(*line), lines.line_number());
    } catch (const InputError& error) {
      fail(error.what());
    }
    if (on_progress && lines.line_number() % lines_between_progress == 0)
      on_progress(lines.line_number(), lines.fraction());
  }
  verdict.counts = ownership.counts();
  if (verdict.counts.steps == 0)
    throw InputError(fmt::format("{}: the recording has a header and no step, so that nothing can be said of it; "
                                 "record while the engine serves requests", input_name(path)));
  return verdict;
}

}  // namespace hybridkv
