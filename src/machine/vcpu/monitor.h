// What the monitor puts in front of single instructions: BIOS services at fixed real-mode addresses, and breakpoints.
// And its watchpoints, which stop behind an access.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "machine/vcpu/insn.h"
#include "machine/vcpu/interfaces.h"

namespace zs::machine {

namespace vcpu {
struct Core;
}

enum class WatchKind : std::uint8_t { Write, Read, Access };

class Monitor {
 public:
  explicit Monitor(vcpu::Core& core) : core_(core) {}
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  /// `hook` runs when real-mode code reaches linear first .. first + count - 1, with the number from 0.
  void set_service_range(std::uint64_t first, unsigned count, ServiceHook* hook);
  void add_breakpoint(std::uint64_t linear);
  void remove_breakpoint(std::uint64_t linear);
  void add_watchpoint(std::uint64_t linear, std::uint64_t bytes, WatchKind kind);
  void remove_watchpoint(std::uint64_t linear, std::uint64_t bytes, WatchKind kind);

  // ---- for the interpreter
  /// Whether an instruction at `linear` may have the monitor's part in front.
  bool may_watch(std::uint64_t linear, bool real_mode) const {
    return !breakpoints_.empty() || (real_mode && is_service(linear));
  }
  /// The decoded record is replaced by one that first does the monitor's part; nothing else runs slower.
  void put_in_front(std::uint64_t linear, vcpu::Insn& insn);
  bool watches_data() const { return !watchpoints_.empty(); }
  void check_access(std::uint64_t linear, unsigned bytes, bool write);
  /// The address of the access that met a watchpoint since it was asked last.
  std::optional<std::uint64_t> take_hit() { return std::exchange(hit_, std::nullopt); }
  /// The processor has stopped at this breakpoint: going on from there, it passes it once.
  void stopped_at(std::uint64_t linear) { passes_ = linear; }
  bool passes_one() const { return passes_.has_value(); }
  void passed() { passes_.reset(); }

 private:
  struct DataWatch {
    std::uint64_t linear = 0, bytes = 0;
    bool read = false, write = false;
    bool operator==(const DataWatch&) const = default;
  };

  static DataWatch watch_of(std::uint64_t linear, std::uint64_t bytes, WatchKind kind) {
    return {linear, bytes, kind != WatchKind::Write, kind != WatchKind::Read};
  }
  bool is_service(std::uint64_t linear) const { return linear - service_first_ < service_count_; }
  bool has_breakpoint(std::uint64_t linear) const;
  void changed();
  static void at_service(vcpu::Core& core, const vcpu::Insn& insn);
  static void at_breakpoint(vcpu::Core& core, const vcpu::Insn& insn);

  vcpu::Core& core_;
  std::uint64_t service_first_ = 0;
  unsigned service_count_ = 0;
  ServiceHook* service_hook_ = nullptr;
  std::vector<std::uint64_t> breakpoints_;
  std::deque<vcpu::Insn> originals_;  // of records that have the monitor's part in front
  std::vector<DataWatch> watchpoints_;
  std::optional<std::uint64_t> hit_;
  std::optional<std::uint64_t> passes_;
};

}  // namespace zs::machine
