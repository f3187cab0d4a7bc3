#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace hybridkv {

/// One record for every block of a pool, one behind the other: the fastest, where nearly all blocks are in use.
template <class Record>
class FlatRecords {
 public:
  static constexpr bool in_rows = false;
  std::size_t size() const { return records_.size(); }
  const Record& operator[](std::size_t block) const { return records_[block]; }
  /// The record to be written to; good until a block is added.
  Record& edit(std::size_t block) { return records_[block]; }
  /// The record of one more block, which says nothing: it equals `Record{}`.
  void add() { records_.push_back({}); }
  /// Sets room aside for so many records; memory that nothing is written to costs nothing.
  void reserve(std::size_t blocks) { records_.reserve(blocks); }

 private:
  std::vector<Record> records_;
};

/// The same in rows of some blocks, of which those that say nothing take no memory.
///
/// So a pool pays for the records that say something, not for all its blocks: one whose blocks come and go by large
/// pages, or of whose blocks few have such a record at all. Every access is a step longer.
template <class Record>
class RowRecords {
 public:
  static constexpr bool in_rows = true;
  /// Few, so that one block in use does not keep many beside it, and enough that rows cost little themselves.
  static constexpr std::size_t row_blocks = 64;

  std::size_t size() const { return size_; }
  /// Records that take memory.
  std::size_t num_kept() const { return open_rows_ * row_blocks; }
  const Record& operator[](std::size_t block) const {
    const Row* const row = rows_[block / row_blocks].get();
    return row ? (*row)[block % row_blocks] : nothing;
  }
  /// The record to be written to; good until its row is closed.
  Record& edit(std::size_t block) {
    std::unique_ptr<Row>& row = rows_[block / row_blocks];
    if (!row) [[unlikely]] open(row);
    return (*row)[block % row_blocks];
  }
  void add() { extend(size_ + 1); }
  /// Records of all blocks below `end`, where there are fewer; the new ones say nothing.
  void extend(std::size_t end) {
    size_ = std::max(size_, end);
    if (const std::size_t rows = (size_ + row_blocks - 1) / row_blocks; rows > rows_.size()) rows_.resize(rows);
  }
  void reserve(std::size_t /*blocks*/) {}

  /// The records of these blocks say nothing from now on.
  void clear(std::size_t first, std::size_t count) {
    for (std::size_t block = first, end = first + count; block < end;) {
      const std::size_t row_end = std::min(end, (block / row_blocks + 1) * row_blocks);
      if (Row* const row = rows_[block / row_blocks].get()) {
        for (std::size_t at = block; at < row_end; ++at) (*row)[at % row_blocks] = nothing;
        close_if_empty(block);
      }
      block = row_end;
    }
  }
  /// The row of the block goes where all its records say nothing.
  void close_if_empty(std::size_t block) {
    std::unique_ptr<Row>& row = rows_[block / row_blocks];
    // Blocks come and go in order, so that what the row says is mostly at one of its ends.
    if (!row || row->front() != nothing || row->back() != nothing) return;
    if (!std::all_of(row->begin(), row->end(), [](const Record& record) { return record == nothing; })) return;
    row.reset();
    --open_rows_;
  }

 private:
  using Row = std::array<Record, row_blocks>;
  static constexpr Record nothing{};

  [[gnu::noinline]] void open(std::unique_ptr<Row>& row) {
    row = std::make_unique<Row>();
    ++open_rows_;
  }

  std::vector<std::unique_ptr<Row>> rows_;  // none: nothing is known of its blocks
  std::size_t open_rows_ = 0;
  std::size_t size_ = 0;
};

}  // namespace hybridkv
