// `zeroskid mem`: two verbs of its own.
#pragma once

namespace zs::cli {

// argv[0] is "record" or "report"; each returns the exit status.
int run_mem_record(int argc, char** argv);
int run_mem_report(int argc, char** argv);

}  // namespace zs::cli
