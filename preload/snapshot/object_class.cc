#include "snapshot/object_class.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

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
  const uint64_t type = word_at(vtable - 8);
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

bool read_words_safely(const uint64_t* addresses, uint64_t* words, size_t count) {
  constexpr size_t kBatch = 512;  // at most IOV_MAX
  iovec local[kBatch];
  iovec remote[kBatch];
  for (size_t done = 0; done < count;) {
    const size_t n = count - done < kBatch ? count - done : kBatch;
    for (size_t i = 0; i < n; ++i) {
      local[i] = {words + done + i, sizeof(uint64_t)};
      remote[i] = {reinterpret_cast<void*>(addresses[done + i]), sizeof(uint64_t)};
    }
    const ssize_t got = process_vm_readv(getpid(), local, n, remote, n, 0);
    const size_t whole = got > 0 ? size_t(got) / sizeof(uint64_t) : 0;
    if (got < 0 && errno != EFAULT) return false;
    done += whole;
    if (whole < n) words[done++] = 0;  // the read stops at the first word that is not there
  }
  return true;
}

}  // namespace tensorscope::snapshot
