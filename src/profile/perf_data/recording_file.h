// The file that a recording goes into: created with the one of before kept as FILE.old, written at several places, and
// found under its name at the end or not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/bytes.h"

namespace zs::profile {

class RecordingFile {
 public:
  struct Failure {
    std::string what;  // "cannot create"
    int error;         // errno
  };

  explicit RecordingFile(std::string path) : path_(std::move(path)) {}
  RecordingFile(RecordingFile&& other) noexcept
      : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), regular_(other.regular_) {}
  RecordingFile& operator=(RecordingFile&&) = delete;
  ~RecordingFile();

  const std::string& path() const { return path_; }
  bool is_open() const { return fd_ >= 0; }
  /// A regular, non-empty file of this name is renamed to FILE.old first; what is not regular (/dev/null) is written to
  /// as it is. nullopt: done
  std::optional<Failure> create();
  /// returns 0 or errno; `done` bytes were written in any case
  int write_at(std::uint64_t offset, Bytes bytes, std::size_t& done) const;
  /// What lies behind `size` bytes goes, as far as that can be done.
  void cut_to(std::uint64_t size) const;
  /// Whether it still has its name.
  bool is_reachable() const;
  /// returns 0 or errno
  int close();

 private:
  std::string path_;
  int fd_ = -1;
  bool regular_ = true;
};

/// What to do about the errno of a failed write; "" where that is not known.
std::string remedy_of(int error);

}  // namespace zs::profile
