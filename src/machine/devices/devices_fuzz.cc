// Any sequence of port accesses, APIC register and MSR accesses, interrupt lines, acknowledges and time: no CHECK
// fails, and nothing goes on for ever.
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/test_input.h"
#include "machine/boot/disk_image.h"
#include "machine/devices/cmos.h"
#include "machine/devices/fw_cfg.h"
#include "machine/devices/ide_disk.h"
#include "machine/devices/io_apic.h"
#include "machine/devices/keyboard_controller.h"
#include "machine/devices/local_apic.h"
#include "machine/devices/monitor_ports.h"
#include "machine/devices/pic.h"
#include "machine/devices/pit.h"
#include "machine/devices/serial_port.h"
#include "machine/devices/system_ports.h"
#include "machine/devices/vga.h"
#include "machine/port_map.h"

namespace {

using namespace zs::machine;

DiskImage disk() {
  std::vector<std::byte> bytes(64 * kSectorBytes);
  bytes[510] = std::byte{0x55};
  bytes[511] = std::byte{0xAA};
  return *DiskImage::make(std::move(bytes), "image", DriveKind::HardDisk);
}

struct Board : CpuPins, SystemPins, MonitorPins {
  void interrupt_line(bool) override {}
  void nmi() override {}
  void smi() override {}
  void init() override { apic.init(); }
  bool a20() const override { return true; }
  void set_a20(bool) override {}
  void request_irq(unsigned irq) override { pic.pulse(irq); }
  void system_management_interrupt() override {}
  void pulse_reset() override {}
  void debug_exit(std::uint8_t) override {}
  void inject_machine_check() override {}
  void inject_smi() override {}
  void inject_init() override {}
  void inject_nmi() override {}
  void take_parcel(std::uint64_t) override {}
  void set_irq_line(unsigned irq, bool up) override { pic.set_line(irq, up); }

  Clock clock;
  Pic pic;
  Pit pit{clock, pic};
  LocalApic apic{*this, clock, pic};
  IoApic io_apic{apic};
  Cmos cmos{clock, 512u << 20};
  FwCfg fw_cfg{512u << 20};
  SerialPort serial{clock, pic, [](std::uint8_t) {}, nullptr};
  SystemPorts system{*this, pit};
  KeyboardController keyboard{*this};
  Vga vga;
  DiskImage image = disk();
  IdeDisk ide{image, [this](bool up) { pic.set_line(14, up); }};
  MonitorPorts monitor{*this};
  PortMap ports;

  Board() {
    apic.on_end_of_level([this](std::uint8_t vector) { io_apic.end_of_interrupt(vector); });
    ports.add(pic, 0x20, 0x21);
    ports.add(pic, 0xA0, 0xA1);
    ports.add(pit, 0x40, 0x43);
    ports.add(cmos, 0x70, 0x71);
    monitor.add_to(ports);
    ports.add(serial, SerialPort::kCom1, SerialPort::kCom1 + 7);
    ports.add(fw_cfg, 0x510, 0x511);
    ports.add(keyboard, 0x60, 0x60);
    ports.add(keyboard, 0x64, 0x64);
    ports.add(ide, IdeDisk::kFirst, IdeDisk::kLast);
    ports.add(ide, IdeDisk::kControl, IdeDisk::kControl);
    vga.add_to(ports);
    system.add_to(ports);
  }
};

/// Where there is something; the rest is one answer.
constexpr std::uint16_t kPorts[] = {0x20,  0x21,  0xA0,  0xA1,  0x40,   0x41,  0x42,  0x43,  0x60,  0x61,  0x64,
                                    0x70,  0x71,  0x80,  0x92,  0xB2,   0xB3,  0xF4,  0xF5,  0x3D4, 0x3D5, 0x3DA,
                                    0x1F0, 0x1F2, 0x1F3, 0x1F4, 0x1F5,  0x1F6, 0x1F7, 0x3F6, 0x3C0, 0x3C1, 0x3C5,
                                    0x3C7, 0x3C8, 0x3C9, 0x3CE, 0x3CF,  0x3F8, 0x3F9, 0x3FA, 0x3FB, 0x3FC, 0x3FD,
                                    0x3FE, 0x3FF, 0x510, 0x511, 0xFFFF, 0xE0,  0x200E};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  zs::testing::Input in(data, size);
  Board board;
  while (!in.empty()) {
    const auto action = in.take<std::uint8_t>();
    const std::uint16_t port = kPorts[in.take<std::uint8_t>() % std::size(kPorts)];
    const unsigned bytes = 1u << action / 8 % 3;
    std::uint64_t value = 0;
    switch (action % 8) {
      case 0: (void)board.ports.in(port, bytes); break;
      case 1: board.ports.out(port, bytes, in.take<std::uint32_t>()); break;
      case 2: (void)board.apic.read(in.take<std::uint16_t>() & 0xFFF); break;
      case 3: {
        const auto offset = static_cast<std::uint32_t>(in.take<std::uint16_t>() & 0xFFF);
        board.apic.write(offset, in.take<std::uint32_t>());
        break;
      }
      case 4: {
        const std::uint32_t msr = in.take<std::uint8_t>() % 65;
        const std::uint32_t address = msr == 64 ? LocalApic::kBaseMsr : LocalApic::kFirstMsr + msr;
        if (!board.apic.rdmsr(address, value)) value = 0;
        (void)board.apic.wrmsr(address, in.take<std::uint64_t>());
        break;
      }
      case 5:
        board.apic.request_pmi();
        (void)board.apic.acknowledge();
        break;
      case 6:
        board.pic.set_line(action / 8 % 16, (port & 1) != 0);
        board.apic.update_line();
        board.io_apic.write(port & 0x10, in.take<std::uint32_t>());
        board.io_apic.set_line(action / 8, (port & 1) != 0);
        break;
      default:
        board.clock.advance(in.take<std::uint32_t>());
        if (board.pit.deadline() <= board.clock.now()) board.pit.clock_moved();
        if (board.apic.deadline() <= board.clock.now()) board.apic.clock_moved();
        break;
    }
  }
  return 0;
}
