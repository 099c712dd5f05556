#include "snapshot/metadata/object_class.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace tensorscope::snapshot {

namespace {

constexpr size_t kMaxName = 512;

uint64_t word_at(uint64_t address) {
  uint64_t word;
  memcpy(&word, reinterpret_cast<const void*>(address), sizeof(word));
  return word;
}

}  // namespace

void ObjectClasses::start(const ModuleMap* map) {
  map_ = map;
  for (Slot& slot : slots_) slot = Slot{};
}

const char* ObjectClasses::read_name(uint64_t vtable) const {
  if (vtable % 8 != 0 || vtable < 8 || !map_->readable(vtable - 8, 16)) return "";
  return read_type_name(word_at(vtable - 8));
}

const char* ObjectClasses::read_type_name(uint64_t type) const {
  if (type % 8 != 0 || !map_->readable(type, 16)) return "";
  const uint64_t name = word_at(type + 8);
  for (size_t length = 0; length < kMaxName && map_->readable(name + length, 1); ++length) {
    const char c = *reinterpret_cast<const char*>(name + length);
    if (c == 0) return length > 0 ? reinterpret_cast<const char*>(name) : "";
    if (c <= ' ' || c > '~') return "";
  }
  return "";
}

const char* ObjectClasses::by_vtable(uint64_t vtable) {
  if (vtable == 0) return "";
  size_t i = size_t((vtable >> 3) * 0x9E3779B97F4A7C15u >> 52) % kSlots;
  for (size_t probes = 0; probes < 64; ++probes, i = (i + 1) % kSlots) {
    Slot& slot = slots_[i];
    if (slot.vtable == vtable) return slot.name;
    if (slot.vtable == 0) {
      slot.name = read_name(vtable);
      slot.vtable = vtable;
      return slot.name;
    }
  }
  return read_name(vtable);
}

const char* ObjectClasses::of(const void* object) {
  return object == nullptr ? "" : by_vtable(word_at(reinterpret_cast<uint64_t>(object)));
}

bool ObjectClasses::derives_from(uint64_t vtable, const char* base) {
  if (vtable % 8 != 0 || vtable < 8 || !map_->readable(vtable - 8, 16)) return false;
  return type_derives_from(word_at(vtable - 8), base, 0);
}

// __si_class_type_info: type_info (two words), base. __vmi_class_type_info: type_info, flags and base count (32 bits
// each), then a base and its offset for each (Itanium C++ ABI, 2.9.5).
bool ObjectClasses::type_derives_from(uint64_t type, const char* base, int depth) {
  constexpr int kMaxDepth = 16;
  constexpr char kOneBase[] = "N10__cxxabiv120__si_class_type_infoE";
  constexpr char kManyBases[] = "N10__cxxabiv121__vmi_class_type_infoE";
  if (depth == kMaxDepth || type % 8 != 0 || !map_->readable(type, 24)) return false;
  if (strcmp(read_type_name(type), base) == 0) return true;
  const char* kind = by_vtable(word_at(type));
  if (strcmp(kind, kOneBase) == 0) return type_derives_from(word_at(type + 16), base, depth + 1);
  if (strcmp(kind, kManyBases) != 0) return false;
  const uint64_t bases = word_at(type + 16) >> 32;
  for (uint64_t i = 0; i < bases && map_->readable(type + 24 + i * 16, 16); ++i) {
    if (type_derives_from(word_at(type + 24 + i * 16), base, depth + 1)) return true;
  }
  return false;
}

// A system call costs little more for a page than for a word, and what is read lies close together: one piece for all
// words of a page.
bool read_words_safely(const uint64_t* addresses, uint64_t* words, size_t count) {
  constexpr size_t kPieces = 64;
  constexpr uint64_t kPage = 4096;
  std::vector<uint32_t> order(count);
  for (size_t i = 0; i < count; ++i) order[i] = uint32_t(i);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return addresses[a] < addresses[b]; });
  std::vector<char> bytes(kPieces * (kPage + sizeof(uint64_t)));
  iovec pieces[kPieces];
  size_t first_word[kPieces + 1];  // of a piece, in `order`

  for (size_t done = 0; done < count;) {
    size_t n = 0, total = 0;
    size_t next = done;
    while (next < count && n < kPieces) {
      const uint64_t begin = addresses[order[next]];
      uint64_t end = begin;
      first_word[n] = next;
      for (; next < count && addresses[order[next]] / kPage == begin / kPage; ++next) {
        end = addresses[order[next]] + sizeof(uint64_t);
      }
      pieces[n++] = {reinterpret_cast<void*>(begin), size_t(end - begin)};
      total += size_t(end - begin);
    }
    first_word[n] = next;
    const iovec local = {bytes.data(), total};
    const ssize_t result = process_vm_readv(getpid(), &local, 1, pieces, n, 0);
    if (result < 0 && errno != EFAULT) return false;

    // The reading stops in the first piece of which something is not there.
    size_t got = result > 0 ? size_t(result) : 0;
    const char* piece_bytes = bytes.data();
    size_t piece = 0;
    for (; piece < n && got > 0; ++piece) {
      const size_t size = std::min(got, pieces[piece].iov_len);
      for (size_t i = first_word[piece]; i < first_word[piece + 1]; ++i) {
        const size_t offset = size_t(addresses[order[i]] - reinterpret_cast<uint64_t>(pieces[piece].iov_base));
        const bool whole = offset + sizeof(uint64_t) <= size;
        if (whole) memcpy(&words[order[i]], piece_bytes + offset, sizeof(uint64_t));
        if (!whole) words[order[i]] = 0;
      }
      got -= size;
      piece_bytes += size;
    }
    if (piece == 0) {
      for (size_t i = first_word[0]; i < first_word[1]; ++i) words[order[i]] = 0;
      piece = 1;
    }
    done = first_word[piece];
  }
  return true;
}

}  // namespace tensorscope::snapshot
