// SPDX-License-Identifier: Apache-2.0
#include "stacks/native/eh_frame.h"

#include "stacks/native/byte_reader.h"
#include "stacks/native/cfa_program.h"

namespace tensorscope::stacks {

namespace {

// DW_EH_PE_*: how a pointer is written (Linux Standard Base 5.0 Core, 10.5.1).
constexpr uint8_t kOmit = 0xff, kIndirect = 0x80;
constexpr uint8_t kRelativeMask = 0x70, kAbsolute = 0x00, kToItself = 0x10, kToHeader = 0x30;

bool read_value(ByteReader& in, uint8_t encoding, uint64_t& value) {
  switch (encoding & 0x0f) {
    case 0x00:
    case 0x04:
    case 0x0c:
      value = in.fixed<uint64_t>();
      return in.ok();
    case 0x01:
      value = in.uleb();
      return in.ok();
    case 0x02:
      value = in.fixed<uint16_t>();
      return in.ok();
    case 0x03:
      value = in.fixed<uint32_t>();
      return in.ok();
    case 0x09:
      value = uint64_t(in.sleb());
      return in.ok();
    case 0x0a:
      value = uint64_t(int64_t(in.fixed<int16_t>()));
      return in.ok();
    case 0x0b:
      value = uint64_t(int64_t(in.fixed<int32_t>()));
      return in.ok();
    default:
      return false;
  }
}

bool read_pointer(ByteReader& in, uint8_t encoding, uint64_t header, uint64_t& value) {
  const auto itself = reinterpret_cast<uint64_t>(in.position());
  if (encoding == kOmit || (encoding & kIndirect) != 0 || !read_value(in, encoding, value)) return false;
  switch (encoding & kRelativeMask) {
    case kAbsolute:
      return true;
    case kToItself:
      value += itself;
      return true;
    case kToHeader:
      value += header;
      return true;
    default:
      return false;
  }
}

// The description (FDE) of the function around `address`, by the sorted table of .eh_frame_hdr; null: none.
const uint8_t* find_description(const UnwindSection& section, uint64_t address) {
  UnwindTable table;
  if (!find_unwind_table(section, table)) return nullptr;
  const auto header = reinterpret_cast<uint64_t>(section.header);
  const int64_t wanted = int64_t(address - header);
  if (wanted < table.entries[0].begin) return nullptr;
  size_t low = 0, high = table.count;  // entries[low].begin <= wanted < entries[high].begin
  while (high - low > 1) {
    const size_t middle = low + (high - low) / 2;
    (table.entries[middle].begin <= wanted ? low : high) = middle;
  }
  const uint64_t description = header + int64_t{table.entries[low].description};
  if (description < section.begin || description >= section.end) return nullptr;
  return reinterpret_cast<const uint8_t*>(description);
}

// The common part (CIE) of many descriptions.
struct Common {
  CfaAlignment alignment;
  ByteReader program;
  uint8_t pointer_encoding = kAbsolute;
  bool augmented = false;
  bool signal_frame = false;
};

// A record of .eh_frame without its length, or false.
bool read_record(const uint8_t* at, uint64_t end, ByteReader& record) {
  ByteReader in(at, end - reinterpret_cast<uint64_t>(at));
  const uint32_t length = in.fixed<uint32_t>();
  if (!in.ok() || length < 4 || length == 0xffffffff || length > in.left()) return false;
  record = ByteReader(in.position(), length);
  return true;
}

bool read_common(const uint8_t* at, const UnwindSection& section, Common& common) {
  ByteReader in;
  if (!read_record(at, section.end, in)) return false;
  const uint32_t id = in.fixed<uint32_t>();
  const uint8_t version = in.fixed<uint8_t>();
  const char* augmentation = in.text();
  if (!in.ok() || id != 0 || (version != 1 && version != 3)) return false;
  if (augmentation[0] != 0 && augmentation[0] != 'z') return false;
  common.alignment.code = in.uleb();
  common.alignment.data = in.sleb();
  const uint64_t return_column = version == 1 ? in.fixed<uint8_t>() : in.uleb();
  if (return_column != kReturnAddressColumn) return false;
  if (augmentation[0] == 'z') {
    common.augmented = true;
    const uint64_t bytes = in.uleb();
    if (!in.ok() || bytes > in.left()) return false;
    ByteReader data(in.position(), bytes);
    in.skip(bytes);
    for (const char* letter = augmentation + 1; *letter != 0; ++letter) {
      uint64_t ignored;
      switch (*letter) {
        case 'R':
          common.pointer_encoding = data.fixed<uint8_t>();
          break;
        case 'P':
          if (!read_value(data, data.fixed<uint8_t>(), ignored)) return false;
          break;
        case 'L':
          data.fixed<uint8_t>();
          break;
        case 'S':
          common.signal_frame = true;
          break;
        default:
          return false;
      }
    }
    if (!data.ok()) return false;
  }
  common.program = in;
  return in.ok();
}

}  // namespace

bool find_unwind_table(const UnwindSection& section, UnwindTable& table) {
  constexpr uint8_t kSignedFourFromHeader = 0x3b;  // what every linker writes
  const auto header = reinterpret_cast<uint64_t>(section.header);
  if (header < section.begin || header + 12 > section.end) return false;
  ByteReader in(section.header, section.end - header);
  const uint8_t version = in.fixed<uint8_t>(), frame_encoding = in.fixed<uint8_t>();
  const uint8_t count_encoding = in.fixed<uint8_t>(), table_encoding = in.fixed<uint8_t>();
  uint64_t frames = 0, count = 0;
  if (version != 1 || table_encoding != kSignedFourFromHeader || count_encoding == kOmit) return false;
  if (!read_pointer(in, frame_encoding, header, frames)) return false;
  if (!read_pointer(in, count_encoding, header, count)) return false;
  const auto* entries = reinterpret_cast<const UnwindTable::Entry*>(in.position());
  if (count == 0 || count > (section.end - reinterpret_cast<uint64_t>(entries)) / sizeof *entries) return false;
  table = {entries, count};
  return true;
}

UnwindRule read_unwind_rule(const UnwindSection& section, uint64_t call_address) {
  const uint8_t* description = section.header == nullptr ? nullptr : find_description(section, call_address);
  ByteReader in;
  if (description == nullptr) return UnwindRule::guess();
  if (!read_record(description, section.end, in)) return UnwindRule::special();
  const auto common_field = reinterpret_cast<uint64_t>(in.position());
  const uint64_t common_at = common_field - in.fixed<uint32_t>();
  if (common_at < section.begin || common_at >= common_field) return UnwindRule::special();
  Common common;
  if (!read_common(reinterpret_cast<const uint8_t*>(common_at), section, common) || common.signal_frame) {
    return UnwindRule::special();
  }
  uint64_t begin = 0, size = 0;
  if (!read_pointer(in, common.pointer_encoding, 0, begin) || !read_value(in, common.pointer_encoding, size)) {
    return UnwindRule::special();
  }
  if (call_address < begin || call_address - begin >= size) return UnwindRule::guess();
  if (common.augmented) in.skip(in.uleb());
  if (!in.ok()) return UnwindRule::special();
  return run_cfa_programs(common.program, in, common.alignment, call_address - begin);
}

UnwindRule read_unwind_rule(uint64_t return_address) {
  UnwindSection section;
  if (return_address == 0) return UnwindRule::special();
  if (!find_unwind_section(return_address - 1, section)) return UnwindRule::guess();
  return read_unwind_rule(section, return_address - 1);
}

}  // namespace tensorscope::stacks
