// SPDX-License-Identifier: Apache-2.0
#include "dump/chunk_root.h"

#include <algorithm>

namespace tensorscope::analyzer {

namespace {

using flatbuffers::ElementaryType;
using flatbuffers::TypeTable;
using flatbuffers::uoffset_t;

const TypeTable* type_of(const TypeTable& type, size_t field) {
  const int number = type.type_codes[field].sequence_ref;
  return number < 0 ? nullptr : type.type_refs[number]();
}

bool is_table(const TypeTable* type) { return type != nullptr && type->st == flatbuffers::ST_TABLE; }

size_t alignment_of(ElementaryType element, const TypeTable* type) {
  switch (element) {
    case flatbuffers::ET_LONG:
    case flatbuffers::ET_ULONG:
    case flatbuffers::ET_DOUBLE:
      return 8;
    case flatbuffers::ET_SEQUENCE: {
      if (type->st != flatbuffers::ST_STRUCT) return sizeof(uoffset_t);
      size_t most = 1;
      for (size_t field = 0; field < type->num_elems; ++field) {
        most = std::max(most, alignment_of(ElementaryType(type->type_codes[field].base_type), type_of(*type, field)));
      }
      return most;
    }
    default:
      return sizeof(uoffset_t);  // the verifier has looked at that
  }
}

}  // namespace

std::string malformed_chunk(const ChunkView& chunk, const std::string& file) {
  return "the '" + chunk_name(chunk.type) + "' chunk at byte " + with_commas(chunk.offset) + " of " + file +
         " is malformed; it was skipped.";
}

bool elements_are_aligned(const flatbuffers::Table& table, const TypeTable& type) {
  for (size_t field = 0; field < type.num_elems; ++field) {
    const flatbuffers::TypeCode code = type.type_codes[field];
    const TypeTable* field_type = type_of(type, field);
    if (!code.is_repeating && !is_table(field_type)) continue;
    const auto* value =
        table.GetPointer<const uint8_t*>(flatbuffers::FieldIndexToOffset(flatbuffers::voffset_t(field)));
    if (value == nullptr) continue;
    if (!code.is_repeating) {
      if (!elements_are_aligned(*reinterpret_cast<const flatbuffers::Table*>(value), *field_type)) return false;
      continue;
    }
    const auto* vector = reinterpret_cast<const flatbuffers::VectorOfAny*>(value);
    if (vector->size() == 0) continue;  // the builder aligns no empty one
    if (code.base_type == flatbuffers::ET_SEQUENCE && is_table(field_type)) {
      const auto* tables = reinterpret_cast<const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::Table>>*>(value);
      for (const flatbuffers::Table* each : *tables) {
        if (!elements_are_aligned(*each, *field_type)) return false;
      }
    } else if (reinterpret_cast<uintptr_t>(vector->Data()) % alignment_of(ElementaryType(code.base_type), field_type) !=
               0) {
      return false;
    }
  }
  return true;
}

}  // namespace tensorscope::analyzer
