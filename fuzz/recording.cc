// A recording of a cache that ran, as JSON Lines. What is read of a line reads back the same when it is written; and an
// audit that is cut off anywhere has found what the whole one had found by then.
#include <algorithm>
#include <optional>

#include "audit/event_reader.h"
#include "audit/event_writer.h"
#include "audit/recording_file.h"
#include "base/line_reader.h"
#include "fuzz/harness.h"

using namespace hybridkv;

namespace {

/// The line of a header or an event, with the bytes behind it that the reader wants.
template <class Read>
std::string written(const Read& read) {
  std::string line = recording_line(read);
  line.reserve(line.size() + LineReader::padding);
  return line;
}

void check_lines(const fuzz::MemoryFile& file) {
  LineReader lines(open_bytes(file.path()));
  EventReader reader, again;
  bool is_header = true;
  while (const std::optional<std::string_view> line = lines.next()) {
    if (line->find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const bool taken = fuzz::accepts([&] {
      if (is_header) {
        const Recording read = reader.header(*line);
        fuzz::require(again.header(written(read)) == read, "a header that is written reads otherwise");
      } else {
        const RecordedEvent read = reader.event(*line);
        fuzz::require(again.event(written(read)) == read, "an event that is written reads otherwise");
      }
    });
    if (is_header && !taken) return;
    is_header = false;
  }
}

/// Of the recording up to a line; nothing where it is none.
std::vector<OwnershipFinding> findings_of(const fuzz::MemoryFile& file, const std::vector<std::string>& lines,
                                          std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += lines[i] + "\n";
  file.write(text);
  std::vector<OwnershipFinding> found;
  fuzz::accepts([&] { found = audit_recording(file.path()).findings; });
  return found;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  static const fuzz::MemoryFile file;
  const std::size_t cut = input.byte();
  const std::vector<std::string> lines = fuzz::lines(input.rest());
  file.write(input.rest());
  fuzz::accepts([&] { check_lines(file); });
  const std::vector<OwnershipFinding> whole = findings_of(file, lines, lines.size());
  if (lines.empty() || whole.empty()) return 0;
  const std::vector<OwnershipFinding> front = findings_of(file, lines, cut % lines.size());
  fuzz::require(front.size() <= whole.size() && std::equal(front.begin(), front.end(), whole.begin()),
                "a recording that is cut off has other findings");
  return 0;
}
