// Any bytes as a boot sector of a whole PC, on any CPU model: it ends at the limit at the latest, and nothing outside
// the guest is touched. The sector first points the Debug Store somewhere and turns recording on, so that records go
// anywhere too.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "arch/cpu_model.h"
#include "base/check.h"
#include "machine/boot/screen.h"
#include "machine/memory.h"
#include "machine/pc.h"
#include "machine/vcpu/vcpu.h"
#include "pmu/pmu.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zs;
  constexpr std::uint64_t kLimit = 100;
  if (size < 12) return 0;
  const auto models = arch::cpu_models();
  const bool traced = data[1] % 4 == 0;
  machine::PcConfig config{.cpu = &models[data[0] % models.size()], .memory_bytes = machine::kLeastMemory};
  config.quirks = config.cpu->quirks;
  if (traced) config.trace.instruction = [](const arch::Retired&, std::span<const machine::MemoryAccess>) {};
  auto made = machine::Pc::make(std::move(config));
  CHECK(made.has_value());
  machine::Pc& pc = **made;
  std::vector<std::byte> sector(512);
  std::memcpy(sector.data(), data + 12, std::min<std::size_t>(size - 12, 510));
  sector[510] = std::byte{0x55};
  sector[511] = std::byte{0xAA};
  auto disk = machine::DiskImage::make(std::move(sector), "image");
  CHECK(disk.has_value());
  pc.boot_disk(std::move(*disk));
  std::uint64_t area = 0;
  std::memcpy(&area, data + 2, 8);
  (void)pc.pmu().wrmsr(0x600, area >> data[10] % 64);
  (void)pc.pmu().wrmsr(0x186, 0x5300C0);
  (void)pc.pmu().wrmsr(0xC1, 0xFFFFFF00 | data[11]);
  (void)pc.pmu().wrmsr(0x3F1, data[10] & 1);
  (void)pc.pmu().wrmsr(0x38F, 1);
  if (pc.pmu().wrmsr(0x1D9, 0x1C1)) pc.cpu().set_debugctl(0x1C1);
  (void)pc.run(kLimit);
  CHECK(pc.retired() <= kLimit, pc.retired());
  (void)machine::screen_text(pc.screen());
  return 0;
}
