#include "snapshot/chunk.h"

namespace tensorscope::snapshot {

namespace {

// Length of the well-formed UTF-8 sequence at `text` (Unicode 15, table 3-7), 0 if there is none.
size_t sequence_length(const unsigned char* text, size_t left) {
  const unsigned char lead = text[0];
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xC2 && lead <= 0xDF   ? 2
                        : (lead & 0xF0) == 0xE0        ? 3
                        : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                       : 0;
  if (length == 0 || length > left) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((text[i] & 0xC0) != 0x80) return 0;
  }
  if (lead == 0xE0 && text[1] < 0xA0) return 0;
  if (lead == 0xED && text[1] > 0x9F) return 0;
  if (lead == 0xF0 && text[1] < 0x90) return 0;
  if (lead == 0xF4 && text[1] > 0x8F) return 0;
  return length;
}

}  // namespace

bool Chunk::is_utf8(const char* text, size_t length) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(text);
  for (size_t i = 0; i < length;) {
    const size_t step = sequence_length(bytes + i, length - i);
    if (step == 0) return false;
    i += step;
  }
  return true;
}

std::string Chunk::as_utf8(const char* text, size_t length) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(text);
  std::string out;
  for (size_t i = 0; i < length;) {
    const size_t step = sequence_length(bytes + i, length - i);
    if (step == 0) {
      out += "\xEF\xBF\xBD";
      ++i;
    } else {
      out.append(text + i, step);
      i += step;
    }
  }
  return out;
}

}  // namespace tensorscope::snapshot
