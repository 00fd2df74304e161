// The framing of GDB's remote serial protocol: $DATA#CHECKSUM, '+' and '-', and the lone 03H that interrupts.
// source: GDB manual, appendix "GDB Remote Serial Protocol", section "Overview".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace zs::machine::gdb {

/// "$" DATA "#" two digits.
std::string framed(std::string_view data);

/// Takes bytes as they come, gives packets.
class PacketReader {
 public:
  enum class What : std::uint8_t { Packet, Interrupt, Damaged };
  struct Item {
    What what;
    std::string data;
  };
  void add(std::string_view bytes);
  /// The next item, if a whole one has arrived.
  std::optional<Item> next();

 private:
  static constexpr std::size_t kLongest = 64 << 10;  // a longer packet is damaged
  std::string pending_;
};

std::string hex(std::span<const std::byte> bytes);
/// returns nothing unless all digits come in pairs
std::optional<std::string> bytes_of_hex(std::string_view digits);
/// A number in hexadecimal at the start of `text`, which moves past it.
std::optional<std::uint64_t> take_hex(std::string_view& text);

}  // namespace zs::machine::gdb
