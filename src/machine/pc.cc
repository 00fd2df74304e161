#include "machine/pc.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "arch/cpu_model.h"
#include "arch/ibs.h"
#include "machine/boot/acpi_tables.h"
#include "machine/boot/bios.h"
#include "machine/boot/hand_over.h"
#include "machine/boot/linux_kernel.h"
#include "machine/devices/acpi_ports.h"
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
#include "machine/devices/typist.h"
#include "machine/devices/vga.h"
#include "machine/endless_loop.h"
#include "machine/last_level_cache.h"
#include "machine/memory.h"
#include "machine/pc_bus.h"
#include "machine/pc_identity.h"
#include "machine/pc_wiring.h"
#include "machine/port_map.h"
#include "machine/vcpu/monitor.h"
#include "machine/vcpu/vcpu.h"
#include "pmu/pmu.h"

namespace zs::machine {
namespace {

constexpr unsigned kFruitlessWakeups = 64;  // timer interrupts in a row that a halted CPU did not take: it never will
constexpr std::uint64_t kBetweenLooks = std::uint64_t{1}
                                        << 26;      // instructions, until it is looked whether a loop is endless
constexpr unsigned kLookedAt = 1 << 14;             // instructions in one such look
constexpr std::uint64_t kBetweenBreaths = 1 << 20;  // instructions
constexpr std::uint64_t kInterruptFlag = 1 << 9;

/// The PC with all that is on it.
class Board final : public Pc,
                    public InterruptSource,
                    public ServiceHook,
                    public CpuPins,
                    public BiosHost,
                    public SystemPins,
                    public MonitorPins,
                    public pmu::PmiSink,
                    public pmu::LinearMemory,
                    public pmu::VectorRegisters,
                    public pmu::Clock {
 public:
  Board(PcConfig config, PhysicalMemory memory)
      : config_(std::move(config)),
        memory_(std::move(memory)),
        local_apic_(*this, clock_, pic_,
                    {.x2apic = config_.cpu->x2apic,
                     .tsc_deadline = config_.cpu->tsc_deadline,
                     .pmi_masks = config_.cpu->vendor == arch::Vendor::Intel,
                     .extended = config_.cpu->vendor == arch::Vendor::Amd}),
        io_apic_(local_apic_),
        irqs_(pic_, io_apic_, local_apic_),
        pit_(clock_, irqs_),
        cmos_(clock_, memory_.size()),
        fw_cfg_(memory_.size()),
        serial_(clock_, irqs_, config_.serial, config_.serial_sender),
        system_ports_(*this, pit_),
        pic_ports_(pic_, local_apic_),
        bus_(memory_, ports_, local_apic_, io_apic_),
        pmu_(*config_.cpu, *this, *this, *this, config_.quirks),
        msrs_(*config_.cpu, clock_, local_apic_, pmu_),
        cpuid_(*config_.cpu, config_.quirks, local_apic_),
        feed_(*config_.cpu, pmu_, clock_, cache_) {
    ports_.add(pic_ports_, 0x20, 0x21);
    ports_.add(pic_ports_, 0xA0, 0xA1);
    ports_.add(pit_, 0x40, 0x43);
    ports_.add(cmos_, 0x70, 0x71);
    monitor_ports_.add_to(ports_);
    ports_.add(serial_, SerialPort::kCom1, SerialPort::kCom1 + 7);
    ports_.add(acpi_, AcpiPorts::kEvents, AcpiPorts::kLast);
    ports_.add(fw_cfg_, 0x510, 0x511);
    ports_.add(keyboard_, KeyboardController::kData, KeyboardController::kData);
    ports_.add(keyboard_, KeyboardController::kStatus, KeyboardController::kStatus);
    vga_.add_to(ports_);
    system_ports_.add_to(ports_);
    cpu_ = std::make_unique<Vcpu>(Vcpu::Around{bus_, *this, msrs_, cpuid_, feed_});
    bus_.set_cpu(*cpu_, feed_);
    bus_.on_endless_poll([this](std::uint16_t port) {
      end({PcStopKind::Unsupported, 0, 0, endless_poll(port, ide_.has_value())});
    });
    msrs_.set_cpu(*cpu_);
    feed_.set_cpu(*cpu_);
    feed_.add_timer(pit_);
    feed_.add_timer(local_apic_);
    feed_.add_timer(typist_);
    feed_.add_timer(serial_);
    typist_.type(std::move(config_.keys));
    feed_.set_trace(config_.trace);
    feed_.on_init([this] { local_apic_.init(); });
    pmu_.set_vector_registers(this);
  }

  // ---- booting
  void install_firmware() {
    bios_.emplace(memory_, ports_, vga_, disk_ ? &*disk_ : nullptr, *this);
    bios_->install();
    install_acpi_tables(memory_);
    install_mp_tables(memory_);
    cpu_->monitor().set_service_range(kBios, Bios::kServices, this);
    local_apic_.enter_virtual_wire();
  }

  void boot_disk(DiskImage disk, std::optional<DiskImage> second) override {
    disk_.emplace(std::move(disk));
    second_disk_ = std::move(second);
    if (disk_->kind() == DriveKind::HardDisk) {
      ide_.emplace(
          *disk_, [this](bool up) { irqs_.set_line(14, up); }, second_disk_ ? &*second_disk_ : nullptr);
      ports_.add(*ide_, IdeDisk::kFirst, IdeDisk::kLast);
      ports_.add(*ide_, IdeDisk::kControl, IdeDisk::kControl);
    }
    install_firmware();
    const DiskImage::BootCode& code = disk_->boot_code();
    const std::uint64_t at = (std::uint64_t{code.segment} << 4) + code.offset;
    if (!memory_.write(at, code.bytes)) {
      end({PcStopKind::Unsupported, 0, at, "boot code that does not fit where its boot record wants it"});
    }
    cpu_->set_state(hand_over_to_disk(*disk_));
    cpu_->memory_written(0, memory_.size());
  }

  Result<void> boot_kernel(const MultibootInput& input) override {
    install_firmware();
    const auto kernel = is_linux_kernel(input.kernel) ? load_linux(input, memory_) : load_multiboot(input, memory_);
    if (!kernel) return kernel.error();
    kernel_is_elf32_ = kernel->elf32;
    cpu_->set_state(hand_over_to_kernel(*kernel));
    cpu_->memory_written(0, memory_.size());
    return {};
  }

  // ---- running
  void attach_core(const uarch::CoreModel& model) override { feed_.attach(model); }
  void look_from_outside(std::vector<OutsidePmu> pmus) override { feed_.look_from_outside(std::move(pmus)); }
  PcStop run(std::uint64_t instructions) override {
    std::uint64_t passed = 0;  // towards the limit, without an instruction: exceptions whose handlers cannot begin
    for (;;) {
      if (ending_) return *ending_;
      const std::uint64_t before = cpu_->retired();
      if (before >= instructions || passed >= instructions - before) return {PcStopKind::Limit, 0, 0, {}};
      if (before >= next_look_) {
        next_look_ = before + kBetweenLooks;
        if (const auto ended = look_for_endless_loop(instructions)) return *ended;
        continue;
      }
      config_.breathe();
      const std::uint64_t asked = std::min({instructions - passed - before, next_look_ - before, kBetweenBreaths});
      const Stop stop = cpu_->run(asked);
      if (const auto ended = ended_by(stop, before)) return *ended;
      if (stop.kind == StopKind::Limit) passed += asked - std::min(asked, cpu_->retired() - before);
    }
  }

  /// What the processor's stop means for the PC; nothing if it goes on.
  std::optional<PcStop> ended_by(const Stop& stop, std::uint64_t retired_before) {
    if (ending_) return *ending_;
    if (cpu_->retired() != retired_before) fruitless_ = 0;
    switch (stop.kind) {
      case StopKind::Limit:
      case StopKind::Requested: return std::nullopt;  // a device wanted to be heard; it said nothing that ends the run
      case StopKind::Breakpoint: return PcStop{PcStopKind::Breakpoint, 0, stop.address, {}};
      case StopKind::Watchpoint: return PcStop{PcStopKind::Watchpoint, 0, stop.address, {}};
      case StopKind::TripleFault: return PcStop{PcStopKind::TripleFault, 0, 0, stop.detail};
      case StopKind::Unsupported: return PcStop{PcStopKind::Unsupported, 0, 0, stop.detail};
      case StopKind::Halted: {
        const std::uint64_t deadline = feed_.next_deadline();
        const bool wakes = stop.interrupts_enabled && deadline != kNever && ++fruitless_ <= kFruitlessWakeups;
        if (!wakes || (only_the_bios_ticks() && returns_to_halt(*cpu_))) {
          return PcStop{PcStopKind::Idle, 0, 0, "halted"};
        }
        if (deadline > clock_.now()) clock_.advance(deadline - clock_.now());
        feed_.run_timers();
        return std::nullopt;
      }
      case StopKind::JumpToItself:
        if (something_can_interrupt(stop.interrupts_enabled) && !only_the_bios_ticks()) return std::nullopt;
        return PcStop{PcStopKind::Idle, 0, 0, "a branch to itself"};
    }
    return std::nullopt;
  }

  /// One by one: whether the processor's state comes again with nothing that could make a difference. Where the BIOS's
  /// tick comes all the same, loads could: it counts in memory.
  std::optional<PcStop> look_for_endless_loop(std::uint64_t instructions) {
    const bool ticks = only_the_bios_ticks();
    const auto may_be_interrupted = [&] {
      return something_can_interrupt((cpu_->rflags() & kInterruptFlag) != 0) && !only_the_bios_ticks();
    };
    if (may_be_interrupted()) return std::nullopt;
    feed_.look_closely(true);
    const std::uint64_t devices = bus_.device_accesses() + msrs_.accesses(), first = cpu_->linear_ip();
    EndlessLoop loop(*cpu_);
    std::optional<PcStop> ended;
    for (unsigned n = 0; n < kLookedAt && !ended && cpu_->retired() < instructions; ++n) {
      const std::uint64_t before = cpu_->retired();
      ended = ended_by(cpu_->run(1), before);
      const RetirementFeed::Seen& seen = feed_.seen();
      // A loop that opens interrupts for some of its instructions ends in them.
      if (seen.stores || seen.transfers || (seen.loads && ticks) || may_be_interrupted()) break;
      if (bus_.device_accesses() + msrs_.accesses() != devices) break;
      if (!ended && loop.closed(*cpu_)) {
        ended = PcStop{PcStopKind::Idle, 0, 0,
                       fmt::format("a loop of {} instructions at {:x} that nothing can end", loop.length(), first)};
      }
    }
    feed_.look_closely(false);
    return ended;
  }

  /// Nothing interrupts but the 8254's ticks, and those reach the BIOS and nobody else.
  bool only_the_bios_ticks() const {
    const bool real_mode = (cpu_->cr(0) & 1) == 0;
    return real_mode && cpu_->idtr().base == 0 && pic_.vector(0) == 8 && bios_ && bios_->owns_the_tick() &&
           std::min({local_apic_.deadline(), typist_.deadline(), serial_.deadline()}) == kNever && !cpu_->event_due() &&
           !pmi_can_interrupt((cpu_->rflags() & kInterruptFlag) != 0);
  }

  PcStop step() override { return run(cpu_->retired() + 1); }

  bool something_can_interrupt(bool interrupts_enabled) const {
    return cpu_->event_due() || (interrupts_enabled && feed_.next_deadline() != kNever) ||
           pmi_can_interrupt(interrupts_enabled);
  }

  bool pmi_can_interrupt(bool interrupts_enabled) const {
    if (!local_apic_.pmi_reaches_cpu(interrupts_enabled)) return false;
    const pmu::Elapsed time = pmu_.time_headroom(pmu::ring_of(cpu_->cpl()));
    constexpr std::uint64_t kNoCounter = std::uint64_t{1} << 50;
    return pmu_.wants_branches() || !pmu_.accumulators(pmu::ring_of(cpu_->cpl())).empty() ||
           std::min({time.core, time.reference, time.bus}) < kNoCounter;
  }

  void end(PcStop stop) {
    if (!ending_) ending_ = std::move(stop);
    cpu_->stop();
  }

  // ---- what is seen of it
  Vcpu& cpu() override { return *cpu_; }
  PhysicalMemory& memory() override { return memory_; }
  pmu::Pmu& pmu() override { return pmu_; }
  const Vga& vga() const override { return vga_; }
  std::vector<ScreenRow> screen() const override {
    if (bios_ && bios_->draws()) return screen_rows(bios_->drawn_text(), bios_->columns());
    return screen_rows(memory_, vga_.text_columns());
  }
  PortMap& ports() override { return ports_; }
  bool rdmsr(std::uint32_t msr, std::uint64_t& value) override { return msrs_.rdmsr(msr, value); }
  std::uint32_t local_apic_register(std::uint32_t offset) override { return local_apic_.read(offset); }
  bool kernel_is_elf32() const override { return kernel_is_elf32_; }
  const DiskImage* disk() const override { return disk_ ? &*disk_ : nullptr; }
  const machine::Clock& clock() const override { return clock_; }
  std::uint64_t now() const override { return clock_.now() + feed_.unreported_ticks(); }
  std::uint64_t retired() const override { return cpu_->retired(); }

  // ---- what the CPU asks
  std::optional<std::uint8_t> acknowledge() override { return local_apic_.acknowledge(); }
  std::uint8_t task_priority() override { return local_apic_.task_priority(); }
  void set_task_priority(std::uint8_t priority) override { local_apic_.set_task_priority(priority); }

  void service(Vcpu& cpu, unsigned number) override {
    const auto word = [&cpu](Gpr reg) { return static_cast<std::uint32_t>(cpu.gpr(reg)); };
    BiosCall call{.eax = word(kRax),
                  .ebx = word(kRbx),
                  .ecx = word(kRcx),
                  .edx = word(kRdx),
                  .esi = word(kRsi),
                  .edi = word(kRdi),
                  .ebp = word(kRbp),
                  .ds = cpu.segment(kDs).selector,
                  .es = cpu.segment(kEs).selector};
    const std::uint64_t frame = cpu.segment(kSs).base + ((word(kRsp) + 4u) & 0xFFFF);  // IP, CS, FLAGS
    call.flags = memory_.load<std::uint16_t>(frame);
    const BiosCall before = call;
    if (number == Bios::kKeyWait) {
      constexpr std::uint64_t kCarry = 1;
      cpu.set_rflags(bios_->must_wait_for_key(call) ? cpu.rflags() | kCarry : cpu.rflags() & ~kCarry);
      return;
    }
    bios_->service(number, call);
    const auto put = [&cpu](Gpr reg, std::uint32_t was, std::uint32_t is) {
      if (is != was) cpu.set_gpr(reg, is);
    };
    put(kRax, before.eax, call.eax);
    put(kRbx, before.ebx, call.ebx);
    put(kRcx, before.ecx, call.ecx);
    put(kRdx, before.edx, call.edx);
    put(kRdi, before.edi, call.edi);
    if (call.es != before.es) cpu.set_real_segment(kEs, call.es);
    if (call.flags != before.flags) {
      memory_.store(frame, call.flags);
      cpu.memory_written(frame, 2);
    }
  }

  // ---- what the BIOS asks
  void memory_written(std::uint64_t physical, std::uint64_t bytes) override { cpu_->memory_written(physical, bytes); }
  std::uint64_t ticks() const override { return clock_.now(); }
  void pass_time(std::uint64_t ticks) override {
    clock_.advance(ticks);
    feed_.run_timers();
  }
  void note(const std::string& text) override { config_.note(text); }
  bool keys_to_come() const override { return typist_.typing(); }
  void waits_for_a_key() override {
    end({PcStopKind::Idle, 0, 0, "waits for a key, and nobody types on this PC's keyboard (--keys does)"});
  }
  void reset() override { pulse_reset(); }

  // ---- pins
  void interrupt_line(bool up) override {
    if (cpu_) cpu_->set_interrupt_line(up);  // the APIC powers up before the CPU is there
  }
  void nmi() override { cpu_->request_nmi(); }
  void smi() override { cpu_->request_smi(); }
  void init() override { cpu_->request_init(); }
  bool a20() const override { return bus_.a20(); }
  void request_irq(unsigned irq) override { irqs_.pulse(irq); }
  void set_irq_line(unsigned irq, bool up) override { irqs_.set_line(irq, up); }
  void set_a20(bool open) override {
    if (bus_.a20() == open) return;
    bus_.set_a20(open);
    cpu_->memory_map_changed();
  }
  void system_management_interrupt() override { cpu_->request_smi(); }
  void pulse_reset() override { end({PcStopKind::Reset, 0, 0, {}}); }
  void debug_exit(std::uint8_t status) override { end({PcStopKind::DebugExit, status, 0, {}}); }
  void inject_machine_check() override { cpu_->request_machine_check(); }
  void inject_smi() override { cpu_->request_smi(); }
  void inject_init() override { cpu_->request_init(); }
  void inject_nmi() override { cpu_->request_nmi(); }
  void take_parcel(std::uint64_t linear) override {
    constexpr std::uint64_t kLargest = 1 << 20;
    std::array<std::uint64_t, 3> head{};  // kind, bytes, address
    if (!config_.parcel || !cpu_->peek(linear, std::as_writable_bytes(std::span(head))) || head[1] > kLargest) return;
    std::vector<std::byte> bytes(head[1]);
    if (cpu_->peek(head[2], bytes)) config_.parcel(head[0], bytes);
  }

  // ---- what the PMU asks: memory through paging, as the processor itself
  bool read(std::uint64_t address, std::span<std::byte> into) override { return cpu_->read_linear(address, into); }
  bool write(std::uint64_t address, std::span<const std::byte> from) override {
    return cpu_->write_linear(address, from);
  }
  void read_xmm(std::span<std::byte, 256> into) override {
    const CpuState state = cpu_->state();
    std::ranges::copy(std::as_bytes(std::span(state.xmm)), into.begin());
  }
  std::uint64_t tsc() override { return msrs_.tsc() + feed_.unreported_ticks(); }
  bool has_core_cycles() const override { return true; }
  std::uint64_t core_cycles() override { return now(); }
  void request_pmi() override {
    if (config_.pmi_requested) config_.pmi_requested();
    local_apic_.request_pmi();
  }
  void request_ibs() override {
    if (config_.pmi_requested) config_.pmi_requested();
    local_apic_.request_extended(arch::kIbsControlStart & 0xF);
  }

  PcConfig config_;
  PhysicalMemory memory_;
  machine::Clock clock_;
  Pic pic_;
  LocalApic local_apic_;
  IoApic io_apic_;
  BoardIrqs irqs_;
  Pit pit_;
  Cmos cmos_;
  FwCfg fw_cfg_;
  SerialPort serial_;
  MonitorPorts monitor_ports_{*this};
  AcpiPorts acpi_{clock_, [this] { end({PcStopKind::PowerOff, 0, 0, {}}); }};
  KeyboardController keyboard_{*this};
  Typist typist_{clock_, keyboard_};
  Vga vga_;
  SystemPorts system_ports_;
  PicPorts pic_ports_;
  PortMap ports_;
  PcBus bus_;
  pmu::Pmu pmu_;
  PcMsrs msrs_;
  PcCpuid cpuid_;
  LastLevelCache cache_;
  RetirementFeed feed_;
  std::unique_ptr<Vcpu> cpu_;
  std::optional<DiskImage> disk_, second_disk_;
  std::optional<IdeDisk> ide_;
  std::optional<Bios> bios_;
  std::optional<PcStop> ending_;
  bool kernel_is_elf32_ = false;
  unsigned fruitless_ = 0;
  std::uint64_t next_look_ = kBetweenLooks;
};

}  // namespace

Result<std::unique_ptr<Pc>> Pc::make(PcConfig config) {
  auto memory = PhysicalMemory::make(config.memory_bytes);
  if (!memory) return memory.error();
  if (config.cpu == nullptr) config.cpu = &arch::default_cpu_model();
  return std::unique_ptr<Pc>(std::make_unique<Board>(std::move(config), std::move(memory).value()));
}

}  // namespace zs::machine
