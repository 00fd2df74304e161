#include "cli/record/last_branches.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "arch/records/bts.h"
#include "base/check.h"

namespace zs::cli {
namespace {

constexpr std::uint64_t kSlotBytes = session::kMaxBranchTrace;
constexpr std::size_t kRecord = sizeof(arch::BtsRecord);

}  // namespace

LastBranches::LastBranches(TraceBound bound, std::uint64_t bytes_besides, const std::string& folder)
    : bound_(bound), bytes_besides_(bytes_besides), fd_(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)) {
  if (fd_ < 0) fd_ = memfd_create("zeroskid-trace", MFD_CLOEXEC);
}

LastBranches::~LastBranches() {
  if (fd_ >= 0) ::close(fd_);
}

Result<void> LastBranches::move(bool write, const Piece& piece, std::byte* bytes) {
  for (std::size_t done = 0; done < piece.bytes;) {
    const auto at = static_cast<off_t>(piece.slot * kSlotBytes + done);
    const ssize_t moved =
        write ? pwrite(fd_, bytes + done, piece.bytes - done, at) : pread(fd_, bytes + done, piece.bytes - done, at);
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) {
      return Error{
          std::string("the temporary file that keeps the end of a trace: ") + std::strerror(moved < 0 ? errno : EIO),
          "make room beside the recording, or choose another place with -o FILE"};
    }
    done += static_cast<std::size_t>(moved);
  }
  return {};
}

void LastBranches::drop_first() {
  const Piece& first = pieces_.front();
  branches_ -= first.branches;
  bytes_ -= size_of(first);
  dropped_ += first.branches;
  free_.push_back(first.slot);
  pieces_.pop_front();
}

Result<void> LastBranches::add(session::Branches piece) {
  CHECK(piece.records.size() <= kSlotBytes, piece.records.size());
  Piece last{.origin = piece.origin,
             .branches = arch::branches_in(piece.records),
             .bytes = static_cast<std::uint32_t>(piece.records.size())};
  seen_ += last.branches;
  branches_ += last.branches;
  bytes_ += size_of(last);
  // Of what may stay in part, the whole stays until the end.
  const auto goes = [&](const Piece& first) {
    return (bound_.branches != 0 && branches_ - first.branches >= bound_.branches) ||
           (bound_.bytes != 0 && bytes_ - size_of(first) >= bound_.bytes);
  };
  while (!pieces_.empty() && goes(pieces_.front())) drop_first();
  if (free_.empty()) free_.push_back(slots_++);
  last.slot = free_.back();
  free_.pop_back();
  pieces_.push_back(last);
  return move(true, last, piece.records.data());
}

/// Leaves the last ones, and no record of zeros before the first.
void LastBranches::cut_front(session::Branches& piece, std::uint64_t most_branches, std::uint64_t most_bytes) {
  std::vector<std::byte>& records = piece.records;
  std::uint64_t left = arch::branches_in(records), at = 0;
  for (; at < records.size(); at += kRecord) {
    const std::uint64_t here = arch::branches_in(std::span(records).subspan(at, kRecord));
    if (here != 0 && left <= most_branches && records.size() - at <= most_bytes) break;
    left -= here;
    dropped_ += here;
  }
  records.erase(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(at));
}

Result<void> LastBranches::take(std::uint64_t bytes, const std::function<void(const session::Branches&)>& give) {
  bytes = bound_.bytes == 0 ? UINT64_MAX : std::min(bytes, bound_.bytes);
  const std::uint64_t most = bound_.branches == 0 ? UINT64_MAX : bound_.branches;
  while (!pieces_.empty() &&
         (branches_ - pieces_.front().branches >= most || bytes_ - size_of(pieces_.front()) >= bytes))
    drop_first();
  for (bool first = true; !pieces_.empty(); first = false) {
    const Piece next = pieces_.front();
    session::Branches piece{.origin = next.origin, .records = std::vector<std::byte>(next.bytes)};
    if (auto read = move(false, next, piece.records.data()); !read) return read;
    if (first && (branches_ > most || bytes_ > bytes)) {
      const std::uint64_t others = bytes_ - size_of(next) + bytes_besides_;
      cut_front(piece, most - (branches_ - next.branches), bytes > others ? bytes - others : 0);
    }
    branches_ -= next.branches;
    bytes_ -= size_of(next);
    pieces_.pop_front();
    if (!piece.records.empty()) give(piece);
  }
  return {};
}

}  // namespace zs::cli
