#include "render/pickle_writer.h"

#include <bit>

namespace tensorscope::render {

namespace {

// Lib/pickle.py of CPython 3.8, "Pickle opcodes".
constexpr char kProtocol = '\x80', kStop = '.', kMark = '(';
constexpr char kEmptyDict = '}', kSetItems = 'u', kEmptyList = ']', kAppend = 'a', kTuple2 = '\x86';
constexpr char kOneByte = 'K', kTwoBytes = 'M', kFourBytes = 'J', kLong = '\x8a', kFloat = 'G';
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

void PickleWriter::integer(int64_t value) {
  if (value >= 0 && value < 0x100) {
    out_.put(kOneByte);
    little_endian(uint64_t(value), 1);
  } else if (value >= 0 && value < 0x10000) {
    out_.put(kTwoBytes);
    little_endian(uint64_t(value), 2);
  } else if (value == int32_t(value)) {
    out_.put(kFourBytes);
    little_endian(uint64_t(value), 4);
  } else {
    int bytes = 5;
    while (bytes < 8 && value != value << (64 - 8 * bytes) >> (64 - 8 * bytes)) bytes++;
    out_.put(kLong).put(char(bytes));
    little_endian(uint64_t(value), bytes);
  }
}

void PickleWriter::number(uint64_t value) {
  if (value <= INT64_MAX) {
    integer(int64_t(value));
  } else {  // right in Python; older viewers refuse it, but no address or size of this machine is so large
    out_.put(kLong).put(9);
    little_endian(value, 8);
    out_.put(0);
  }
  ended();
}

void PickleWriter::signed_number(int64_t value) {
  integer(value);
  ended();
}

void PickleWriter::real(double value) {
  out_.put(kFloat);
  const auto bits = std::bit_cast<uint64_t>(value);
  for (int i = 7; i >= 0; i--) out_.put(char(bits >> (8 * i)));
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

}  // namespace tensorscope::render
