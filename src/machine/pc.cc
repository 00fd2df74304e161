#include "machine/pc.h"

#include <algorithm>
#include <optional>
#include <span>

#include "arch/cpu_model.h"
#include "machine/boot/bios.h"
#include "machine/devices/cmos.h"
#include "machine/devices/fw_cfg.h"
#include "machine/devices/io_apic.h"
#include "machine/devices/local_apic.h"
#include "machine/devices/monitor_ports.h"
#include "machine/devices/pic.h"
#include "machine/devices/pit.h"
#include "machine/devices/serial_port.h"
#include "machine/devices/system_ports.h"
#include "machine/memory.h"
#include "machine/pc_bus.h"
#include "machine/pc_identity.h"
#include "machine/port_map.h"
#include "machine/vcpu/vcpu.h"
#include "pmu/pmu.h"

namespace zs::machine {
namespace {

constexpr std::uint64_t kBootSector = 0x7C00;
constexpr unsigned kFruitlessWakeups = 64;  // timer interrupts in a row that a halted CPU did not take: it never will

/// The Debug Store's way to memory: through paging, as the processor itself.
class DsMemory : public pmu::LinearMemory {
 public:
  void set_cpu(Vcpu& cpu) { cpu_ = &cpu; }
  bool read(std::uint64_t address, std::span<std::byte> into) override { return cpu_->read_linear(address, into); }
  bool write(std::uint64_t address, std::span<const std::byte> from) override {
    return cpu_->write_linear(address, from);
  }

 private:
  Vcpu* cpu_ = nullptr;
};

class PmuVectorRegisters : public pmu::VectorRegisters {
 public:
  void set_cpu(Vcpu& cpu) { cpu_ = &cpu; }
  void read_xmm(std::span<std::byte, 256> into) override {
    const CpuState state = cpu_->state();
    const auto bytes = std::as_bytes(std::span(state.xmm));
    std::copy(bytes.begin(), bytes.end(), into.begin());
  }

 private:
  Vcpu* cpu_ = nullptr;
};

class PmuClock : public pmu::Clock {
 public:
  explicit PmuClock(const machine::Clock& clock) : clock_(clock) {}
  void set_msrs(const PcMsrs& msrs) { msrs_ = &msrs; }
  std::uint64_t tsc() override { return msrs_->tsc(); }
  bool has_core_cycles() const override { return true; }
  std::uint64_t core_cycles() override { return clock_.now(); }

 private:
  const machine::Clock& clock_;
  const PcMsrs* msrs_ = nullptr;
};

/// The 8254 raises IRQ0 of the 8259 pair, whose INTR the local APIC looks at.
class Irq0 : public TimedDevice {
 public:
  Irq0(Pit& pit, LocalApic& apic) : pit_(pit), apic_(apic) {}
  std::uint64_t deadline() const override { return pit_.deadline(); }
  void clock_moved() override {
    pit_.clock_moved();
    apic_.update_line();
  }

 private:
  Pit& pit_;
  LocalApic& apic_;
};

/// Writes to the 8259 pair may raise or drop INTR.
class PicPorts : public PortDevice {
 public:
  PicPorts(Pic& pic, LocalApic& apic) : pic_(pic), apic_(apic) {}
  std::uint8_t in(std::uint16_t port) override { return pic_.in(port); }
  void out(std::uint16_t port, std::uint8_t value) override {
    pic_.out(port, value);
    apic_.update_line();
  }

 private:
  Pic& pic_;
  LocalApic& apic_;
};

}  // namespace

class Pc::Impl : public InterruptSource,
                 public ServiceHook,
                 public CpuPins,
                 public SystemPins,
                 public MonitorPins,
                 public pmu::PmiSink {
 public:
  Impl(PcConfig config, PhysicalMemory memory)
      : config_(std::move(config)),
        memory_(std::move(memory)),
        pit_(clock_, pic_),
        local_apic_(*this, clock_, pic_,
                    {.x2apic = config_.cpu->x2apic,
                     .tsc_deadline = config_.cpu->tsc_deadline,
                     .pmi_masks = config_.cpu->vendor == arch::Vendor::Intel}),
        io_apic_(local_apic_),
        cmos_(clock_, memory_.size()),
        fw_cfg_(memory_.size()),
        serial_(config_.serial),
        system_ports_(*this, pit_),
        pic_ports_(pic_, local_apic_),
        irq0_(pit_, local_apic_),
        bus_(memory_, ports_, local_apic_, io_apic_),
        pmu_clock_(clock_),
        pmu_(*config_.cpu, ds_memory_, *this, pmu_clock_, config_.quirks),
        msrs_(*config_.cpu, clock_, local_apic_, pmu_),
        cpuid_(*config_.cpu, config_.quirks, local_apic_),
        feed_(pmu_, clock_) {
    ports_.add(pic_ports_, 0x20, 0x21);
    ports_.add(pic_ports_, 0xA0, 0xA1);
    ports_.add(pit_, 0x40, 0x43);
    ports_.add(cmos_, 0x70, 0x71);
    ports_.add(monitor_ports_, MonitorPorts::kDebugExit, MonitorPorts::kInject);
    ports_.add(serial_, SerialPort::kCom1, SerialPort::kCom1 + 7);
    ports_.add(fw_cfg_, 0x510, 0x511);
    system_ports_.add_to(ports_);
    cpu_ = std::make_unique<Vcpu>(Vcpu::Around{bus_, *this, msrs_, cpuid_, feed_});
    bus_.set_cpu(*cpu_);
    ds_memory_.set_cpu(*cpu_);
    vector_registers_.set_cpu(*cpu_);
    pmu_clock_.set_msrs(msrs_);
    msrs_.set_cpu(*cpu_);
    feed_.set_cpu(*cpu_);
    feed_.add_timer(irq0_);
    feed_.add_timer(local_apic_);
    feed_.set_trace(config_.trace);
    feed_.on_init([this] { local_apic_.init(); });
    pmu_.set_vector_registers(&vector_registers_);
  }

  // ---- booting
  void install_bios() {
    bios_.emplace(memory_, ports_, disk_ ? &*disk_ : nullptr,
                  [this](std::uint64_t physical, std::uint64_t bytes) { cpu_->memory_written(physical, bytes); });
    bios_->install();
    cpu_->set_service_range(kBios, Bios::kServices, this);
    ports_.out(0x43, 1, 0x36);  // counter 0 as BIOSes leave it: 18.2 times a second, mode 3
    ports_.out(0x40, 1, 0);
    ports_.out(0x40, 1, 0);
  }

  void boot_disk(DiskImage disk) {
    disk_.emplace(std::move(disk));
    install_bios();
    (void)memory_.write(kBootSector, disk_->read(0, 1));
    CpuState state = CpuState::after_reset();
    for (Segment& segment : std::span(state.segments).first<kLdtr>()) {
      segment.selector = 0;
      segment.base = 0;
    }
    state.rip = kBootSector;
    state.gpr[kRdx] = disk_->drive();
    state.gpr[kRsp] = kBootSector;
    state.rflags = 0x202;
    cpu_->set_state(state);
    cpu_->memory_written(kBootSector, kSectorBytes);
  }

  Result<void> boot_kernel(const MultibootInput& input) {
    install_bios();
    const auto kernel = load_multiboot(input, memory_);
    if (!kernel) return kernel.error();
    CpuState state = CpuState::after_reset();
    constexpr std::uint16_t kFlatData = 0xC093, kFlatCode = 0xC09B;  // G, D/B, present, S, read/write or execute/read
    for (Segment& segment : std::span(state.segments).first<kLdtr>()) {
      segment = {.selector = 0x10, .attributes = kFlatData, .limit = 0xFFFFFFFF, .base = 0};
    }
    state.segments[kCs] = {.selector = 0x08, .attributes = kFlatCode, .limit = 0xFFFFFFFF, .base = 0};
    state.cr0 |= 1;
    state.rip = kernel->entry;
    state.gpr.fill(0);
    state.gpr[kRax] = kernel->magic;
    state.gpr[kRbx] = kernel->info;
    state.rflags = 2;
    cpu_->set_state(state);
    cpu_->memory_written(0, memory_.size());
    return {};
  }

  // ---- running
  PcStop run(std::uint64_t instructions) {
    unsigned fruitless = 0;
    for (;;) {
      const std::uint64_t before = cpu_->retired();
      if (before >= instructions) return {PcStopKind::Limit, 0, 0, {}};
      const Stop stop = cpu_->run(instructions - before);
      if (ending_) return *ending_;
      if (cpu_->retired() != before) fruitless = 0;
      switch (stop.kind) {
        case StopKind::Limit: return {PcStopKind::Limit, 0, 0, {}};
        case StopKind::Requested: continue;  // a device wanted to be heard; it said nothing that ends the run
        case StopKind::Breakpoint: return {PcStopKind::Breakpoint, 0, stop.address, {}};
        case StopKind::Watchpoint: return {PcStopKind::Watchpoint, 0, stop.address, {}};
        case StopKind::TripleFault: return {PcStopKind::TripleFault, 0, 0, stop.detail};
        case StopKind::Unsupported: return {PcStopKind::Unsupported, 0, 0, stop.detail};
        case StopKind::Halted: {
          const std::uint64_t deadline = feed_.next_deadline();
          if (!stop.interrupts_enabled || deadline == kNever || ++fruitless > kFruitlessWakeups) {
            return {PcStopKind::Idle, 0, 0, "halted"};
          }
          if (deadline > clock_.now()) clock_.advance(deadline - clock_.now());
          feed_.run_timers();
          continue;
        }
        case StopKind::JumpToItself:
          if (!something_can_interrupt(stop.interrupts_enabled)) {
            return {PcStopKind::Idle, 0, 0, "a branch to itself"};
          }
          continue;
      }
    }
  }

  PcStop step() { return run(cpu_->retired() + 1); }

  bool something_can_interrupt(bool interrupts_enabled) const {
    if (interrupts_enabled && feed_.next_deadline() != kNever) return true;
    const bool pmi = local_apic_.pmi_unmasked() && (interrupts_enabled || !local_apic_.pmi_is_maskable());
    if (!pmi) return false;
    const pmu::Elapsed time = pmu_.time_headroom(pmu::ring_of(cpu_->cpl()));
    constexpr std::uint64_t kNoCounter = std::uint64_t{1} << 50;
    return pmu_.wants_branches() || !pmu_.lanes(pmu::ring_of(cpu_->cpl())).empty() ||
           std::min({time.core, time.reference, time.bus}) < kNoCounter;
  }

  void end(PcStop stop) {
    if (!ending_) ending_ = std::move(stop);
    cpu_->stop();
  }

  // ---- what the CPU asks
  std::optional<std::uint8_t> acknowledge() override { return local_apic_.acknowledge(); }
  std::uint8_t task_priority() override { return local_apic_.task_priority(); }
  void set_task_priority(std::uint8_t priority) override { local_apic_.set_task_priority(priority); }

  void service(Vcpu& cpu, unsigned number) override {
    BiosCall call;
    const auto word = [&cpu](Gpr reg) { return static_cast<std::uint16_t>(cpu.gpr(reg)); };
    call.ax = word(kRax);
    call.bx = word(kRbx);
    call.cx = word(kRcx);
    call.dx = word(kRdx);
    call.si = word(kRsi);
    call.di = word(kRdi);
    call.bp = word(kRbp);
    call.ds = cpu.segment(kDs).selector;
    call.es = cpu.segment(kEs).selector;
    const std::uint64_t frame = cpu.segment(kSs).base + ((word(kRsp) + 4u) & 0xFFFF);  // IP, CS, FLAGS
    call.flags = memory_.load<std::uint16_t>(frame);
    const BiosCall before = call;
    bios_->service(number, call);
    const auto put = [&cpu](Gpr reg, std::uint16_t value) {
      cpu.set_gpr(reg, (cpu.gpr(reg) & ~std::uint64_t{0xFFFF}) | value);
    };
    put(kRax, call.ax);
    put(kRbx, call.bx);
    put(kRcx, call.cx);
    put(kRdx, call.dx);
    if (call.flags != before.flags) {
      memory_.store(frame, call.flags);
      cpu.memory_written(frame, 2);
    }
  }

  // ---- pins
  void interrupt_line(bool up) override {
    if (cpu_) cpu_->set_interrupt_line(up);  // the APIC powers up before the CPU is there
  }
  void nmi() override { cpu_->request_nmi(); }
  void smi() override { cpu_->request_smi(); }
  void init() override { cpu_->request_init(); }
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
  void request_pmi() override {
    if (config_.pmi_requested) config_.pmi_requested();
    local_apic_.request_pmi();
  }

  PcConfig config_;
  PhysicalMemory memory_;
  machine::Clock clock_;
  Pic pic_;
  Pit pit_;
  LocalApic local_apic_;
  IoApic io_apic_;
  Cmos cmos_;
  FwCfg fw_cfg_;
  SerialPort serial_;
  MonitorPorts monitor_ports_{*this};
  SystemPorts system_ports_;
  PicPorts pic_ports_;
  Irq0 irq0_;
  PortMap ports_;
  PcBus bus_;
  DsMemory ds_memory_;
  PmuVectorRegisters vector_registers_;
  PmuClock pmu_clock_;
  pmu::Pmu pmu_;
  PcMsrs msrs_;
  PcCpuid cpuid_;
  RetirementFeed feed_;
  std::unique_ptr<Vcpu> cpu_;
  std::optional<DiskImage> disk_;
  std::optional<Bios> bios_;
  std::optional<PcStop> ending_;
};

Result<std::unique_ptr<Pc>> Pc::make(PcConfig config) {
  auto memory = PhysicalMemory::make(config.memory_bytes);
  if (!memory) return memory.error();
  if (config.cpu == nullptr) config.cpu = &arch::default_cpu_model();
  return std::unique_ptr<Pc>(new Pc(std::move(config), std::move(memory).value()));
}

Pc::Pc(PcConfig config, PhysicalMemory memory) : impl_(std::make_unique<Impl>(std::move(config), std::move(memory))) {}
Pc::~Pc() = default;

void Pc::boot_disk(DiskImage disk) { impl_->boot_disk(std::move(disk)); }
Result<void> Pc::boot_kernel(const MultibootInput& input) { return impl_->boot_kernel(input); }
PcStop Pc::run(std::uint64_t instructions) { return impl_->run(instructions); }
PcStop Pc::step() { return impl_->step(); }
Vcpu& Pc::cpu() { return *impl_->cpu_; }
PhysicalMemory& Pc::memory() { return impl_->memory_; }
pmu::Pmu& Pc::pmu() { return impl_->pmu_; }
const Clock& Pc::clock() const { return impl_->clock_; }
std::uint64_t Pc::retired() const { return impl_->cpu_->retired(); }

}  // namespace zs::machine
