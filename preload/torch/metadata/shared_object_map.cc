// SPDX-License-Identifier: Apache-2.0
#include "torch/metadata/shared_object_map.h"

#include <elf.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>

#include "support/enough_memory.h"
#include "support/locks/loader_walk.h"

namespace tensorscope::torch {

namespace {

std::vector<uint8_t> build_id_in(const char* notes, size_t size) {
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    memcpy(&note, notes, sizeof(note));
    const size_t name_size = (size_t(note.n_namesz) + 3) & ~size_t{3};
    const size_t total = sizeof(note) + name_size + ((size_t(note.n_descsz) + 3) & ~size_t{3});
    if (total > size) break;
    const char* name = notes + sizeof(note);
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(name, "GNU", 4) == 0) {
      const auto* id = reinterpret_cast<const uint8_t*>(name + name_size);
      return std::vector<uint8_t>(id, id + note.n_descsz);
    }
    notes += total;
    size -= total;
  }
  return {};
}

std::string path_of(const dl_phdr_info& info, bool first) {
  if (info.dlpi_name != nullptr && *info.dlpi_name != 0) return info.dlpi_name;
  if (!first) return {};
  char path[PATH_MAX];  // the executable has no name here
  const ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
  return std::string(path, length > 0 ? size_t(length) : 0);
}

}  // namespace

void SharedObjectMap::add(const dl_phdr_info& info) {
  MappedObject object;
  object.path = path_of(info, objects_.empty());
  object.load_bias = info.dlpi_addr;
  object.begin = UINT64_MAX;
  for (size_t i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info.dlpi_phdr[i];
    const uint64_t begin = info.dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_LOAD) {
      object.begin = std::min(object.begin, begin);
      object.end = std::max(object.end, begin + header.p_memsz);
      if ((header.p_flags & PF_R) == 0) continue;
      make_room_for_one(segments_);
      segments_.push_back({begin, begin + header.p_memsz});
    } else if (header.p_type == PT_NOTE && object.build_id.empty()) {
      object.build_id = build_id_in(reinterpret_cast<const char*>(begin), header.p_memsz);
    }
  }
  if (object.end <= object.begin) return;
  make_room_for_one(objects_);
  objects_.push_back(std::move(object));
}

bool SharedObjectMap::refresh() {
  objects_.clear();
  segments_.clear();
  // The loader's lock is held: the walk must end as it should.
  const auto visit = [&](const dl_phdr_info& info) { return run_or_abandon_on_oom([&] { add(info); }) ? 0 : 1; };
  if (walk_loaded_objects(visit) != 0) return false;
  std::sort(segments_.begin(), segments_.end(), [](const Segment& a, const Segment& b) { return a.begin < b.begin; });
  return true;
}

bool SharedObjectMap::readable(uint64_t address, size_t size) const {
  auto after = std::upper_bound(segments_.begin(), segments_.end(), address,
                                [](uint64_t value, const Segment& segment) { return value < segment.begin; });
  if (after == segments_.begin()) return false;
  const Segment& segment = *(after - 1);
  return address < segment.end && size <= segment.end - address;
}

}  // namespace tensorscope::torch
