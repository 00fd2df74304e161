// Words for the person at the terminal, on stderr. A closed stderr is no reason to stop.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/command/exit_status.h"

namespace zs::cli {

/// Writes `text` to a descriptor, whole if it can. It waits where a descriptor that does not wait is full: a program
/// that has it too may have made it one.
/// returns  whether all of it is written
bool write_all(int descriptor, std::string_view text);

/// The exit status of a verb that ended with `status`: a failure, which is said, if what write_all() had for stdout did
/// not get there.
int status_with_stdout(int status);

/// Prose: on a terminal, in lines that fit it.
bool write_prose(int descriptor, std::string_view text);

/// "zeroskid: TEXT" on a line of its own.
void say(std::string_view text);

/// "zeroskid: MESSAGE", then "hint: HINT" if there is one.
/// returns  whether it is written: stderr may be on the disk that is full
bool say(const Error& error);

/// Says it, and returns what a verb that has failed, or was used wrongly, ends with.
int failed(const Error& error, int status = kToolFailed);
int refused(const Error& error);

/// 9.8 MB, 512 B.
std::string byte_size(std::uint64_t bytes);

}  // namespace zs::cli
