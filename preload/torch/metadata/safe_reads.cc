// SPDX-License-Identifier: Apache-2.0
#include "torch/metadata/safe_reads.h"

#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "support/call_filter.h"

namespace tensorscope::torch {

namespace {
constexpr size_t kMaxPieces = 1024;  // of one call: UIO_MAXIOV (linux/uio.h)
constexpr size_t kMaxBytes = size_t{16} << 20;
}  // namespace

void SafeReads::clear() {
  pieces_.clear();
  total_ = 0;
}

size_t SafeReads::add(uint64_t address, size_t size) {
  if (size > kMaxBytes || address > UINT64_MAX - size) size = 0;
  pieces_.push_back({address, size, total_, false});
  total_ += size;
  return pieces_.size() - 1;
}

bool SafeReads::run() {
  bytes_.resize(total_);
  iovec remote[kMaxPieces];
  for (size_t done = 0; done < pieces_.size();) {
    const size_t first = done;
    size_t count = 0, wanted = 0;
    for (; done < pieces_.size() && count < kMaxPieces; ++done) {
      Piece& piece = pieces_[done];
      if (piece.size == 0) continue;
      remote[count++] = {reinterpret_cast<void*>(piece.address), piece.size};
      wanted += piece.size;
    }
    if (count == 0) break;
    const iovec local = {bytes_.data() + pieces_[first].at, wanted};
    const ssize_t result = read_own_memory(local, remote, count);
    if (result < 0 && errno != EFAULT) return false;
    // The reading ends in the first piece of which something is not there.
    const size_t end = pieces_[first].at + (result > 0 ? size_t(result) : 0);
    size_t next = first;
    for (; next < done && pieces_[next].at + pieces_[next].size <= end; ++next)
      pieces_[next].ok = pieces_[next].size > 0;
    done = std::min(done, next + 1);
  }
  return true;
}

// A system call costs little more for a page than for a word, and what is read lies close together. Words of one page
// are one piece, so that a piece is there whole or not at all; a word on two pages is a piece of its
// own. Some pieces at a time bound what is copied.
bool read_words_safely(const uint64_t* addresses, uint64_t* words, size_t count) {
  constexpr size_t kPieces = 64;
  constexpr uint64_t kPage = 4096;
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return addresses[a] < addresses[b]; });
  SafeReads reads;
  size_t first_word[kPieces + 1];  // of a piece, in `order`
  for (size_t next = 0; next < count;) {
    reads.clear();
    size_t pieces = 0;
    while (next < count && pieces < kPieces) {
      first_word[pieces++] = next;
      const uint64_t begin = addresses[order[next]];
      uint64_t last = begin;
      for (++next; next < count && (addresses[order[next]] + 7) / kPage == begin / kPage; ++next) {
        last = addresses[order[next]];
      }
      reads.add(begin, size_t(last - begin) + sizeof(uint64_t));
    }
    first_word[pieces] = next;
    if (!reads.run()) return false;
    for (size_t piece = 0; piece < pieces; ++piece) {
      const uint64_t begin = addresses[order[first_word[piece]]];
      for (size_t i = first_word[piece]; i < first_word[piece + 1]; ++i) {
        words[order[i]] = reads.ok(piece) ? reads.word(piece, size_t(addresses[order[i]] - begin)) : 0;
      }
    }
  }
  return true;
}

}  // namespace tensorscope::torch
