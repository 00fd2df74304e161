// `zeroskid boot --demo`: guests that are part of the program, each shown beside what the manual promises.
#pragma once

namespace zs::cli {

struct BootPlan;

/// returns the exit status: 0 if every guest did what is promised
int run_boot_demo(const BootPlan& plan);

}  // namespace zs::cli
