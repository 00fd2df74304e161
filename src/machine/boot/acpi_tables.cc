#include "machine/boot/acpi_tables.h"

#include <cstdint>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

#include "machine/devices/acpi_ports.h"
#include "machine/devices/io_apic.h"
#include "machine/memory.h"

namespace zs::machine {
namespace {

/// Places in the BIOS's segment.
constexpr std::uint64_t kRoot = kBios + 0xC000, kRsdt = kRoot + 0x40, kFadt = kRoot + 0x100, kFacs = kRoot + 0x200,
                        kDsdt = kRoot + 0x280, kMadt = kRoot + 0x300, kMpPointer = kRoot + 0x400,
                        kMpTable = kRoot + 0x410;
constexpr std::uint64_t kLocalApic = 0xFEE00000;
constexpr std::size_t kLengthAt = 4, kChecksumAt = 9;

class Table {
 public:
  explicit Table(std::string_view signature) { text(signature); }
  Table(std::string_view signature, std::uint8_t revision) : Table(signature) {
    number(0, 4)
        .number(revision, 1)
        .number(0, 1)
        .text("ZSKID ")
        .text("ZEROSKID")
        .number(1, 4)
        .text("ZSKD")
        .number(1, 4);
  }
  Table& number(std::uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i) bytes_.push_back(static_cast<std::uint8_t>(value >> 8 * i));
    return *this;
  }
  Table& text(std::string_view letters) {
    bytes_.insert(bytes_.end(), letters.begin(), letters.end());
    return *this;
  }
  Table& zeros_up_to(std::size_t size) {
    bytes_.resize(size);
    return *this;
  }
  /// All bytes together are 0.
  Table& sum(std::size_t at) {
    bytes_[at] = static_cast<std::uint8_t>(0u - std::accumulate(bytes_.begin(), bytes_.end(), 0u));
    return *this;
  }
  Table& length() {
    bytes_[kLengthAt] = static_cast<std::uint8_t>(bytes_.size());
    bytes_[kLengthAt + 1] = static_cast<std::uint8_t>(bytes_.size() >> 8);
    return *this;
  }
  void put(PhysicalMemory& memory, std::uint64_t at) const { (void)memory.write(at, std::as_bytes(std::span(bytes_))); }

 private:
  std::vector<std::uint8_t> bytes_;
};

Table fixed_description() {
  constexpr std::uint64_t kNoState2 = 0xFFFF, kNoState3 = 0xFFFF, kCentury = 0x32;
  /// WBINVD works, C1 is there; buttons and the clock's wake-up are not.
  constexpr std::uint64_t kFlags = 0x01 | 0x04 | 0x10 | 0x20 | 0x40;
  Table table("FACP", 1);
  table.number(kFacs, 4).number(kDsdt, 4).number(1, 1).number(0, 1).number(AcpiPorts::kIrq, 2);
  table.number(0, 8);  // no command port: ACPI is on from the start
  table.number(AcpiPorts::kEvents, 4).number(0, 4).number(AcpiPorts::kControl, 4).number(0, 8);
  table.number(AcpiPorts::kTimer, 4).number(0, 8);
  table.number(4, 1).number(2, 1).number(0, 1).number(4, 1).number(0, 4);
  table.number(kNoState2, 2)
      .number(kNoState3, 2)
      .zeros_up_to(108)
      .number(kCentury, 1)
      .zeros_up_to(112)
      .number(kFlags, 4);
  return table;
}

Table apic_description() {
  constexpr std::uint64_t kHas8259s = 1, kEnabled = 1, kActiveHighLevel = 0x000D;
  enum Kind : std::uint8_t { Processor = 0, IoApicKind = 1, Override = 2, LocalNmi = 4 };
  Table table("APIC", 1);
  table.number(kLocalApic, 4).number(kHas8259s, 4);
  table.number(Processor, 1).number(8, 1).number(0, 2).number(kEnabled, 4);
  table.number(IoApicKind, 1).number(12, 1).number(0, 2).number(IoApic::kBase, 4).number(0, 4);
  table.number(Override, 1).number(10, 1).number(0, 2).number(2, 4).number(0, 2);  // IRQ0: pin 2
  table.number(Override, 1).number(10, 1).number(0, 1).number(AcpiPorts::kIrq, 1).number(AcpiPorts::kIrq, 4);
  table.number(kActiveHighLevel, 2);
  table.number(LocalNmi, 1).number(6, 1).number(0xFF, 1).number(0, 2).number(1, 1);
  return table;
}

}  // namespace

void install_acpi_tables(PhysicalMemory& memory) {
  constexpr std::string_view kOff("\x08_S5_\x12\x08\x04\x0A\x05\x0A\x05\0\0",
                                  14);  // Name(_S5, Package(4) {5, 5, 0, 0})
  Table("RSD PTR ").number(0, 1).text("ZSKID ").number(0, 1).number(kRsdt, 4).sum(8).put(memory, kRoot);
  Table("RSDT", 1).number(kFadt, 4).number(kMadt, 4).length().sum(kChecksumAt).put(memory, kRsdt);
  fixed_description().length().sum(kChecksumAt).put(memory, kFadt);
  Table("FACS").number(64, 4).zeros_up_to(64).put(memory, kFacs);
  Table("DSDT", 1).text(kOff).length().sum(kChecksumAt).put(memory, kDsdt);
  apic_description().length().sum(kChecksumAt).put(memory, kMadt);
}

void install_mp_tables(PhysicalMemory& memory) {
  enum Kind : std::uint8_t { Processor, Bus, IoApicKind, Interrupt, LocalInterrupt };
  enum Type : std::uint8_t { Vectored, Nmi, ExtInt = 3 };
  constexpr std::uint64_t kVersion = 0x14, kEnabled = 1, kBootstrap = 2, kEverywhere = 0xFF;
  constexpr std::uint64_t kHasApic = 1 << 9;  // of CPUID's feature flags
  constexpr unsigned kLines = 16, kCascade = 2, kEntries = 5 + kLines - 1, kHeader = 44;
  Table table("PCMP");
  table.number(0, 2).number(4, 1).number(0, 1).text("ZSKID   ").text("ZEROSKID    ").number(0, 6);
  table.number(kEntries, 2).number(kLocalApic, 4).zeros_up_to(kHeader);
  table.number(Processor, 1).number(0, 1).number(kVersion, 1).number(kEnabled | kBootstrap, 1);
  table.number(0, 4).number(kHasApic, 4).number(0, 8);
  table.number(Bus, 1).number(0, 1).text("ISA   ");
  table.number(IoApicKind, 1).number(0, 1).number(0x11, 1).number(kEnabled, 1).number(IoApic::kBase, 4);
  for (unsigned irq = 0; irq < kLines; ++irq) {
    if (irq == kCascade) continue;
    table.number(Interrupt, 1).number(Vectored, 1).number(0, 2).number(0, 1).number(irq, 1);
    table.number(0, 1).number(irq == 0 ? 2 : irq, 1);
  }
  table.number(LocalInterrupt, 1).number(ExtInt, 1).number(0, 4).number(kEverywhere, 1).number(0, 1);
  table.number(LocalInterrupt, 1).number(Nmi, 1).number(0, 4).number(kEverywhere, 1).number(1, 1);
  table.length().sum(7).put(memory, kMpTable);
  Table("_MP_").number(kMpTable, 4).number(1, 1).number(4, 1).zeros_up_to(16).sum(10).put(memory, kMpPointer);
}

}  // namespace zs::machine
