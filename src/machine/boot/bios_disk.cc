// INT 13H. One drive: the image that the PC boots. What is written goes to the copy in memory.
// source: Enhanced Disk Drive Specification 3.0; El Torito 1.0, "INT 13 Function 4B".
#include <array>
#include <span>
#include <vector>

#include "machine/boot/bios.h"
#include "machine/boot/bios_data_area.h"
#include "machine/boot/disk_image.h"
#include "machine/memory.h"

namespace zs::machine {
namespace {

enum DiskError : std::uint8_t { kDone = 0, kBadCommand = 1, kWriteProtected = 3, kNotFound = 4, kNotReady = 0x80 };
enum What : unsigned { kRead, kWrite, kVerify };

}  // namespace

std::uint8_t Bios::transfer(unsigned what, std::uint64_t first, std::uint64_t count, std::uint64_t physical) {
  if (what == kWrite && disk_->kind() == DriveKind::Cd) return kWriteProtected;
  if (count > disk_->sectors() || first > disk_->sectors() - count) return kNotFound;
  if (what == kVerify || count == 0) return kDone;
  if (what == kRead) return store(physical, disk_->read(first, count)) ? kDone : kNotFound;
  std::vector<std::byte> data(count * disk_->sector_bytes());
  return memory_.read(physical, data) && disk_->write(first, data) ? kDone : kNotFound;
}

/// AH = 02H, 03H, 04H: AL sectors at CH, CL, DH.
std::uint8_t Bios::by_address(BiosCall& call) {
  const unsigned track = disk_->sectors_per_track(), heads = disk_->heads();
  const unsigned sector = call.cx() & 0x3F, head = call.dx() >> 8;
  const unsigned cylinder = call.cx() >> 8 | (call.cx() & 0xC0u) << 2;
  const unsigned count = call.al();
  call.set_al(0);
  if (sector == 0 || sector > track || head >= heads) return kNotFound;
  if (count == 0) return kBadCommand;
  const std::uint8_t status = transfer(call.ah() - 2u, (std::uint64_t{cylinder} * heads + head) * track + sector - 1,
                                       count, real_address(call.es, call.bx()));
  if (status == kDone) call.set_al(count);
  return status;
}

/// AH = 42H, 43H, 44H: what the packet at DS:SI says.
std::uint8_t Bios::by_packet(BiosCall& call) {
  const std::uint64_t packet = real_address(call.ds, call.si());
  const auto bytes = memory_.load<std::uint8_t>(packet);
  if (bytes < 16) return kBadCommand;
  const auto count = memory_.load<std::uint16_t>(packet + 2);
  const auto offset = memory_.load<std::uint16_t>(packet + 4), segment = memory_.load<std::uint16_t>(packet + 6);
  const bool flat = segment == 0xFFFF && offset == 0xFFFF && bytes >= 24;  // a 64-bit address follows
  const std::uint64_t buffer = flat ? memory_.load<std::uint64_t>(packet + 16) : real_address(segment, offset);
  const unsigned what = call.ah() == 0x42 ? kRead : call.ah() == 0x43 ? kWrite : kVerify;
  const std::uint8_t status = transfer(what, memory_.load<std::uint64_t>(packet + 8), count, buffer);
  constexpr std::array<std::byte, 2> kNone{};
  if (status != kDone) (void)store(packet + 2, kNone);  // blocks
  return status;
}

std::uint8_t Bios::drive_parameters(BiosCall& call) {
  if (disk_->kind() == DriveKind::Cd) return kBadCommand;
  const unsigned last = disk_->cylinders() - 1;
  call.set_cx((last & 0xFF) << 8 | (last >> 2 & 0xC0) | disk_->sectors_per_track());
  call.set_dx((disk_->heads() - 1) << 8 | 1);
  call.set_ax(0);
  if (disk_->floppy()) {
    call.set_bx(disk_->floppy_type());
    call.es = kBiosSegment;
    call.set_di(kDisketteTable);
  }
  return kDone;
}

/// AH = 48H: the table at DS:SI, as much of it as the caller has room for.
std::uint8_t Bios::extended_parameters(BiosCall& call) {
  const std::uint64_t table = real_address(call.ds, call.si());
  if (memory_.load<std::uint16_t>(table) < 26) return kBadCommand;
  const bool cd = disk_->kind() == DriveKind::Cd;
  constexpr std::uint16_t kGeometryValid = 2, kRemovable = 4;
  const std::uint32_t words[] = {26u | (cd ? kRemovable : kGeometryValid) << 16,
                                 cd ? ~0u : disk_->cylinders(),
                                 cd ? ~0u : disk_->heads(),
                                 cd ? ~0u : disk_->sectors_per_track(),
                                 static_cast<std::uint32_t>(disk_->sectors()),
                                 static_cast<std::uint32_t>(disk_->sectors() >> 32),
                                 static_cast<std::uint32_t>(disk_->sector_bytes())};
  return store(table, std::as_bytes(std::span(words)).first(26)) ? kDone : kBadCommand;
}

/// AH = 4BH: the specification packet at DS:SI. The emulation does not end, whatever is asked: nothing else would be
/// there.
std::uint8_t Bios::cd_emulation(BiosCall& call) {
  if (!disk_->emulated() && disk_->kind() != DriveKind::Cd) return kBadCommand;
  const std::uint8_t media = disk_->kind() == DriveKind::Cd         ? 0
                             : disk_->kind() == DriveKind::HardDisk ? 4
                             : disk_->sectors() == 2400             ? 1
                             : disk_->sectors() == 2880             ? 2
                                                                    : 3;
  std::array<std::uint8_t, 0x13> packet{};
  packet[0] = packet.size();
  packet[1] = media;
  packet[2] = disk_->drive();
  packet[0x0E] = static_cast<std::uint8_t>(disk_->boot_code().bytes.size() / kSectorBytes);
  return store(real_address(call.ds, call.si()), std::as_bytes(std::span(packet))) ? kDone : kBadCommand;
}

std::uint8_t Bios::disk_function(BiosCall& call) {
  const bool extended = !disk_->floppy();
  switch (call.ah()) {
    case 0x00:
    case 0x09:
    case 0x0C:
    case 0x0D:
    case 0x10:
    case 0x11:
    case 0x14: return kDone;
    case 0x02:
    case 0x03:
    case 0x04: return disk_->kind() == DriveKind::Cd ? std::uint8_t{kBadCommand} : by_address(call);
    case 0x08: return drive_parameters(call);
    case 0x16: return disk_->floppy() ? std::uint8_t{kDone} : std::uint8_t{kBadCommand};  // the disk is the same
    case 0x41:
      if (!extended || call.bx() != 0x55AA) return kBadCommand;
      call.set_bx(0xAA55);
      call.set_cx(1);  // packet access
      return kDone;
    case 0x42:
    case 0x43:
    case 0x44: return extended ? by_packet(call) : std::uint8_t{kBadCommand};
    case 0x47: return extended ? std::uint8_t{kDone} : std::uint8_t{kBadCommand};
    case 0x48: return extended ? extended_parameters(call) : std::uint8_t{kBadCommand};
    case 0x4B: return cd_emulation(call);
    default: not_here(0x13, call); return kBadCommand;
  }
}

void Bios::disk(BiosCall& call) {
  const auto drive = static_cast<std::uint8_t>(call.dx());
  const bool here = disk_ != nullptr && drive == disk_->drive();
  const unsigned function = call.ah();
  if (function == 0x15) {  // the kind of the drive, in AH; not there is no error
    call.set_ah(!here || disk_->kind() == DriveKind::Cd ? 0 : disk_->floppy() ? 1 : 3);
    if (here && disk_->kind() == DriveKind::HardDisk) {
      call.set_cx(disk_->sectors() >> 16);
      call.set_dx(disk_->sectors());
    }
    call.set_carry(false);
    return;
  }
  if (function == 0x08 && !here) {  // no drives of this class
    call.set_ax((drive & 0x80) != 0 ? 0x0700 : 0);
    call.set_bx(0);
    call.set_cx(0);
    call.set_dx(0);
    call.set_carry((drive & 0x80) != 0);
    return;
  }
  std::uint8_t status = kDone;
  if (function == 0x01) {
    status = disk_status_;
  } else if (!here) {
    status = function == 0x00 ? kDone : function == 0x41 ? kBadCommand : kNotReady;
  } else {
    status = disk_function(call);
  }
  disk_status_ = status;
  call.set_ah(status == kDone && function == 0x41 ? 0x21 : status);
  call.set_carry(status != kDone);
}

}  // namespace zs::machine
