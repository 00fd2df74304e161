// Starts a program inside zeroskid-run, with everything it has from its caller unchanged: standard streams, folder,
// environment, signal dispositions, limits. Besides, it inherits two descriptors with high numbers: the socket to the
// collector and the recording's configuration.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/run/own_signals.h"
#include "session/settings/config.h"

namespace zs::cli {

struct Launched {
  pid_t pid = -1;
  int socket = -1;  // the collector's end; SOCK_SEQPACKET; the caller closes it
};

/// The path of another program of zeroskid's: beside this executable, or in ../libexec/zeroskid; "": it is not there.
std::string find_own_program(const std::string& name);
/// The path of zeroskid-run: $ZEROSKID_RUN, or where it is by that.
Result<std::string> find_runner();

/// What a program is started with: RunSettings::kept_variables of ours; if not all, some with fixed values, too.
std::vector<std::string> environment(std::string_view kept);

/// config   its first_private_fd is moved to where the limits on descriptors ask for it
/// program  path of the file; argv[0] may be another name
Result<Launched> launch(session::RecordingConfig config, const std::string& runner, const std::string& program,
                        const std::vector<std::string>& argv, const OwnSignals& signals);

}  // namespace zs::cli
