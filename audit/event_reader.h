#pragma once

#include <memory>
#include <string_view>

#include "audit/event.h"
#include "audit/recording.h"

namespace hybridkv {

/// Reads the lines of a recording. Fields that it does not know are passed over: a recorder may say more.
/// All throw InputError that says what is wrong with the line, without its place. Pre: LineReader::padding bytes behind
/// a line can be read, as behind those of a LineReader.
class EventReader {
 public:
  EventReader();
  ~EventReader();

  /// The header. Post: validate() found nothing.
  Recording header(std::string_view line);
  /// Any other line. Valid until the next call.
  const RecordedEvent& event(std::string_view line);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
  RecordedEvent event_;
};

}  // namespace hybridkv
