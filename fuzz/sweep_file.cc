// Files of rows: of `merge`, two of them, cut where a line "---" stands; the first also as what `sweep --resume` finds.
// And --shard, which is the first line. In what is resumed, '@' stands for the number of the sweep and a line "$" for
// its heading, which no mutation would hit upon.
#include "report/replay/sweep_file.h"

#include "fuzz/harness.h"

using namespace hybridkv;

namespace {

std::optional<std::string> merged(const std::vector<std::string>& paths) {
  std::string text;
  const bool is_merged = fuzz::accepts([&] { merge_rows(paths, [&](std::string_view piece) { text += piece; }); });
  if (!is_merged) return std::nullopt;
  return text;
}

void check_merge(const fuzz::MemoryFile& first, const fuzz::MemoryFile& second) {
  for (const auto& paths : {std::vector{first.path()}, std::vector{first.path(), second.path()}}) {
    const auto rows = merged(paths);
    if (!rows) continue;
    first.write(*rows);
    fuzz::require(merged({first.path()}) == rows, "a merged file merges to another one");
  }
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

constexpr std::int64_t num_points = 4;

SweepRows rows_of(SweepFormat format) {
  return SweepRows(
      {.axes = {"engine.tensor_parallel"}, .format = format, .num_points = num_points, .identity = "fuzz"});
}

void check_resume(const fuzz::MemoryFile& file, const std::string& text, const SweepRows& rows, const Shard& shard) {
  const std::string content = replaced(replaced(text, "$\n", rows.heading()), "@", rows.sweep_id());
  file.write(content);
  fuzz::accepts([&] {
    RowFile opened(file.path());
    const FinishedRows finished = finished_rows(opened, "rows", rows, shard);
    fuzz::require(finished.bytes >= 0 && finished.bytes <= std::ssize(content), "more bytes than the file has");
    fuzz::require(finished.rows == finished.counts.total(), "rows that are counted otherwise");
    opened.continue_at(finished.bytes, finished.torn_line);
    if (finished.bytes == 0) opened.append(rows.heading());
    if (finished.rows < shard.num_points(num_points))
      opened.append(rows.row({.point = shard.point(finished.rows)}, {Cell(std::int64_t{2})}));
    opened.finish();
  });
  fuzz::require(file.read().starts_with(content), "a resumed file has lost what stood in it");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view all = fuzz::Input(data, size).rest();
  const std::size_t line_end = std::min(all.find('\n'), all.size());
  Shard shard;
  fuzz::accepts([&] {
    shard = parse_shard(std::string(all.substr(0, line_end)));
    fuzz::require(shard.first >= 0 && shard.first < shard.count, "a shard that is none of its number");
  });
  const std::string_view text = all.substr(std::min(line_end + 1, all.size()));
  const std::size_t cut = std::min(text.find("---\n"), text.size());
  static const fuzz::MemoryFile first, second;
  const std::string content(text.substr(0, cut));
  static const SweepRows jsonl = rows_of(SweepFormat::jsonl), csv = rows_of(SweepFormat::csv);
  for (const SweepRows* rows : {&jsonl, &csv}) check_resume(first, content, *rows, shard);
  first.write(content);
  second.write(text.substr(std::min(cut + 4, text.size())));
  check_merge(first, second);
  return 0;
}
