// SPDX-License-Identifier: Apache-2.0
#include "text/dump/live_table.h"

#include <fmt/format.h>

#include <map>

#include "dump_generated.h"
#include "text/dump/moment_phrases.h"
#include "text/dump/tensor_phrases.h"
#include "text/table.h"
#include "text/units.h"

namespace tensorscope::text {

namespace {

using analyzer::Category;
using analyzer::DeviceSums;
using analyzer::StorageKind;
using text::bytes;
using text::count;

constexpr char kUnread[] = "could not be read: their memory is not known";
constexpr char kFreed[] = "freed while the dump was written: their memory is not known";

std::string dash(uint64_t value) { return value == 0 ? "-" : count(value); }

// Peak, and what the device's allocator says itself.
std::string device_remark(const analyzer::DeviceTotal* total) {
  if (total == nullptr) return "";
  std::string remark = fmt::format("peak {}", bytes(total->peak_bytes));
  if (total->allocator_reserved > 0) {
    uint64_t reserved = total->allocator_reserved, allocated = total->allocator_allocated;
    remark += fmt::format("; reserved {}", bytes(reserved));
    if (reserved > allocated) remark += fmt::format(", {} of it free", bytes(reserved - allocated));
  }
  return remark;
}

struct CategoryPart {
  uint64_t tensors = 0, storages = 0, bytes = 0;
  uint64_t inferred = 0;  // bytes
};

// Which of a device's lines an item of the allocator's stands in, as accounting.cc decides.
bool is_mapped(const analyzer::Dump& dump, const analyzer::Item& item) {
  return dump.allocations[item.allocation].kind == uint8_t(format::AllocationKind::mapped) ||
         (item.storage != analyzer::kNone && dump.storages[item.storage].kind == StorageKind::shared);
}

// What the tensors in the allocator's blocks are for, those in mapped files apart; only of use where something is
// known.
void add_categories(text::Table& table, const analyzer::OpenedDump& opened, const DeviceSums& sums,
                    const std::string& indent, bool mapped) {
  std::map<Category, CategoryPart> parts;
  for (uint32_t i = 0; i < opened.dump.tensors.size(); ++i) {
    const analyzer::Item& item = opened.accounts.items()[opened.accounts.item_of_tensor(i)];
    if (item.device != sums.device || item.allocation == analyzer::kNone) continue;
    if (is_mapped(opened.dump, item) != mapped) continue;
    parts[opened.holders.category(i)].tensors += 1;
  }
  uint64_t whole = 0;
  for (const analyzer::Item& item : opened.accounts.items()) {
    if (item.device != sums.device || item.allocation == analyzer::kNone || item.tensor == analyzer::kNone) continue;
    if (is_mapped(opened.dump, item) != mapped) continue;
    CategoryPart& part = parts[opened.holders.category(item.tensor)];
    part.storages += 1;
    part.bytes += item.bytes - item.rounding - item.outside;
    if (opened.holders.category_source(item.tensor) == analyzer::CategorySource::inferred) {
      part.inferred += item.bytes - item.rounding - item.outside;
    }
    whole += item.bytes - item.rounding - item.outside;
  }
  if (parts.empty() || (parts.size() == 1 && parts.contains(Category::unknown))) return;
  auto add = [&](Category category) {
    auto found = parts.find(category);
    if (found == parts.end()) return;
    const CategoryPart& part = found->second;
    std::string name = analyzer::text(category), remark = text::percent(part.bytes, whole);
    if (part.inferred == part.bytes && part.bytes != 0) {
      name += kInferredMark;
    } else if (part.inferred != 0) {
      remark += fmt::format(", {} inferred", bytes(part.inferred));
    }
    table.row({indent + name, count(part.tensors), dash(part.storages), bytes(part.bytes), remark});
  };
  for (const auto& [category, part] : parts) {
    if (category != Category::unknown) add(category);
  }
  add(Category::unknown);
}

std::string outside_name(StorageKind kind) {
  switch (kind) {
    case StorageKind::external:
      return "external";
    case StorageKind::shared:
      return "shared memory";
    case StorageKind::pinned:
      return "pinned memory";
    case StorageKind::runtime:
      return "from the CUDA runtime";
    default:
      return "in no recorded block";
  }
}

std::string outside_remark(StorageKind kind, bool attached) {
  const char* why = kind == StorageKind::external  ? attached ? "numpy, DLPack, from_blob, or older than the attach; "
                                                              : "numpy, DLPack, from_blob; "
                    : kind == StorageKind::runtime ? "not from torch's allocator; "
                                                   : "";
  return fmt::format("{}not counted above", why);
}

void add_device(text::Table& table, const analyzer::OpenedDump& opened, const DeviceSums& sums) {
  const analyzer::DeviceTotal* total = opened.dump.total_of(sums.device);
  bool has_memory = sums.allocator_bytes() > 0 || sums.outside_bytes() > 0 || total != nullptr;
  uint64_t missing =
      total != nullptr && total->live_bytes > sums.allocator_bytes() ? total->live_bytes - sums.allocator_bytes() : 0;
  uint64_t storages = sums.in_tensors.storages + sums.mapped.storages;
  const std::string unknown = unknown_memory_phrase(opened.accounts.unknown_memory());
  const auto [unread, freed] = sums.unknown;
  const uint64_t outside_tensors =
      sums.tensors() - sums.in_tensors.tensors - sums.mapped.tensors - sums.no_memory.tensors - unread - freed;
  const bool all_unknown = unread + freed != 0 && unread + freed == sums.tensors();
  const bool one_reason = all_unknown && !has_memory && (unread == 0 || freed == 0);
  const char* const no_device = all_unknown ? "device not known" : "no device";
  const char* const without = unread + freed == 0 ? "no memory" : !one_reason ? "" : freed == 0 ? kUnread : kFreed;
  const char* const no_bytes = unread + freed == 0 ? "-" : "?";
  table.row({sums.device.type >= 0 ? sums.device.text() : no_device, count(sums.tensors() - outside_tensors),
             all_unknown ? "?" : dash(storages), has_memory ? bytes(sums.allocator_bytes() + missing) : no_bytes,
             has_memory ? device_remark(total) : without},
            text::Style::bold);
  bool plain = sums.mapped.storages == 0 && sums.no_tensor.blocks == 0 && sums.rounding.bytes == 0 && missing == 0 &&
               (sums.no_memory.tensors == 0 || !has_memory) && (unread + freed == 0 || (all_unknown && !has_memory));
  if (!plain) {
    const char* const remark = !unknown.empty() && sums.no_tensor.blocks != 0 ? "or more, see below" : "";
    table.row({"  in tensors", count(sums.in_tensors.tensors), dash(sums.in_tensors.storages),
               bytes(sums.in_tensors.bytes), remark});
  }
  add_categories(table, opened, sums, plain ? "  " : "    ", false);
  if (sums.mapped.storages > 0) {
    table.row({"  shared or mapped files", count(sums.mapped.tensors), count(sums.mapped.storages),
               bytes(sums.mapped.bytes)});
    add_categories(table, opened, sums, "    ", true);
  }
  if (sums.no_tensor.blocks > 0) {
    table.row({"  in no tensor", "-", count(sums.no_tensor.blocks), bytes(sums.no_tensor.bytes),
               unknown.empty() ? "allocated, but used by no tensor" : "allocated; perhaps used by " + unknown});
  }
  if (sums.rounding.bytes > 0) {
    table.row({"  rounding", "-", "-", bytes(sums.rounding.bytes), "unused ends of blocks"});
  }
  if (missing > 0)
    table.row({"  not in this dump", "-", "-", bytes(missing), "counted by the allocator; rows missing"});
  if (sums.no_memory.tensors > 0 && has_memory) {
    table.row({"  without memory", count(sums.no_memory.tensors), "-", "-", "meta, fake, sparse or empty"});
  }
  if (unread > 0 && !one_reason) table.row({"  not known", count(unread), "?", "?", kUnread});
  if (freed > 0 && !one_reason) table.row({"  not known", count(freed), "?", "?", kFreed});
  for (const auto& [kind, part] : sums.outside) {
    table.row({fmt::format("{}, {}", sums.device.text(), outside_name(kind)), count(part.tensors), count(part.storages),
               bytes(part.bytes), outside_remark(kind, opened.dump.process.attached_ns != 0)});
  }
}

text::Table lines_of(const analyzer::OpenedDump& opened) {
  text::Table table({{.title = "live", .least = 20},
                     {.title = "tensors", .align = text::Align::right},
                     {.title = "storages", .align = text::Align::right},
                     {.title = "bytes", .align = text::Align::right},
                     {.title = "", .least = 8}});
  // What has no device, such as an undefined tensor, comes last.
  for (bool known : {true, false}) {
    for (const DeviceSums& sums : opened.accounts.devices()) {
      if ((sums.device.type >= 0) == known) add_device(table, opened, sums);
    }
  }
  return table;
}

}  // namespace

std::vector<std::vector<std::string>> live_rows(const analyzer::OpenedDump& opened) { return lines_of(opened).cells(); }

std::string live_table(const analyzer::OpenedDump& opened, const text::Terminal& terminal) {
  const text::Table table = lines_of(opened);
  if (table.empty()) return "live: no tensors, no blocks\n";
  return table.text(terminal);
}

}  // namespace tensorscope::text
