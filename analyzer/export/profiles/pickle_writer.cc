// SPDX-License-Identifier: Apache-2.0
#include "export/profiles/pickle_writer.h"

#include <algorithm>

namespace tensorscope::exports {

namespace {

// Lib/pickle.py of CPython 3.8, "Pickle opcodes".
constexpr char kProtocol = '\x80', kStop = '.', kMark = '(';
constexpr char kEmptyDict = '}', kSetItems = 'u', kEmptyList = ']', kAppend = 'a', kTuple2 = '\x86';
constexpr char kOneByte = 'K', kTwoBytes = 'M', kFourBytes = 'J', kLong = '\x8a';
constexpr char kTrue = '\x88', kFalse = '\x89', kShortText = '\x8c', kText = 'X';
constexpr char kMemoize = '\x94', kGet = 'h', kLongGet = 'j';

}  // namespace

PickleWriter::PickleWriter(std::ostream& out) : out_(out) { out_.put(kProtocol).put(4); }

void PickleWriter::finish() { out_.put(kStop); }

void PickleWriter::ended() {
  if (!open_.empty() && open_.back()) out_.put(kAppend);
}

void PickleWriter::little_endian(uint64_t value, int bytes) {
  for (int i = 0; i < bytes; i++) out_.put(char(value >> (8 * i)));
}

PickleWriter::Reference PickleWriter::memoize() {
  out_.put(kMemoize);
  return memoized_++;
}

void PickleWriter::get(Reference reference) {
  const bool brief = reference < 256;
  out_.put(brief ? kGet : kLongGet);
  little_endian(reference, brief ? 1 : 4);
}

void PickleWriter::begin_dict() {
  out_.put(kEmptyDict).put(kMark);
  open_.push_back(false);
}

void PickleWriter::begin_list() {
  out_.put(kEmptyList);
  open_.push_back(true);
}

PickleWriter::Reference PickleWriter::begin_shared_dict() {
  out_.put(kEmptyDict);
  const Reference reference = memoize();
  out_.put(kMark);
  open_.push_back(false);
  return reference;
}

PickleWriter::Reference PickleWriter::begin_shared_list() {
  begin_list();
  return memoize();
}

void PickleWriter::end_dict() {
  out_.put(kSetItems);
  open_.pop_back();
  ended();
}

void PickleWriter::end_list() {
  open_.pop_back();
  ended();
}

void PickleWriter::refer(Reference reference) {
  get(reference);
  ended();
}

void PickleWriter::number(uint64_t value) {
  if (value < 0x100) {
    out_.put(kOneByte);
    little_endian(value, 1);
  } else if (value < 0x10000) {
    out_.put(kTwoBytes);
    little_endian(value, 2);
  } else if (value <= INT32_MAX) {
    out_.put(kFourBytes);
    little_endian(value, 4);
  } else {
    int bytes = 5;
    while (bytes < 9 && value >> (8 * bytes - 1) != 0) bytes++;  // the highest bit is the sign
    // Nine bytes are right in Python. Older viewers refuse them, but no address or size of this machine is so large.
    out_.put(kLong).put(char(bytes));
    little_endian(value, std::min(bytes, 8));
    if (bytes == 9) out_.put(0);
  }
  ended();
}

void PickleWriter::boolean(bool value) {
  out_.put(value ? kTrue : kFalse);
  ended();
}

void PickleWriter::pair(uint64_t first, uint64_t second) {
  open_.push_back(false);
  number(first);
  number(second);
  open_.pop_back();
  out_.put(kTuple2);
  ended();
}

void PickleWriter::characters(std::string_view value) {
  const bool brief = value.size() < 256;
  out_.put(brief ? kShortText : kText);
  little_endian(value.size(), brief ? 1 : 4);
  out_.write(value.data(), std::streamsize(value.size()));
}

void PickleWriter::text(std::string_view value) {
  auto [found, fresh] = texts_.try_emplace(std::string(value));
  if (!fresh) return refer(found->second);
  characters(value);
  found->second = memoize();
  ended();
}

void PickleWriter::text_once(std::string_view value) {
  characters(value);
  ended();
}

}  // namespace tensorscope::exports
