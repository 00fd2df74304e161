// The PC's bus: RAM and ROM as pages, the APICs' registers as memory, ports, and the A20 gate.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "machine/poll_watch.h"
#include "machine/vcpu/interfaces.h"

namespace zs::machine {

class IoApic;
class LocalApic;
class PhysicalMemory;
class PortMap;
class RetirementFeed;

class PcBus : public Bus {
 public:
  PcBus(PhysicalMemory& memory, PortMap& ports, LocalApic& local_apic, IoApic& io_apic)
      : memory_(memory), ports_(ports), local_apic_(local_apic), io_apic_(io_apic) {}

  /// Before the first access. The CPU asks for the next deadline again after each access to a device; accesses to ports
  /// take time.
  void set_cpu(Vcpu& cpu, RetirementFeed& feed) {
    cpu_ = &cpu;
    feed_ = &feed;
  }

  /// Called with the port when a guest has polled it too often (poll_watch.h).
  void on_endless_poll(std::function<void(std::uint16_t port)> action) { endless_poll_ = std::move(action); }
  /// Accesses to ports and device registers so far.
  std::uint64_t device_accesses() const { return device_accesses_; }

  Page page(std::uint64_t physical) override;
  std::uint64_t read(std::uint64_t physical, unsigned bytes) override;
  void write(std::uint64_t physical, unsigned bytes, std::uint64_t value) override;
  std::uint32_t in(std::uint16_t port, unsigned bytes) override;
  void out(std::uint16_t port, unsigned bytes, std::uint32_t value) override;

  /// Closed, address line 20 reads 0. Whoever changes it tells the CPU that the memory map changed.
  void set_a20(bool open) { a20_mask_ = open ? ~std::uint64_t{0} : ~(std::uint64_t{1} << 20); }
  bool a20() const { return ~a20_mask_ == 0; }

 private:
  bool in_local_apic(std::uint64_t physical) const;
  void use_port();

  PhysicalMemory& memory_;
  PortMap& ports_;
  LocalApic& local_apic_;
  IoApic& io_apic_;
  Vcpu* cpu_ = nullptr;
  RetirementFeed* feed_ = nullptr;
  PollWatch polls_;
  std::function<void(std::uint16_t)> endless_poll_ = [](std::uint16_t) {};
  std::uint64_t device_accesses_ = 0;
  std::uint64_t a20_mask_ = ~std::uint64_t{0};
  std::array<std::byte, 0x10000> test_memory_{};  // of QEMU's pc-testdev (devices/monitor_ports.h)
};

}  // namespace zs::machine
