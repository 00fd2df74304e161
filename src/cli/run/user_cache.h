// The folders below $XDG_CACHE_HOME/zeroskid (~/.cache/zeroskid where that is not set): what can be made again, and is
// kept because that takes time.
#pragma once

#include <cstdint>
#include <string>

namespace zs::cli {

/// "" where neither $XDG_CACHE_HOME nor $HOME names a folder.
std::string user_cache();

/// Where translations are kept if nobody says otherwise (engine/cache/translation_cache.h). Made if it is not there; ""
/// where that cannot be.
std::string translations_folder();

/// What is kept there now.
struct KeptTranslations {
  std::string folder;    // "": there is no place for it
  std::string unusable;  // why nothing can be kept there; "": it can
  std::uint64_t files = 0, bytes = 0;
};
KeptTranslations kept_translations();

/// Makes `folder` and those above it, as far as they are not there, for the user alone. Silent: who needs it sees
/// whether it is there.
void make_private_folder(const std::string& folder);

/// What keeps a folder from being used for translations: "" if nothing does. It is a folder, ours, and open to nobody
/// else.
std::string unusable_because(const std::string& folder);

}  // namespace zs::cli
