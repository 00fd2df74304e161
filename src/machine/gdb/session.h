// What stock gdb asks of the virtual PC, packet by packet: registers, memory, step, continue, breakpoints, watchpoints.
// No sockets here: packets in, packets out.
//
// The PC shows gdb the registers of x86-64 or of i386: gdb looks at a file of 32 bits, its frames and types, with the
// latter alone. Which, is settled before gdb connects: i386 for a kernel of 32 bits, unless the user says otherwise.
// Addresses are linear: breakpoints and memory are those that paging maps now. RIP is shown as a linear address too, so
// that code in real mode can be found; writing it writes the offset.
// source: GDB manual, "Packets", "Stop Reply Packets", "Target Description Format".
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include "machine/pc.h"

namespace zs::machine::gdb {

enum class Registers : std::uint8_t { X8664, I386 };

class Session {
 public:
  /// limit        instructions in all
  /// interrupted  asked now and then while the PC runs; true: gdb wants it to stop
  Session(Pc& pc, std::uint64_t limit, Registers registers, std::function<bool()> interrupted)
      : pc_(pc), limit_(limit), registers_(registers), interrupted_(std::move(interrupted)) {}

  /// The reply to one packet, unframed. Nothing: no reply is due (the debugger left).
  std::optional<std::string> answer(std::string_view packet);

  /// gdb has left: the PC may run on (detach) or is no longer wanted (kill).
  bool detached() const { return detached_; }
  bool killed() const { return killed_; }
  /// How the PC stopped for good, once it has.
  const std::optional<PcStop>& ended() const { return ended_; }

 private:
  std::string query(std::string_view packet);
  struct Layout;
  const Layout& layout() const;
  std::string read_register(std::size_t number) const;
  std::string read_registers() const;
  bool set_register(std::size_t number, std::uint64_t value);
  std::string write_registers(std::string_view digits);
  std::string write_register(std::string_view packet);
  std::string read_memory(std::string_view packet);
  std::string write_memory(std::string_view packet);
  std::string point(std::string_view packet, bool insert);
  std::string resume(bool step);
  std::string stop_reply(const PcStop& stop);

  Pc& pc_;
  std::uint64_t limit_;
  Registers registers_;
  std::function<bool()> interrupted_;
  std::set<std::tuple<unsigned, std::uint64_t, std::uint64_t>> points_;
  std::string last_reply_ = "S05";
  std::optional<PcStop> ended_;
  bool detached_ = false, killed_ = false;
};

}  // namespace zs::machine::gdb
