#pragma once

#include <string>

#include "transfer/request_tables.h"

namespace hybridkv {

/// Reads the ids by which a side holds a request: a JSON or YAML list of stages, each a list of groups, each a list of
/// ids in the order of its tokens, null where the tokens of an entry are of no use any more. Of one stage the list of
/// its groups will do. "-" is standard input.
/// Throws InputError with line and column for anything else; whether they hold the request says check_tables.
RequestTables read_request_tables(const std::string& path);

}  // namespace hybridkv
