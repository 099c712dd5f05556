#include "snapshot/metadata/safe_reads.h"

#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>

namespace tensorscope::snapshot {

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
    const ssize_t result = process_vm_readv(getpid(), &local, 1, remote, count, 0);
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

}  // namespace tensorscope::snapshot
