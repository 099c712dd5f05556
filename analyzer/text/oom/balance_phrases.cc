// SPDX-License-Identifier: Apache-2.0
#include "text/oom/balance_phrases.h"

#include <fmt/format.h>

#include "support/enum_words.h"
#include "text/units.h"

namespace tensorscope::text {

namespace {

using analyzer::oom::BalanceKind;
using analyzer::oom::BalanceNode;
using analyzer::oom::NoteKind;
using analyzer::oom::PartNote;

std::string pool_words(const BalanceNode& part) {
  const analyzer::oom::FreePart& pool = part.pool;
  std::string text = pool.private_pool() ? fmt::format("private pool ({}, {})", pool.pool_user, pool.pool)
                     : pool.small        ? "small pool"
                                         : "large pool";
  if (pool.private_pool() && pool.small) text += ", small";
  if (part.with_stream) text += fmt::format(", stream {:#x}", pool.stream);
  return text;
}

// "pid 991, pid 992, ..."
std::string pids_words(const PartNote& note) {
  constexpr size_t kMax = 4;
  std::string text;
  for (size_t i = 0; i < note.numbers.size() && i < kMax; ++i) {
    text += fmt::format("{}pid {}", i == 0 ? "" : ", ", note.numbers[i]);
  }
  return note.numbers.size() > kMax ? text + ", ..." : text;
}

std::string blocks_words(const PartNote& note) {
  std::string text = counted(note.count, "block");
  if (note.other == 0) return text;
  return text + fmt::format("; some of them perhaps of {} whose memory is not known", counted(note.other, "tensor"));
}

std::string pieces_words(const PartNote& note) {
  if (note.count == 1) return "1 free block";
  return fmt::format("{}, the largest {}", counted(note.count, "free block"), bytes(note.bytes));
}

// "python, 3 files, of which 1.0 MiB removed"
std::string files_words(const PartNote& note) {
  const std::string text = (note.text.empty() ? "" : note.text + ", ") + counted(note.count, "file");
  return note.bytes == 0 ? text : text + fmt::format("; {} in removed files", bytes(note.bytes));
}

constexpr analyzer::EnumWords<NoteKind> kNotes[] = {
    {NoteKind::none, ""},
    {NoteKind::text, ""},
    {NoteKind::storages, ""},
    {NoteKind::blocks, ""},
    {NoteKind::more_places, ""},
    {NoteKind::pieces, ""},
    {NoteKind::pids, ""},
    {NoteKind::pids_without_bytes, ""},
    {NoteKind::children, ""},
    {NoteKind::files, ""},
    {NoteKind::by_driver, "reported by the driver"},
    {NoteKind::by_cuda_runtime, "CUDA allocations by other libraries"},
    {NoteKind::by_remainder, "total minus free memory and other processes"},
    {NoteKind::stream_may_use, "freed, but a stream may still use it"},
    {NoteKind::ends_of_blocks, "unused ends of blocks"},
    {NoteKind::cache_not_told, "this allocator does not report its cache"},
    {NoteKind::pieces_not_known, "sizes of the free blocks not known"},
    {NoteKind::driver_not_in_dump, "driver data not recorded in this dump"},
    {NoteKind::total_not_told, "the driver did not report the total"},
    {NoteKind::processes_not_told, "the driver does not report memory per process"},
    {NoteKind::resident_not_known, "resident memory not known"},
    {NoteKind::page_locked, "page-locked, from the CUDA runtime"},
    {NoteKind::outside_torch, "in use, not by torch: Python objects, numpy, libraries"},
    {NoteKind::kept_for_later, "freed by the program, kept by malloc"},
    {NoteKind::arenas, "arenas of small objects"},
    {NoteKind::code_files_stacks, "code, mapped files, stacks"},
    {NoteKind::code_files_stacks_arenas, "code, mapped files, stacks, Python's own arenas"},
    {NoteKind::code_files_stacks_malloc, "code, mapped files, stacks, malloc (statistics not known)"},
    {NoteKind::copied_tables, "when the tables were copied"},
    {NoteKind::counts_against_limit, "reserved by libraries, thread stacks, files; counts against this limit"},
    {NoteKind::group_and_files, "other processes of the group, cached files"},
    {NoteKind::processes_and_kernel, "other processes, the kernel"},
    {NoteKind::storages_overlap, "storages overlap"},
    {NoteKind::made_while_copying, "blocks were allocated or freed while the dump was written"},
    {NoteKind::other_moment, "the allocator reported its total at another moment"},
    {NoteKind::not_seen, "blocks allocated before tensorscope started, or lost events"},
    {NoteKind::less_than_torch, "the driver counts less than torch's allocator holds"},
    {NoteKind::less_than_recorded, "the driver counts less for this process than was recorded"},
    {NoteKind::drivers_own, "the driver itself, unlisted processes"},
    {NoteKind::never_written, "allocated but not resident: never written to, or swapped out"},
    {NoteKind::shared_counted, "shared memory is counted once per process"},
};
static_assert(has_each(kNotes, NoteKind::shared_counted));

const char* fixed_words(NoteKind kind) { return kNotes[size_t(kind)].words; }

}  // namespace

std::string label_phrase(const BalanceNode& part) {
  switch (part.kind) {
    case BalanceKind::device:
    case BalanceKind::module:
    case BalanceKind::caller:
    case BalanceKind::library:
      return part.subject;
    case BalanceKind::reserved:
      return "torch, reserved";
    case BalanceKind::cached:
      return "cached and free";
    case BalanceKind::pool:
      return pool_words(part);
    case BalanceKind::context:
      return "context and the rest";
    case BalanceKind::context_and_pool:
      return "context, cudaMallocAsync's pool, the rest";
    case BalanceKind::outside_torch:
      return "context of this process, other processes";
    case BalanceKind::process:
      return fmt::format("pid {}", part.pid);
    case BalanceKind::cgroup:
      return "cgroup limit";
    case BalanceKind::machine:
      return "the machine";
    case BalanceKind::address_space:
      return "address space limit (RLIMIT_AS)";
    case BalanceKind::private_memory:
      return "private memory limit (RLIMIT_DATA)";
    case BalanceKind::shared_memory:
      return "shared memory (/dev/shm)";
    case BalanceKind::resident_process:
      return "this process, resident";
    case BalanceKind::torch:
      return "torch's allocator";
    case BalanceKind::profiler:
      return "tensorscope itself";
    case BalanceKind::malloc_free:
      return "kept by malloc";
    case BalanceKind::not_resident:
      return "mapped, but not resident";
    case BalanceKind::others:
      return "everything else";
    default:
      return "";
  }
}

std::string note_phrase(const PartNote& note) {
  switch (note.kind) {
    case NoteKind::text:
      return note.text;
    case NoteKind::storages:
      return counted(note.count, "storage");
    case NoteKind::blocks:
      return blocks_words(note);
    case NoteKind::more_places:
      return counted(note.count, "more allocation site");
    case NoteKind::pieces:
      return pieces_words(note);
    case NoteKind::pids:
      return pids_words(note);
    case NoteKind::pids_without_bytes:
      return pids_words(note) + "; the driver does not report how much each has";
    case NoteKind::children:
      return fmt::format("{} process{}", count(note.count), note.count == 1 ? "" : "es");
    case NoteKind::files:
      return files_words(note);
    default:
      return fixed_words(note.kind);
  }
}

}  // namespace tensorscope::text
