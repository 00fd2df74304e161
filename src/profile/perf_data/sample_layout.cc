#include "profile/perf_data/sample_layout.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace zs::profile {
namespace {

namespace field = perf::sample_field;

std::uint64_t bytes_of(std::uint64_t count, std::uint64_t size) {
  return count > UINT64_MAX / size ? UINT64_MAX : count * size;
}

/// `count` words into `out`, whose memory is reused; none if they are not there.
template <WireLayout T>
void read_into(ByteReader& in, std::uint64_t count, std::vector<T>& out) {
  out.clear();
  const Bytes here = in.take(bytes_of(count, sizeof(T)));
  if (here.empty()) return;
  out.resize(static_cast<std::size_t>(count));
  std::memcpy(out.data(), here.data(), here.size());
}

arch::BranchKind kind_of(std::uint64_t flags) {
  switch (static_cast<perf::BranchType>(flags >> perf::branch_flag::type_shift & perf::branch_flag::type_mask)) {
    case perf::BranchType::Conditional: return arch::BranchKind::Conditional;
    case perf::BranchType::Unconditional: return arch::BranchKind::RelativeJump;
    case perf::BranchType::Indirect: return arch::BranchKind::IndirectJump;
    case perf::BranchType::Call: return arch::BranchKind::RelativeCall;
    case perf::BranchType::IndirectCall: return arch::BranchKind::IndirectCall;
    case perf::BranchType::Return: return arch::BranchKind::Return;
    case perf::BranchType::Syscall:
    case perf::BranchType::SysReturn:
    case perf::BranchType::ExceptionReturn:
    case perf::BranchType::Interrupt: return arch::BranchKind::Far;
    default: return arch::BranchKind::None;  // no type saved, or one that Retired does not tell apart
  }
}

/// Spreads the registers of `mask` over a file of all.
void fill(arch::RegisterFile& file, std::uint64_t mask, const std::vector<std::uint64_t>& values) {
  std::size_t next = 0;
  for (unsigned bit = 0; bit < 64 && next < values.size(); ++bit) {
    if ((mask >> bit & 1) == 0) continue;
    const std::uint64_t value = values[next++];
    if (bit < perf::kNamedRegisters && perf::kRegisterMembers[bit] != nullptr)
      file.*perf::kRegisterMembers[bit] = value;
  }
}

}  // namespace

void SampleLayout::read_counters(ByteReader& in, std::vector<SampleRecord::Counter>& counters) const {
  namespace format = perf::read_format;
  const auto wants = [this](std::uint64_t flag) { return (attr_.read_format & flag) != 0; };
  const std::uint64_t values = wants(format::group) ? in.read<std::uint64_t>() : 1;
  const std::uint64_t times = (wants(format::total_time_enabled) ? 1 : 0) + (wants(format::total_time_running) ? 1 : 0);
  const std::uint64_t per_value = 1 + (wants(format::id) ? 1 : 0) + (wants(format::lost) ? 1 : 0);
  in.skip(8 * times);
  ByteReader rows(in.take(bytes_of(values, 8 * per_value)));
  while (wants(format::id) && rows.remaining() != 0) {
    const auto value = rows.read<std::uint64_t>();
    counters.push_back({.id = rows.read<std::uint64_t>(), .value = value});
    rows.skip(wants(format::lost) ? 8 : 0);
  }
}

const char* SampleLayout::read_sample(ByteReader& in, std::uint16_t misc, SampleRecord& record) const {
  session::Sample& sample = record.sample;
  record.cpumode = misc & perf::misc::cpumode_mask;
  sample.exact_ip = (misc & perf::misc::exact_ip) != 0;
  sample.chain_end = static_cast<session::ChainEnd>((misc & perf::misc::chain_end_mask) >> perf::misc::chain_end_shift);

  in.skip(has(field::identifier) ? 8 : 0);
  sample.ip = has(field::ip) ? in.read<std::uint64_t>() : 0;
  sample.pid = has(field::tid) ? in.read<std::int32_t>() : 0;
  sample.tid = has(field::tid) ? in.read<std::int32_t>() : 0;
  sample.time_ns = has(field::time) ? in.read<std::uint64_t>() : 0;
  sample.address = has(field::address) ? in.read<std::uint64_t>() : 0;
  in.skip(has(field::id) ? 8 : 0);
  in.skip(has(field::stream_id) ? 8 : 0);
  sample.cpu = has(field::cpu) ? in.read<std::uint32_t>() : 0;
  in.skip(has(field::cpu) ? 4 : 0);
  sample.period = has(field::period) ? in.read<std::uint64_t>() : attr_.sample_period;
  if (!in.ok()) return "fixed part";

  record.counters.clear();
  if (has(field::read)) read_counters(in, record.counters);
  if (!in.ok()) return "counter values";

  sample.callchain.clear();
  record.callchain_with_marks.clear();
  if (has(field::callchain)) {
    read_into(in, in.read<std::uint64_t>(), record.callchain_with_marks);
    for (const std::uint64_t entry : record.callchain_with_marks) {
      if (entry < perf::kContextMax) sample.callchain.push_back(entry);
    }
  }
  if (!in.ok()) return "call chain";

  sample.raw.clear();
  if (has(field::raw)) {
    // u32 size, then that many bytes; perf chooses the size so that both together are a multiple of 8.
    const Bytes raw = in.take(in.read<std::uint32_t>());
    sample.raw.assign(raw.begin(), raw.end());
  }
  if (!in.ok()) return "raw data";

  sample.branches.clear();
  record.branch_flags.clear();
  record.branch_prediction_known = false;
  if (has(field::branch_stack)) {
    const auto count = in.read<std::uint64_t>();
    in.skip((attr_.branch_sample_type & perf::branch_filter::hardware_index) != 0 ? 8 : 0);
    const std::uint64_t fitting = std::min<std::uint64_t>(count, in.remaining() / sizeof(perf::BranchEntry));
    for (std::uint64_t i = 0; i < fitting; ++i) {
      const auto entry = in.read<perf::BranchEntry>();
      session::SampledBranch branch;
      branch.from = entry.from;
      branch.to = entry.to;
      branch.mispredicted = (entry.flags & perf::branch_flag::mispredicted) != 0;
      branch.cycles = static_cast<std::uint16_t>(entry.flags >> perf::branch_flag::cycles_shift);
      branch.kind = kind_of(entry.flags);
      branch.speculation = static_cast<arch::BranchSpeculation>(entry.flags >> perf::branch_flag::speculation_shift &
                                                                perf::branch_flag::speculation_mask);
      sample.branches.push_back(branch);
      record.branch_flags.push_back(entry.flags);
      if ((entry.flags & (perf::branch_flag::mispredicted | perf::branch_flag::predicted)) != 0) {
        record.branch_prediction_known = true;
      }
    }
    in.skip(bytes_of(count - fitting, sizeof(perf::BranchEntry)));
    if ((attr_.branch_sample_type & perf::branch_filter::counters) != 0) in.skip(bytes_of(count, 8));
  }
  if (!in.ok()) return "branch stack";

  const auto read_registers = [&in](std::uint64_t mask, std::uint64_t& abi, std::vector<std::uint64_t>& values) {
    abi = in.read<std::uint64_t>();
    read_into(in, abi != 0 ? static_cast<std::uint64_t>(std::popcount(mask)) : 0, values);
  };
  sample.has_registers = false;
  sample.registers = {};
  record.user_registers_abi = 0;
  record.user_registers.clear();
  if (has(field::regs_user)) {
    read_registers(attr_.sample_regs_user, record.user_registers_abi, record.user_registers);
    sample.has_registers = record.user_registers_abi != 0;
    fill(sample.registers, attr_.sample_regs_user, record.user_registers);
  }
  if (!in.ok()) return "user registers";

  sample.user_stack.clear();
  if (has(field::stack_user)) {
    const auto size = in.read<std::uint64_t>();
    const Bytes stack = in.take(size);
    const std::uint64_t real = size != 0 ? in.read<std::uint64_t>() : 0;
    if (real > size) in.fail("says that more of it is real than there is");
    if (in.ok()) sample.user_stack.assign(stack.begin(), stack.begin() + static_cast<std::ptrdiff_t>(real));
  }
  if (!in.ok()) return "stack";

  sample.latency = has(field::weight) ? in.read<std::uint64_t>() : 0;
  sample.instruction_latency = 0;
  if (has(field::weight_struct)) {
    const auto weight = in.read<perf::Weight>();
    sample.latency = weight.access;
    sample.instruction_latency = weight.instruction;
  }
  sample.data_source = has(field::data_source) ? in.read<std::uint64_t>() : 0;
  in.skip(has(field::transaction) ? 8 : 0);
  if (!in.ok()) return "weight and data source";

  record.interrupt_registers_abi = 0;
  record.interrupt_registers.clear();
  if (has(field::regs_intr)) {
    read_registers(attr_.sample_regs_intr, record.interrupt_registers_abi, record.interrupt_registers);
    sample.has_registers = sample.has_registers || record.interrupt_registers_abi != 0;
    fill(sample.registers, attr_.sample_regs_intr, record.interrupt_registers);
  }
  if (!in.ok()) return "registers";

  record.physical_address = has(field::physical_address) ? in.read<std::uint64_t>() : 0;
  in.skip(has(field::cgroup) ? 8 : 0);
  in.skip(has(field::data_page_size) ? 8 : 0);
  in.skip(has(field::code_page_size) ? 8 : 0);
  if (has(field::aux)) in.skip(in.read<std::uint64_t>());
  return in.ok() ? nullptr : "last part";
}

std::size_t SampleLayout::trailer_bytes() const {
  if ((attr_.flags & perf::attr_flag::sample_id_all) == 0) return 0;
  std::size_t bytes = 0;
  for (const std::uint64_t part :
       {field::tid, field::time, field::id, field::stream_id, field::cpu, field::identifier}) {
    if (has(part)) bytes += 8;
  }
  return bytes;
}

Trailer SampleLayout::read_trailer(ByteReader& in) const {
  Trailer trailer;
  if (trailer_bytes() == 0) return trailer;
  if (has(field::tid)) {
    trailer.pid = in.read<std::int32_t>();
    trailer.tid = in.read<std::int32_t>();
  }
  if (has(field::time)) trailer.time_ns = in.read<std::uint64_t>();
  if (has(field::id)) trailer.id = in.read<std::uint64_t>();
  in.skip(has(field::stream_id) ? 8 : 0);
  if (has(field::cpu)) {
    trailer.cpu = in.read<std::uint32_t>();
    in.skip(4);
  }
  if (has(field::identifier)) trailer.id = in.read<std::uint64_t>();
  return trailer;
}

std::optional<std::size_t> SampleLayout::id_offset_in_sample() const {
  if (has(field::identifier)) return 0;
  if (!has(field::id)) return std::nullopt;
  std::size_t offset = 0;
  for (const std::uint64_t before : {field::ip, field::tid, field::time, field::address}) offset += has(before) ? 8 : 0;
  return offset;
}

std::optional<std::size_t> SampleLayout::id_offset_from_end() const {
  if (trailer_bytes() == 0) return std::nullopt;
  if (has(field::identifier)) return 8;
  if (!has(field::id)) return std::nullopt;
  std::size_t offset = 8;
  for (const std::uint64_t after : {field::stream_id, field::cpu}) offset += has(after) ? 8 : 0;
  return offset;
}

}  // namespace zs::profile
