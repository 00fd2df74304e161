// The virtual PC: one interpreted processor with its PMU, local APIC, I/O APIC, 8259 pair, 8254, CMOS, keyboard
// controller, IDE disk, serial port, screen and BIOS services, on one clock. Boots a disk image or a Multiboot kernel,
// and runs until the guest has nothing more to do, asks for the end, crashes, or has used its instructions. A run is a
// function of its input: nothing of the host (time, chance, threads) is in it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "arch/quirks.h"
#include "base/bytes.h"
#include "base/result.h"
#include "machine/boot/disk_image.h"
#include "machine/boot/multiboot.h"
#include "machine/boot/screen.h"
#include "machine/devices/keys.h"
#include "machine/retirement_feed.h"
#include "machine/vcpu/interfaces.h"

namespace zs::arch {
struct CpuModel;
}

namespace zs::uarch {
struct CoreModel;
}

namespace zs::machine {

class PhysicalMemory;
class PortMap;
class SerialSender;
class Vga;

struct PcConfig {
  const arch::CpuModel* cpu = nullptr;
  arch::QuirkSet quirks{};  // all that are to hold, those of the model included
  std::uint64_t memory_bytes = std::uint64_t{512} << 20;
  std::function<void(std::uint8_t)> serial = [](std::uint8_t) {};  // what COM1 sends
  SerialSender* serial_sender = nullptr;                           // who sends to COM1; outlives the PC
  std::vector<KeyStroke> keys{};                                   // typed on the keyboard
  std::function<void(const std::string&)> note = [](const std::string&) {
  };  // what the guest asked for and is not there
  TraceSink trace{};
  /// What the guest sends by port F6H: its kind, as the two agree, and its bytes, of which it lost none.
  std::function<void(std::uint64_t kind, Bytes)> parcel{};
  /// Now and then while it runs, some times a second.
  std::function<void()> breathe = [] {};
  /// The PMU has asked for an interrupt; the Debug Store is as the record that caused it left it.
  std::function<void()> pmi_requested{};
};

enum class PcStopKind : std::uint8_t {
  Idle,         // nothing that could still happen: HLT, a loop without end, a key that never comes
  DebugExit,    // port F4H
  Limit,        // the instruction limit
  TripleFault,  // `detail` names the chain of exceptions
  Reset,        // the guest asked for a reset (port 92H, 64H)
  PowerOff,     // the guest turned the PC off (ACPI's S5)
  Unsupported,  // the guest used, or waits for, what this PC has not; `detail` names it
  Breakpoint,   // a monitor's; before the instruction
  Watchpoint,   // a monitor's; after the instruction that touched `address`
};

struct PcStop {
  PcStopKind kind = PcStopKind::Idle;
  std::uint8_t status = 0;  // DebugExit
  std::uint64_t address = 0;
  std::string detail;
};

class Pc {
 public:
  static Result<std::unique_ptr<Pc>> make(PcConfig config);
  virtual ~Pc() = default;

  /// Loads what the image boots (its sector at 0000:7C00, or what a CD says) and stands there, as a BIOS leaves it.
  /// second  the IDE channel's other disk, which only software with a driver sees; `disk` is a hard disk then
  virtual void boot_disk(DiskImage disk, std::optional<DiskImage> second = {}) = 0;
  /// Loads the kernel and stands at its entry.
  virtual Result<void> boot_kernel(const MultibootInput& input) = 0;

  /// From here on instructions go through a core of that model: caches, translations, branch prediction and cycles.
  virtual void attach_core(const uarch::CoreModel& model) = 0;

  /// From here on these PMUs see what the guest's sees, which changes nothing for the guest; until the next call.
  virtual void look_from_outside(std::vector<OutsidePmu> pmus) = 0;

  /// Runs until something ends it, at the latest when `instructions` have retired in all.
  virtual PcStop run(std::uint64_t instructions) = 0;
  /// One instruction or one delivered event. returns Limit if nothing else ended it
  virtual PcStop step() = 0;

  virtual Vcpu& cpu() = 0;
  virtual PhysicalMemory& memory() = 0;
  virtual pmu::Pmu& pmu() = 0;
  virtual const Vga& vga() const = 0;
  /// What the screen shows of text: that of the text memory, or in graphics modes what the BIOS was asked to write.
  virtual std::vector<ScreenRow> screen() const = 0;
  virtual PortMap& ports() = 0;
  /// As RDMSR finds it. returns false where that raises #GP(0)
  virtual bool rdmsr(std::uint32_t msr, std::uint64_t& value) = 0;
  virtual std::uint32_t local_apic_register(std::uint32_t offset) = 0;
  /// Whether the kernel is an ELF file of 32 bits.
  virtual bool kernel_is_elf32() const = 0;
  /// What INT 13H serves; null with a kernel.
  virtual const DiskImage* disk() const = 0;
  virtual const Clock& clock() const = 0;
  /// What the clock says, and what has retired since it moved.
  virtual std::uint64_t now() const = 0;
  virtual std::uint64_t retired() const = 0;
};

}  // namespace zs::machine
