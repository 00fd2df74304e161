#include "pmu/pebs_record.h"

#include <cstring>
#include <span>

#include "base/check.h"

namespace zs::pmu {

using arch::PebsDataCfg;
using arch::PebsFormat;
using arch::RegisterFile;

namespace {

/// Outside 64-bit code the upper halves are 0, and so are the registers that it does not have.
RegisterFile cut_to_32_bits(const RegisterFile& r) {
  const auto low = [](std::uint64_t value) { return value & 0xFFFF'FFFF; };
  RegisterFile cut;
  cut.flags = low(r.flags);
  cut.ip = low(r.ip);
  cut.ax = low(r.ax);
  cut.bx = low(r.bx);
  cut.cx = low(r.cx);
  cut.dx = low(r.dx);
  cut.si = low(r.si);
  cut.di = low(r.di);
  cut.bp = low(r.bp);
  cut.sp = low(r.sp);
  return cut;
}

}  // namespace

template <WireLayout T>
void PebsRecord::append(const T& value) {
  CHECK(bytes_.size() - size_ >= sizeof value);
  std::memcpy(bytes_.data() + size_, &value, sizeof value);
  size_ += sizeof value;
}

Bytes PebsRecord::lay_out(const arch::PebsShape& shape, const PebsContent& content, bool code64, const LbrStack& lbr,
                          VectorRegisters* registers) {
  size_ = 0;
  if (shape.layout == arch::DsLayout::Words32) return lay_out_32(content);
  if (code64) {
    return arch::is_adaptive(shape.format)
               ? lay_out_adaptive(shape.groups, content.after, content, lbr, registers)
               : lay_out_fixed(arch::record_size(shape.format), shape.format, content.after, content);
  }
  const RegisterFile after = cut_to_32_bits(content.after);
  return arch::is_adaptive(shape.format) ? lay_out_adaptive(shape.groups, after, content, lbr, registers)
                                         : lay_out_fixed(arch::record_size(shape.format), shape.format, after, content);
}

Bytes PebsRecord::lay_out_fixed(std::size_t size, PebsFormat format, const RegisterFile& after,
                                const PebsContent& content) {
  arch::PebsV1& v1 = fixed_.v2.v1;  // every field that is not 0 for ever is written each time
  v1.v0.registers = after;
  v1.status = format >= PebsFormat::V3 ? content.counters : content.status;
  v1.data_address = content.data_address;
  v1.data_source = content.data_source;
  v1.latency = content.latency;
  fixed_.v2.eventing_ip = content.eventing_ip;
  fixed_.tsc = content.tsc;
  return std::as_bytes(std::span{&fixed_, 1}).first(size);
}

Bytes PebsRecord::lay_out_32(const PebsContent& content) {
  const RegisterFile& r = content.after;
  const auto low = [](std::uint64_t value) { return static_cast<std::uint32_t>(value); };
  append(arch::Pebs32{low(r.flags), low(r.ip), low(r.ax), low(r.bx), low(r.cx), low(r.dx), low(r.si), low(r.di),
                      low(r.bp), low(r.sp)});
  return Bytes{bytes_}.first(size_);
}

Bytes PebsRecord::lay_out_adaptive(PebsDataCfg groups, const RegisterFile& after, const PebsContent& content,
                                   const LbrStack& lbr, VectorRegisters* registers) {
  constexpr std::uint64_t kGroups =
      PebsDataCfg::memory.mask | PebsDataCfg::gprs.mask | PebsDataCfg::xmms.mask | PebsDataCfg::lbrs.mask;
  const std::uint64_t size = arch::adaptive_size(groups);
  append(arch::PebsBasic{.format_size = (groups.raw() & kGroups) | size << 48,
                         .ip = content.eventing_ip,
                         .counters = content.counters,
                         .tsc = content.tsc});
  if (groups.has(PebsDataCfg::memory)) {
    append(arch::PebsMemory{
        .address = content.data_address, .source = content.data_source, .latency = content.latency, .transaction = 0});
  }
  if (groups.has(PebsDataCfg::gprs)) append(arch::adaptive_order(after));
  if (groups.has(PebsDataCfg::xmms)) {
    arch::PebsXmms xmms{};
    if (registers != nullptr) registers->read_xmm(xmms.registers);
    append(xmms);
  }
  for (unsigned n = 0; n < arch::lbr_entries(groups); ++n) {
    const LbrStack::Entry entry = lbr.newest(n);
    append(arch::PebsLbr{.from = entry.from, .to = entry.to, .info = entry.info});
  }
  CHECK(size_ == size);
  return Bytes{bytes_}.first(size_);
}

}  // namespace zs::pmu
