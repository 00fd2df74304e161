// What COM1 of the virtual PC receives: the bytes of a file, a pipe or a terminal.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/descriptor.h"
#include "base/result.h"
#include "machine/devices/serial_port.h"

namespace zs::cli {

/// A regular file gives the same run each time; a terminal or a pipe is asked now and then whether there is something.
class SerialFile : public machine::SerialSender {
 public:
  /// path  "-" is standard input
  static Result<std::unique_ptr<SerialFile>> open(const std::string& path);
  explicit SerialFile(Descriptor file) : file_(std::move(file)) {}
  /// Nothing is sent before begin().
  void wait() { waits_ = true; }
  void begin() { waits_ = false; }
  /// Sends that byte when there is nothing more.
  void end_with(std::uint8_t byte) { last_ = byte; }
  std::optional<std::uint8_t> next() override;
  bool ended() const override { return ended_; }

 private:
  Descriptor file_;
  std::optional<std::uint8_t> last_;
  bool ended_ = false, waits_ = false;
};

}  // namespace zs::cli
