// Text on its way to where it was asked for: stderr, or the file of -o.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <optional>
#include <string>

namespace zs::cli {

/// Nobody need listen to stderr; a file must become whole.
class Output {
 public:
  /// returns the exit status if there is nowhere to write; that has been said
  enum class Old { Dropped, Kept };  // what was in the file
  std::optional<int> open_file(const std::string& path, Old old = Old::Dropped);
  /// A file that whoever called us has opened; likewise.
  std::optional<int> take_descriptor(int descriptor);
  int descriptor() const { return descriptor_; }

  void add(const std::string& text);
  /// returns false if a file that was asked for is not whole; that has been said, once
  bool flush();

 private:
  static constexpr std::size_t kMuch = 64 * 1024;
  std::string path_, text_;
  int descriptor_ = STDERR_FILENO;
  bool whole_ = true;
};

/// Makes a file of that text. returns false if it is not whole; that has been said
bool write_file(const std::string& path, const std::string& text);

}  // namespace zs::cli
