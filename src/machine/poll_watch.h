// Notices that a guest reads one port over and over, always finds the same, and does nothing else with ports or device
// registers: what it waits for will not come. Says what it is.
#pragma once

#include <cstdint>
#include <string>

namespace zs::machine {

class PollWatch {
 public:
  /// So many equal reads in a row are too many: 17 seconds of the PC's time (kPortTicks). Whoever waits with a time
  /// limit gives up before, and hardware that is there answers at once.
  static constexpr std::uint64_t kTooMany = std::uint64_t{1} << 24;

  /// returns whether this read is the one too many
  bool read(std::uint16_t port, std::uint32_t value) {
    if (port == port_ && value == value_) return ++times_ == kTooMany;
    port_ = port;
    value_ = value;
    times_ = 1;
    return false;
  }
  void written(std::uint16_t port) {
    if (port != kDelayPort) times_ = 0;
  }
  void device_used() { times_ = 0; }

 private:
  static constexpr std::uint16_t kDelayPort = 0x80;  // written between two reads, for the time that it takes
  std::uint16_t port_ = 0;
  std::uint32_t value_ = 0;
  std::uint64_t times_ = 0;
};

/// "polls port 1F7h (IDE status): this PC has no IDE disk; INT 13H works"
/// has_ide  whether the PC has the primary channel
std::string endless_poll(std::uint16_t port, bool has_ide);

}  // namespace zs::machine
