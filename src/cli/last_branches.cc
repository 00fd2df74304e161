#include "cli/last_branches.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "arch/records/bts.h"

namespace zs::cli {
namespace {

std::uint64_t branches_in(const session::Branches& piece) { return piece.records.size() / sizeof(arch::BtsRecord); }

}  // namespace

void LastBranches::add(session::Branches piece) {
  kept_ += branches_in(piece);
  pieces_.push_back(std::move(piece));
  while (kept_ - branches_in(pieces_.front()) >= most_) {
    kept_ -= branches_in(pieces_.front());
    dropped_ += branches_in(pieces_.front());
    pieces_.pop_front();
  }
}

std::deque<session::Branches> LastBranches::take() {
  if (kept_ > most_) {
    std::vector<std::byte>& records = pieces_.front().records;
    const std::uint64_t over = kept_ - most_;
    records.erase(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(over * sizeof(arch::BtsRecord)));
    dropped_ += over;
  }
  kept_ = 0;
  return std::exchange(pieces_, {});
}

}  // namespace zs::cli
