// Any sequence of register accesses, retirements, transfers, time, modes, SMM, machine checks and resets, with a Debug
// Store area full of anything, on any model with any quirks: no CHECK fails, no store leaves the memory that is there,
// and what a register gave is what it takes back.
#include <cstddef>
#include <cstdint>
#include <span>

#include "arch/msr_map.h"
#include "arch/quirks.h"
#include "base/check.h"
#include "base/test_input.h"
#include "pmu/fakes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zs;
  testing::Input in(data, size);
  const auto models = arch::cpu_models();
  const arch::CpuModel& model = models[in.take<std::uint8_t>() % models.size()];
  arch::QuirkSet quirks;
  const auto chosen = in.take<std::uint16_t>();
  for (const arch::QuirkFact& row : arch::quirks()) {
    if ((chosen >> static_cast<unsigned>(row.quirk) & 1) != 0) quirks = quirks.with(row.quirk);
  }
  pmu::TestPmu t{model, quirks, (chosen >> 15 & 1) != 0};
  const bool has_debug_store = model.vendor == arch::Vendor::Intel;
  while (!in.empty()) {
    const auto action = in.take<std::uint8_t>();
    switch (action % 13) {
      case 0: {
        const auto facts = arch::msr_facts();
        const auto& fact = facts[in.take<std::uint8_t>() % facts.size()];
        (void)t.pmu.wrmsr(fact.first + in.take<std::uint8_t>() % 32, in.take<std::uint64_t>());
        break;
      }
      case 1: {
        // AMD's lie at C000'0000H and C001'0000H.
        const std::uint32_t word = in.take<std::uint16_t>();
        const std::uint32_t msr = has_debug_store ? word : 0xC000'0000 | word << 1 >> 16 << 16 | (word & 0x7FFF);
        std::uint64_t value = 0, again = 0;
        if (t.pmu.rdmsr(msr, value) && t.pmu.wrmsr(msr, value)) CHECK(t.pmu.rdmsr(msr, again), msr);
        break;
      }
      case 2: {
        std::uint64_t value = 0;
        (void)t.pmu.rdpmc(in.take<std::uint32_t>(), value, {.cpl = in.take<std::uint8_t>() % 4U});
        break;
      }
      case 3:
        if (!has_debug_store) break;
        t.set_up_ds(in.take<std::uint8_t>() % 32, in.take<std::uint8_t>(), in.take<std::uint64_t>());
        break;
      case 4: {
        const auto byte = in.take<std::byte>();
        (void)t.memory.write(pmu::TestPmu::kDs + in.take<std::uint8_t>(), {&byte, 1});
        break;
      }
      case 5: {
        const pmu::Ring ring = (action & 16) != 0 ? pmu::Ring::Kernel : pmu::Ring::User;
        const auto accumulators = t.pmu.accumulators(ring);
        if (accumulators.empty()) break;
        const std::size_t accumulator = in.take<std::uint8_t>() % accumulators.size();
        const std::uint64_t room = t.pmu.headroom(accumulator, ring);
        t.pmu.count(accumulator, room == 0 ? 0 : in.take<std::uint64_t>() % room, ring);
        break;
      }
      case 6:
        t.pmu.enter_branch({.from = in.take<std::uint64_t>(),
                            .to = in.take<std::uint64_t>(),
                            .kind = static_cast<arch::BranchKind>(in.take<std::uint8_t>() % 8),
                            .cpl_to = static_cast<std::uint8_t>(in.take<std::uint8_t>() % 4),
                            .cause = static_cast<arch::TransferCause>(in.take<std::uint8_t>() % 3)});
        break;
      case 8: t.pmu.set_mode({.ia32e = (action & 16) != 0, .code64 = (action & 48) == 48}); break;
      case 9:
        if (!has_debug_store) break;
        t.set_up_bts(in.take<std::uint8_t>() % 24, in.take<std::uint8_t>() % 24, action >> 6);
        break;
      case 10:
        t.pmu.advance({in.take<std::uint64_t>(), in.take<std::uint32_t>(), in.take<std::uint16_t>()},
                      (action & 16) != 0 ? pmu::Ring::Kernel : pmu::Ring::User);
        t.clock.cycles += in.take<std::uint16_t>();
        break;
      case 11:
        switch (in.take<std::uint8_t>() % 7) {
          case 0: t.pmu.debug_exception(); break;
          case 1: t.pmu.enter_smm(); break;
          case 2: t.pmu.leave_smm(); break;
          case 3: t.pmu.machine_check(); break;
          case 4: t.pmu.init(); break;
          case 5: t.pmu.reset((action & 16) != 0); break;
          default: (void)t.pmu.take_ds_fault();
        }
        break;
      case 12: {
        const auto word = in.take<std::uint64_t>();
        (void)t.memory.write(pmu::TestPmu::kDs + 4 * (in.take<std::uint8_t>() % 32),
                             std::as_bytes(std::span{&word, 1}));
        break;
      }
      case 7: {
        arch::Retired r;
        r.branch = static_cast<arch::BranchKind>(in.take<std::uint8_t>() % 8);
        r.taken = (action & 8) != 0;
        r.cpl = (action & 16) != 0 ? 0 : 3;
        r.nop = (action & 32) != 0;
        r.locked = (action & 64) != 0;
        r.fp = static_cast<arch::FpArith>(in.take<std::uint8_t>() % 9);
        r.fp_weight = 1;
        r.load_count = in.take<std::uint64_t>();
        r.store_count = in.take<std::uint16_t>();
        r.store_address = in.take<std::uint8_t>();
        r.load = r.store = {.present = (action & 128) != 0, .latency = in.take<std::uint8_t>()};
        r.next_cpl = static_cast<std::uint8_t>(in.take<std::uint8_t>() % 4);
        r.ip = in.take<std::uint32_t>();
        t.retire(r);
        break;
      }
    }
  }
  return 0;
}
