// Listens on 127.0.0.1 for one gdb, and serves it until it leaves or the PC is done.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "machine/gdb/session.h"
#include "machine/pc.h"

namespace zs::machine::gdb {

/// port       0: any free one
/// listening  called with the port once gdb may connect
/// returns    how the PC stopped; Limit if gdb killed it
Result<PcStop> serve(Pc& pc, std::uint64_t limit, std::uint16_t port, Registers registers,
                     const std::function<void(std::uint16_t)>& listening);

}  // namespace zs::machine::gdb
