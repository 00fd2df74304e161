// The last branches of a trace that is bounded. Its pieces wait in a temporary file, in which new ones take the places
// of those that were dropped: in memory there are some bytes for each piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "session/wire/wire.h"

namespace zs::cli {

/// 0: any number.
struct TraceBound {
  std::uint64_t branches = 0;  // of all threads together
  std::uint64_t bytes = 0;     // of the file
  bool any() const { return branches != 0 || bytes != 0; }
};

class LastBranches {
 public:
  /// bytes_besides  that each piece takes in the file besides its records
  /// folder         where the temporary file may be; it is nameless, or in memory where that cannot be
  LastBranches(TraceBound bound, std::uint64_t bytes_besides, const std::string& folder);
  ~LastBranches();
  LastBranches(const LastBranches&) = delete;
  LastBranches& operator=(const LastBranches&) = delete;

  Result<void> add(session::Branches piece);
  /// Hands on what is left, in the order in which it came: of branches exactly as many as may be where more came, and
  /// whole ones that fit into `bytes`. None are here then.
  Result<void> take(std::uint64_t bytes, const std::function<void(const session::Branches&)>& give);
  Result<void> take(const std::function<void(const session::Branches&)>& give) { return take(UINT64_MAX, give); }
  std::uint64_t seen() const { return seen_; }  // branches that came
  std::uint64_t dropped() const { return dropped_; }
  /// Of the file; 0: any number.
  std::uint64_t most_bytes() const { return bound_.bytes; }

 private:
  struct Piece {
    session::Origin origin;
    std::uint64_t branches = 0;
    std::uint32_t slot = 0, bytes = 0;
  };

  std::uint64_t size_of(const Piece& piece) const { return piece.bytes + bytes_besides_; }
  void drop_first();
  void cut_front(session::Branches& piece, std::uint64_t most_branches, std::uint64_t most_bytes);
  Result<void> move(bool write, const Piece& piece, std::byte* bytes);

  TraceBound bound_;
  std::uint64_t bytes_besides_;
  int fd_ = -1;
  std::uint64_t branches_ = 0, bytes_ = 0;  // that are here
  std::uint64_t seen_ = 0, dropped_ = 0;
  std::deque<Piece> pieces_;
  std::vector<std::uint32_t> free_;  // places in the file that nobody takes
  std::uint32_t slots_ = 0;
};

}  // namespace zs::cli
