#include "machine/boot/bios.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "machine/boot/disk_image.h"
#include "machine/boot/screen.h"
#include "machine/memory.h"
#include "machine/port_map.h"

namespace zs::machine {
namespace {

// BIOS data area, segment 40H.
enum DataArea : std::uint16_t {
  kCom1Port = 0x400,
  kEquipment = 0x410,
  kMemoryKiB = 0x413,
  kVideoMode = 0x449,
  kVideoColumns = 0x44A,
  kCursor = 0x450,  // column, row
  kCrtPort = 0x463,
  kRestartVector = 0x467,  // offset, segment
  kTicks = 0x46C,
  kDiskCount = 0x475,
  kLastRow = 0x484,
};

constexpr std::uint16_t kEquipmentWord = 0x0221;  // a floppy, 80 x 25 colour, one serial port
constexpr std::uint8_t kTextMode = 3, kPlain = 0x07;

enum DiskError : std::uint8_t { kDone = 0, kBadCommand = 1, kWriteProtected = 3, kNotFound = 4, kNotReady = 0x80 };

std::uint64_t real_address(std::uint16_t segment, std::uint16_t offset) { return segment * 16u + offset; }

}  // namespace

Bios::Bios(PhysicalMemory& memory, PortMap& ports, const DiskImage* disk,
           std::function<void(std::uint64_t, std::uint64_t)> written)
    : memory_(memory), ports_(ports), disk_(disk), written_(std::move(written)) {}

void Bios::install() {
  for (unsigned vector = 0; vector < kServices; ++vector) {
    memory_.store<std::uint32_t>(vector * 4, 0xF000'0000 | vector);
    memory_.store<std::uint8_t>(kBios + vector, 0xCF);  // IRET
  }
  // The reset vector, where INIT leads: JMP FAR [0467H], the BIOS's way back to software that asked for it. Until that
  // sets the vector it is F000:FFF8, CLI; HLT; JMP to itself: there is no power-on self-test to start again.
  memory_.store<std::uint32_t>(kBios + 0xFFF0, 0x0467'2EFF);
  memory_.store<std::uint32_t>(kBios + 0xFFF8, 0xFDEB'F4FA);
  memory_.store<std::uint32_t>(kRestartVector, 0xF000'FFF8);
  memory_.store<std::uint16_t>(kCom1Port, 0x3F8);
  memory_.store<std::uint16_t>(kEquipment, kEquipmentWord);
  memory_.store<std::uint16_t>(kMemoryKiB, kLowMemoryKiB);
  memory_.store<std::uint8_t>(kVideoMode, kTextMode);
  memory_.store<std::uint16_t>(kVideoColumns, kColumns);
  memory_.store<std::uint16_t>(kCrtPort, 0x3D4);
  memory_.store<std::uint8_t>(kLastRow, kVisibleRows - 1);
  memory_.store<std::uint8_t>(kDiskCount, disk_ != nullptr && !disk_->floppy() ? 1 : 0);
}

bool Bios::store(std::uint64_t physical, std::span<const std::byte> bytes) {
  if (!memory_.write(physical, bytes)) return false;
  written_(physical, bytes.size());
  return true;
}

void Bios::scroll(unsigned top, unsigned left, unsigned bottom, unsigned right, unsigned lines, std::uint8_t attribute,
                  bool down) {
  bottom = std::min(bottom, kVisibleRows - 1);
  right = std::min(right, kColumns - 1);
  if (top > bottom || left > right) return;
  const unsigned height = bottom - top + 1;
  if (lines == 0 || lines > height) lines = height;
  const auto cell = [left](unsigned row) { return kVgaText + (row * kColumns + left) * 2; };
  std::array<std::uint16_t, kColumns> buffer{};
  const auto cells = std::as_writable_bytes(std::span(buffer).first(right - left + 1));
  for (unsigned i = 0; i < height; ++i) {
    const unsigned row = down ? bottom - i : top + i;
    if (i + lines < height) {
      (void)memory_.read(cell(down ? row - lines : row + lines), cells);
    } else {
      buffer.fill(static_cast<std::uint16_t>(attribute << 8 | ' '));
    }
    (void)memory_.write(cell(row), cells);
  }
  written_(kVgaText, kVisibleRows * kColumns * 2);
}

void Bios::teletype(std::uint8_t character) {
  unsigned column = memory_.load<std::uint8_t>(kCursor), row = memory_.load<std::uint8_t>(kCursor + 1);
  switch (character) {
    case '\a': break;
    case '\b': column = column > 0 ? column - 1 : 0; break;
    case '\n': ++row; break;
    case '\r': column = 0; break;
    default:
      if (row < kVisibleRows && column < kColumns) {
        const std::uint64_t cell = kVgaText + (row * kColumns + column) * 2;
        memory_.store<std::uint8_t>(cell, character);
        if (memory_.load<std::uint8_t>(cell + 1) == 0) memory_.store<std::uint8_t>(cell + 1, kPlain);
        written_(cell, 2);
      }
      if (++column >= kColumns) {
        column = 0;
        ++row;
      }
  }
  if (row >= kVisibleRows) {
    scroll(0, 0, kVisibleRows - 1, kColumns - 1, 1, kPlain, false);
    row = kVisibleRows - 1;
  }
  memory_.store<std::uint16_t>(kCursor, static_cast<std::uint16_t>(row << 8 | column));
}

void Bios::video(BiosCall& call) {
  switch (call.ah()) {
    case 0x00:
      scroll(0, 0, kVisibleRows - 1, kColumns - 1, 0, kPlain, false);
      memory_.store<std::uint16_t>(kCursor, 0);
      return;
    case 0x02: memory_.store(kCursor, call.dx); return;
    case 0x03:
      call.dx = memory_.load<std::uint16_t>(kCursor);
      call.cx = 0x0607;
      return;
    case 0x06:
    case 0x07:
      scroll(call.cx >> 8, call.cx & 0xFFu, call.dx >> 8, call.dx & 0xFFu, call.al(),
             static_cast<std::uint8_t>(call.bx >> 8), call.ah() == 0x07);
      return;
    case 0x0E: teletype(call.al()); return;
    case 0x0F:
      call.ax = kColumns << 8 | kTextMode;
      call.bx &= 0xFF;
      return;
    default: return;
  }
}

std::uint8_t Bios::read_sectors(std::uint64_t first, std::uint64_t count, std::uint64_t physical) {
  if (count == 0) return kBadCommand;
  const std::vector<std::byte> data = disk_->read(first, count);
  return !data.empty() && store(physical, data) ? kDone : kNotFound;
}

void Bios::disk(BiosCall& call) {
  const auto drive = static_cast<std::uint8_t>(call.dx);
  std::uint8_t status = kDone;
  if (call.ah() == 0x01) {
    status = disk_status_;
  } else if (disk_ == nullptr || drive != disk_->drive()) {
    status = call.ah() == 0x00 ? kDone : kNotReady;
  } else {
    const unsigned track = disk_->sectors_per_track(), heads = disk_->heads();
    switch (call.ah()) {
      case 0x00: break;
      case 0x02: {
        const unsigned sector = call.cx & 0x3F, head = call.dx >> 8;
        const unsigned cylinder = call.cx >> 8 | (call.cx & 0xC0u) << 2;
        const unsigned count = call.al();
        status = sector == 0 || sector > track || head >= heads
                     ? std::uint8_t{kNotFound}
                     : read_sectors((std::uint64_t{cylinder} * heads + head) * track + sector - 1, count,
                                    real_address(call.es, call.bx));
        call.set_al(status == kDone ? count : 0);
        break;
      }
      case 0x03: status = kWriteProtected; break;
      case 0x08: {
        const unsigned last = disk_->cylinders() - 1;
        call.cx = static_cast<std::uint16_t>((last & 0xFF) << 8 | (last >> 2 & 0xC0) | track);
        call.dx = static_cast<std::uint16_t>((heads - 1) << 8 | 1);
        call.bx = disk_->floppy() ? 4 : 0;  // a 1.44 MB drive
        call.set_al(0);
        break;
      }
      case 0x15:
        call.ax = disk_->floppy() ? 0x0100 : 0x0300;
        if (!disk_->floppy()) {
          call.cx = static_cast<std::uint16_t>(disk_->sectors() >> 16);
          call.dx = static_cast<std::uint16_t>(disk_->sectors());
        }
        call.set_carry(false);
        return;
      case 0x41:
        if (disk_->floppy() || call.bx != 0x55AA) {
          status = kBadCommand;
          break;
        }
        call.bx = 0xAA55;
        call.cx = 1;  // packet access
        call.ax = 0x2100;
        call.set_carry(false);
        return;
      case 0x42: {
        if (disk_->floppy()) {
          status = kBadCommand;
          break;
        }
        const std::uint64_t packet = real_address(call.ds, call.si);
        const auto count = memory_.load<std::uint16_t>(packet + 2);
        const auto offset = memory_.load<std::uint16_t>(packet + 4), segment = memory_.load<std::uint16_t>(packet + 6);
        const auto first = memory_.load<std::uint64_t>(packet + 8);
        status = memory_.load<std::uint8_t>(packet) < 16 ? std::uint8_t{kBadCommand}
                                                         : read_sectors(first, count, real_address(segment, offset));
        break;
      }
      default: status = kBadCommand;
    }
  }
  disk_status_ = status;
  call.set_ah(status);
  call.set_carry(status != kDone);
}

void Bios::service(unsigned vector, BiosCall& call) {
  switch (vector) {
    case 0x08:
      memory_.store<std::uint32_t>(kTicks, memory_.load<std::uint32_t>(kTicks) + 1);
      ports_.out(0x20, 1, 0x20);
      return;
    case 0x10: video(call); return;
    case 0x11: call.ax = kEquipmentWord; return;
    case 0x12: call.ax = kLowMemoryKiB; return;
    case 0x13: disk(call); return;
    case 0x15:
      call.set_ah(0x86);
      call.set_carry(true);
      return;
    case 0x16:
      if ((call.ah() & 0xF) == 1) {
        call.set_zero(true);
      } else {
        call.ax = 0;
      }
      return;
    case 0x1A:
      if (call.ah() == 0) {
        const auto ticks = memory_.load<std::uint32_t>(kTicks);
        call.cx = static_cast<std::uint16_t>(ticks >> 16);
        call.dx = static_cast<std::uint16_t>(ticks);
        call.set_al(0);
      } else {
        call.set_carry(true);
      }
      return;
    default:
      if (vector >= 0x70 && vector <= 0x77) ports_.out(0xA0, 1, 0x20);
      if ((vector >= 0x09 && vector <= 0x0F) || (vector >= 0x70 && vector <= 0x77)) ports_.out(0x20, 1, 0x20);
  }
}

}  // namespace zs::machine
