#pragma once

#include <nanobind/nanobind.h>

#include "scenarios/yaml_tree.h"

namespace hybridkv {

/// What a Python value says, as if it had been read from a file: None, booleans, numbers, text, paths, lists, tuples
/// and mappings inside each other, what has `tolist()` (a number or an array of NumPy) its list, what has `to_dict()`
/// (a config of transformers) its dict; what is nothing of this (an element type of a framework) is its text. All of it
/// has this place.
/// Throws InputError: a key that is no text, a value that holds itself or is larger than a file may be.
YamlNode tree_of(nanobind::handle value, const Place& place);

/// Text of a config is text. That of a scenario is what YAML takes it for without quotes, so that "32k" and "1..4" are
/// what they are on the command line.
void unquote(YamlNode& node);

/// The text of a str or a path; nothing that has one for any other value. Throws InputError where it is no UTF-8.
bool is_text(nanobind::handle value);
std::string text_of(nanobind::handle value);

/// A value as messages show it, by PyObject_Str or PyObject_Repr; its class where it cannot say it.
std::string shown(nanobind::handle value, PyObject* (*text)(PyObject*));

}  // namespace hybridkv
