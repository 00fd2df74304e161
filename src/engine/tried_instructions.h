// Instructions that not every machine executes: each is tried once, where somebody asks.
#pragma once

namespace zs::engine {

extern "C" {
/// returns whether it executes here; needs the engine's signal handlers
bool zs_runs_rdgsbase();
bool zs_runs_rdtsc();
/// A system call: some kernels have no emulation of IA-32.
bool zs_runs_int80();
extern const char zs_runs_rdgsbase_fault, zs_runs_rdgsbase_end;
extern const char zs_runs_rdtsc_fault, zs_runs_rdtsc_end;
extern const char zs_runs_int80_fault, zs_runs_int80_end;
}

}  // namespace zs::engine
