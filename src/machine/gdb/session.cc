#include "machine/gdb/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "machine/gdb/packet.h"
#include "machine/vcpu/monitor.h"
#include "machine/vcpu/vcpu.h"

namespace zs::machine::gdb {
namespace {

constexpr std::array<Gpr, 16> kOrder64 = {kRax, kRbx, kRcx, kRdx, kRsi, kRdi, kRbp, kRsp,
                                          kR8,  kR9,  kR10, kR11, kR12, kR13, kR14, kR15};
constexpr std::array<Gpr, 8> kOrder32 = {kRax, kRcx, kRdx, kRbx, kRsp, kRbp, kRsi, kRdi};
constexpr std::array<Seg, 6> kSegmentOrder = {kCs, kSs, kDs, kEs, kFs, kGs};
constexpr std::uint64_t kRunAtOnce = 1'000'000;  // instructions between two looks at whether gdb wants to interrupt
constexpr std::uint64_t kLargestRead = 16 << 10;

}  // namespace

/// gdb's numbers of registers: general ones, the instruction pointer, then flags and six selectors of 4 bytes; only
/// these are offered. gdb takes an architecture that it is told to be compatible with the file it has loaded.
struct Session::Layout {
  std::span<const Gpr> general;
  unsigned bytes;
  std::string_view target;

  std::size_t ip() const { return general.size(); }
  std::size_t flags() const { return general.size() + 1; }
  std::size_t last() const { return flags() + kSegmentOrder.size(); }
  unsigned bytes_of(std::size_t number) const { return number <= ip() ? bytes : 4; }
};

namespace {

std::string hex_of(std::uint64_t value, unsigned bytes) {
  return hex(std::as_bytes(std::span(&value, 1)).first(bytes));
}

/// The number that `text` begins with and the mark behind it, taken off; nothing if they are not there.
std::optional<std::uint64_t> take_hex_and(std::string_view& text, char mark) {
  const auto number = take_hex(text);
  if (!number || !text.starts_with(mark)) return std::nullopt;
  text.remove_prefix(1);
  return number;
}

std::optional<std::uint64_t> value_of(std::string_view digits) {
  const auto bytes = bytes_of_hex(digits);
  if (!bytes || bytes->size() > 8 || bytes->empty()) return std::nullopt;
  std::uint64_t value = 0;
  std::memcpy(&value, bytes->data(), bytes->size());
  return value;
}

}  // namespace

const Session::Layout& Session::layout() const {
  static constexpr Layout k64{kOrder64, 8,
                              R"(<?xml version="1.0"?><!DOCTYPE target SYSTEM "gdb-target.dtd"><target>)"
                              R"(<architecture>i386:x86-64</architecture><osabi>none</osabi></target>)"};
  static constexpr Layout k32{
      kOrder32, 4,
      R"(<?xml version="1.0"?><!DOCTYPE target SYSTEM "gdb-target.dtd"><target>)"
      R"(<architecture>i386</architecture><osabi>none</osabi><compatible>i386:x86-64</compatible></target>)"};
  return registers_ == Registers::I386 ? k32 : k64;
}

std::string Session::read_register(std::size_t number) const {
  const CpuState state = pc_.cpu().state();
  const Layout& of = layout();
  const std::uint64_t value = number < of.ip()       ? state.gpr[of.general[number]]
                              : number == of.ip()    ? pc_.cpu().linear_ip()
                              : number == of.flags() ? state.rflags
                                                     : state.segments[kSegmentOrder[number - of.flags() - 1]].selector;
  return hex_of(value, of.bytes_of(number));
}

std::string Session::read_registers() const {
  std::string text;
  for (std::size_t number = 0; number <= layout().last(); ++number) text += read_register(number);
  return text;
}

/// A processor that goes on elsewhere is not halted there.
bool Session::set_register(std::size_t number, std::uint64_t value) {
  CpuState state = pc_.cpu().state();
  const Layout& of = layout();
  if (number < of.ip()) {
    state.gpr[of.general[number]] = value;
  } else if (number == of.ip()) {
    state.halted = state.halted && value == pc_.cpu().linear_ip();
    state.rip = value - state.segments[kCs].base;
  } else if (number == of.flags()) {
    state.rflags = value;
  } else {
    return false;  // selectors: their descriptors would not follow
  }
  pc_.cpu().set_state(state);
  return true;
}

std::string Session::write_registers(std::string_view digits) {
  const Layout& of = layout();
  if (digits.size() < 2 * (of.bytes * (of.ip() + 1) + 4)) return "E01";
  for (std::size_t number = 0; number <= of.flags(); ++number) {
    const auto value = value_of(digits.substr(0, std::size_t{2} * of.bytes_of(number)));
    if (!value) return "E01";
    (void)set_register(number, *value);
    digits.remove_prefix(std::size_t{2} * of.bytes_of(number));
  }
  return "OK";
}

std::string Session::write_register(std::string_view packet) {
  const auto number = take_hex_and(packet, '=');
  const auto value = number ? value_of(packet) : std::nullopt;
  return value && set_register(*number, *value) ? "OK" : "E01";
}

std::string Session::read_memory(std::string_view packet) {
  const auto address = take_hex_and(packet, ',');
  const auto length = address ? take_hex(packet) : std::nullopt;
  if (!length) return "E01";
  std::vector<std::byte> bytes(std::min(*length, kLargestRead));
  if (pc_.cpu().peek(*address, bytes)) return hex(bytes);
  std::string text;  // as far as it is there
  for (std::uint64_t i = 0; i < bytes.size() && pc_.cpu().peek(*address + i, std::span(&bytes[i], 1)); ++i) {
    text += hex(std::span(&bytes[i], 1));
  }
  return text.empty() ? "E14" : text;
}

std::string Session::write_memory(std::string_view packet) {
  const auto address = take_hex_and(packet, ',');
  const auto length = address ? take_hex_and(packet, ':') : std::nullopt;
  const auto bytes = length ? bytes_of_hex(packet) : std::nullopt;
  if (!bytes || bytes->size() != *length) return "E01";
  return pc_.cpu().poke(*address, std::as_bytes(std::span(*bytes))) ? "OK" : "E14";
}

/// Z and z: 0 and 1 breakpoints, 2 write, 3 read, 4 access watchpoints.
std::string Session::point(std::string_view packet, bool insert) {
  const auto type = take_hex(packet);
  if (!type || *type > 4 || packet.empty()) return "";
  packet.remove_prefix(1);
  const auto address = take_hex(packet);
  if (!address || packet.empty()) return "E01";
  packet.remove_prefix(1);
  const auto length = take_hex(packet);
  if (!length) return "E01";
  const std::tuple key{static_cast<unsigned>(*type), *address, *length};
  if (insert ? !points_.insert(key).second : points_.erase(key) == 0) return "OK";  // again: as the manual asks
  Monitor& monitor = pc_.cpu().monitor();
  if (*type <= 1) {
    insert ? monitor.add_breakpoint(*address) : monitor.remove_breakpoint(*address);
    return "OK";
  }
  const auto kind = *type == 2 ? WatchKind::Write : *type == 3 ? WatchKind::Read : WatchKind::Access;
  if (*length == 0 || *length > 4096) return "E01";
  insert ? monitor.add_watchpoint(*address, *length, kind) : monitor.remove_watchpoint(*address, *length, kind);
  return "OK";
}

std::string Session::stop_reply(const PcStop& stop) {
  switch (stop.kind) {
    case PcStopKind::Breakpoint: return "T05swbreak:;";
    case PcStopKind::Watchpoint: {
      std::string_view name = "awatch";
      for (const auto& [type, address, length] : points_) {
        if (type < 2 || stop.address + 16 < address || stop.address >= address + length) continue;
        name = type == 2 ? "watch" : type == 3 ? "rwatch" : "awatch";
      }
      return fmt::format("T05{}:{:x};", name, stop.address);
    }
    case PcStopKind::Limit: return "S05";
    case PcStopKind::TripleFault:
    case PcStopKind::Unsupported: ended_ = stop; return "X06";
    case PcStopKind::DebugExit: ended_ = stop; return fmt::format("W{:02x}", stop.status);
    default: ended_ = stop; return "W00";
  }
}

std::string Session::resume(bool step) {
  if (ended_) return "W00";
  if (step) return stop_reply(pc_.step());
  for (;;) {
    const std::uint64_t next = std::min(pc_.retired() + kRunAtOnce, limit_);
    const PcStop stop = pc_.run(next);
    if (stop.kind != PcStopKind::Limit) return stop_reply(stop);
    if (pc_.retired() >= limit_) {
      ended_ = stop;
      return "X0e";  // as a process whose time is up: SIGALRM
    }
    if (interrupted_()) return "S02";
  }
}

std::string Session::query(std::string_view packet) {
  if (packet.starts_with("qSupported")) {
    return fmt::format("PacketSize={:x};qXfer:features:read+;swbreak+;hwbreak+;vContSupported+", 32768);
  }
  constexpr std::string_view kFeatures = "qXfer:features:read:target.xml:";
  if (packet.starts_with(kFeatures)) {
    packet.remove_prefix(kFeatures.size());
    const auto offset = take_hex(packet);
    const std::string_view target = layout().target;
    if (!offset || *offset > target.size()) return "E01";
    return "l" + std::string(target.substr(*offset));
  }
  if (packet == "qAttached") return "1";
  if (packet == "qC") return "QC1";
  if (packet == "qfThreadInfo") return "m1";
  if (packet == "qsThreadInfo") return "l";
  return "";
}

std::optional<std::string> Session::answer(std::string_view packet) {
  if (packet.empty()) return "";
  const std::string_view rest = packet.substr(1);
  switch (packet.front()) {
    case '?': return last_reply_;
    case 'g': return read_registers();
    case 'G': return write_registers(rest);
    case 'p': {
      std::string_view text = rest;
      const auto number = take_hex(text);
      return number && *number <= layout().last() ? read_register(*number) : "E01";
    }
    case 'P': return write_register(rest);
    case 'm': return read_memory(rest);
    case 'M': return write_memory(rest);
    case 'Z': return point(rest, true);
    case 'z': return point(rest, false);
    case 's': return last_reply_ = resume(true);
    case 'c': return last_reply_ = resume(false);
    case 'v':
      if (packet == "vCont?") return "vCont;c;C;s;S";
      if (packet.starts_with("vCont;s") || packet.starts_with("vCont;S")) return last_reply_ = resume(true);
      if (packet.starts_with("vCont;c") || packet.starts_with("vCont;C")) return last_reply_ = resume(false);
      if (packet.starts_with("vKill")) {
        killed_ = true;
        return "OK";
      }
      return "";
    case 'D': detached_ = true; return "OK";
    case 'k': killed_ = true; return std::nullopt;
    case 'H':
    case 'T': return "OK";
    case 'q': return query(packet);
    default: return "";
  }
}

}  // namespace zs::machine::gdb
