#include "machine/boot/bios.h"

#include <fmt/format.h>

#include <array>
#include <span>

#include "machine/boot/bios_data_area.h"
#include "machine/boot/disk_image.h"
#include "machine/boot/screen.h"
#include "machine/devices/vga.h"
#include "machine/memory.h"
#include "machine/port_map.h"

namespace zs::machine {
namespace {

constexpr std::uint8_t kTextMode = 3;
constexpr std::uint32_t kOwnVectors = kBiosSegment << 16;

/// Equipment: x87, 80 x 25 colour, one serial port; with a floppy that too.
constexpr std::uint16_t kEquipmentWord = 0x0222, kWithFloppy = 0x0001;

}  // namespace

Bios::Bios(PhysicalMemory& memory, PortMap& ports, Vga& vga, DiskImage* disk, BiosHost& host)
    : memory_(memory), ports_(ports), vga_(vga), disk_(disk), host_(host) {}

void Bios::install() {
  for (unsigned vector = 0; vector < 256; ++vector) {
    memory_.store<std::uint32_t>(vector * 4, kOwnVectors | vector);
    memory_.store<std::uint8_t>(kBios + vector, 0xCF);  // IRET
  }
  memory_.store<std::uint32_t>(4 * 8, kOwnVectors | kTickService);
  memory_.store<std::uint16_t>(kBios + kTickService, 0x1CCD);  // INT 1CH
  memory_.store<std::uint8_t>(kBios + kTickEnd, 0xCF);
  // sti; wait: jnc to the service, if no key need be waited for; hlt; jmp wait; the service's iret
  memory_.store<std::uint32_t>(4 * 0x16, kOwnVectors | kKeyEntry);
  memory_.store<std::uint8_t>(kBios + kKeyEntry, 0xFB);
  memory_.store<std::uint32_t>(kBios + kKeyWait, 0xEBF4'0373);
  memory_.store<std::uint16_t>(kBios + kKeyWait + 4, 0xCFFB);
  // The reset vector, where INIT leads: JMP FAR [0467H], the BIOS's way back to software that asked for it. Until that
  // sets the vector it is F000:FFF8, CLI; HLT; JMP to itself: there is no power-on self-test to start again.
  memory_.store<std::uint32_t>(kBios + kResetVector, 0x0467'2EFF);
  memory_.store<std::uint32_t>(kBios + 0xFFF8, 0xFDEB'F4FA);
  memory_.store<std::uint32_t>(kRestartVector, 0xF000'FFF8);
  install_tables();

  const bool floppy = disk_ != nullptr && disk_->floppy();
  const auto equipment = static_cast<std::uint16_t>(floppy ? kEquipmentWord | kWithFloppy : kEquipmentWord);
  memory_.store<std::uint16_t>(kCom1Port, 0x3F8);
  memory_.store<std::uint16_t>(kExtendedArea, kExtendedAreaSegment);
  memory_.store<std::uint8_t>(real_address(kExtendedAreaSegment, 0), 1);  // its size in KiB
  memory_.store<std::uint16_t>(kEquipment, equipment);
  memory_.store<std::uint16_t>(kMemoryKiB, kLowMemoryKiB);
  for (const DataArea place : {kKeyboardHead, kKeyboardTail, kKeyboardStart}) {
    memory_.store<std::uint16_t>(place, kKeyboardBuffer & 0xFF);
  }
  memory_.store<std::uint16_t>(kKeyboardEnd, kKeyboardBufferEnd & 0xFF);
  memory_.store<std::uint16_t>(kCursorShape, 0x0607);
  memory_.store<std::uint16_t>(kCrtPort, 0x3D4);
  memory_.store<std::uint8_t>(kDiskCount, disk_ != nullptr && disk_->kind() == DriveKind::HardDisk ? 1 : 0);
  memory_.store<std::uint8_t>(kLastRow, kVisibleRows - 1);
  memory_.store<std::uint16_t>(kCharacterHeight, 16);
  memory_.store<std::uint8_t>(kKeyboardKind, 0x10);  // 101 keys
  memory_.store<std::uint8_t>(kVideoMode, kTextMode);
  memory_.store<std::uint16_t>(kVideoColumns, kColumns);
  memory_.store<std::uint16_t>(kPageBytesField, 0x1000);
  vga_.set_mode(kTextMode);

  // Devices. 8259 pair: IRQ 0, 1, 2 and 6 of the first chip open, 8, 12, 13 and 14 of the second; 8254: 18.2 times a
  // second.
  for (const auto& [port, value] : std::initializer_list<std::pair<std::uint16_t, std::uint8_t>>{
           {0x21, 0xB8}, {0xA1, 0x8E}, {0x43, 0x36}, {0x40, 0}, {0x40, 0}, {0x43, 0x54}, {0x41, 18}}) {
    ports_.out(port, 1, value);
  }
  set_cmos(0x10, floppy ? static_cast<std::uint8_t>(disk_->floppy_type() << 4) : 0);
  set_cmos(0x14, static_cast<std::uint8_t>(equipment));
  tick_base_ = 0;
}

/// Tables that vectors or services point to. INT 1EH and INT 41H are no services but pointers.
void Bios::install_tables() {
  constexpr std::uint8_t kDiskette[] = {0xAF, 0x02, 0x25, 0x02, 18, 0x1B, 0xFF, 0x6C, 0xF6, 0x0F, 0x08};
  (void)memory_.write(kBios + kDisketteTable, std::as_bytes(std::span(kDiskette)));
  memory_.store<std::uint32_t>(4 * 0x1E, kOwnVectors | kDisketteTable);
  // Its length; model FCH (AT), submodel 1; features: second 8259, real-time clock, INT 9 hooks; an extended BIOS data
  // area.
  constexpr std::uint8_t kConfiguration[] = {8, 0, 0xFC, 1, 0, 0x74, 0, 0, 0, 0};
  (void)memory_.write(kBios + kConfigurationTable, std::as_bytes(std::span(kConfiguration)));
  memory_.store<std::uint8_t>(kBios + 0xFFFE, 0xFC);
  constexpr std::uint64_t kGdt[kFlatGdtBytes / 8] = {0, 0x00CF9B000000FFFF, 0x00CF93000000FFFF};
  (void)memory_.write(kBios + kFlatGdt, std::as_bytes(std::span(kGdt)));
  if (disk_ != nullptr && disk_->kind() == DriveKind::HardDisk) {
    std::array<std::uint8_t, 16> table{};
    table[0] = static_cast<std::uint8_t>(disk_->cylinders());
    table[1] = static_cast<std::uint8_t>(disk_->cylinders() >> 8);
    table[2] = static_cast<std::uint8_t>(disk_->heads());
    table[14] = static_cast<std::uint8_t>(disk_->sectors_per_track());
    (void)memory_.write(kBios + kHardDiskTable, std::as_bytes(std::span(table)));
    memory_.store<std::uint32_t>(4 * 0x41, kOwnVectors | kHardDiskTable);
  }
}

bool Bios::owns_the_tick() const {
  return memory_.load<std::uint32_t>(4 * 0x08) == (kOwnVectors | kTickService) &&
         memory_.load<std::uint32_t>(4 * 0x1C) == (kOwnVectors | 0x1C);
}

bool Bios::store(std::uint64_t physical, std::span<const std::byte> bytes) {
  if (!memory_.write(physical, bytes)) return false;
  host_.memory_written(physical, bytes.size());
  return true;
}

std::uint8_t Bios::cmos(std::uint8_t index) {
  ports_.out(0x70, 1, index);
  return static_cast<std::uint8_t>(ports_.in(0x71, 1));
}

void Bios::set_cmos(std::uint8_t index, std::uint8_t value) {
  ports_.out(0x70, 1, index);
  ports_.out(0x71, 1, value);
}

/// Once for each function: of INT 15H AH=E8H and INT 10H AH=4FH they are told apart by AL.
void Bios::not_here(unsigned vector, const BiosCall& call) {
  const bool by_al = (vector == 0x15 && call.ah() >= 0xE8) || vector == 0x10;
  const std::uint32_t function = by_al ? call.ax() : call.ah();
  if (!noted_.insert(vector << 16 | function).second) return;
  host_.note(by_al ? fmt::format("the BIOS has no INT {:02X}h AX={:04X}h", vector, function)
                   : fmt::format("the BIOS has no INT {:02X}h AH={:02X}h", vector, function));
}

void Bios::service(unsigned vector, BiosCall& call) {
  if (vector == 0x10 || vector == 0x13 || vector == 0x15) key_polls_ = 0;
  switch (vector) {
    case kTickService: count_tick(); return;
    case kTickEnd: ports_.out(0x20, 1, 0x20); return;
    case 0x09: key_interrupt(); return;
    case 0x08:
      count_tick();
      ports_.out(0x20, 1, 0x20);
      return;
    case 0x10: video(call); return;
    case 0x11: call.set_ax(memory_.load<std::uint16_t>(kEquipment)); return;
    case 0x12: call.set_ax(memory_.load<std::uint16_t>(kMemoryKiB)); return;
    case 0x13: disk(call); return;
    case 0x14: {
      enum : std::uint8_t { Send = 1, Receive = 2 };
      constexpr std::uint8_t kTimeOut = 0x80, kReceived = 1;
      constexpr std::uint16_t kCom1 = 0x3F8, kLineStatus = kCom1 + 5;
      if (call.dx() != 0 || call.ah() > 3) return not_here(vector, call);
      const std::uint32_t status = ports_.in(kLineStatus, 1);
      if (call.ah() == Send) ports_.out(kCom1, 1, call.al());
      if (call.ah() != Receive) return call.set_ah(status);
      const bool there = (status & kReceived) != 0;
      if (there) call.set_al(ports_.in(kCom1, 1));
      call.set_ah(there ? 0 : kTimeOut);
      return;
    }
    case 0x15: system(call); return;
    case 0x16:
    case kKeyService: keyboard(call); return;
    case 0x17: call.set_ah(0x01); return;  // no printer: time-out
    case 0x18:
    case 0x19: host_.reset(); return;
    case 0x1A: time(call); return;
    default:
      if (vector >= 0x70 && vector <= 0x77) ports_.out(0xA0, 1, 0x20);
      if ((vector >= 0x0A && vector <= 0x0F) || (vector >= 0x70 && vector <= 0x77)) ports_.out(0x20, 1, 0x20);
  }
}

}  // namespace zs::machine
