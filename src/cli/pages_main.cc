// zeroskid-pages FOLDER: writes the man pages and the shells' completions there. The build runs it; nobody else needs
// to.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "cli/pages/verb_pages.h"

namespace {

/// returns whether the file is whole
bool write(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) std::fprintf(stderr, "zeroskid-pages: %s: cannot write\n", path.c_str());
  return static_cast<bool>(file);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: zeroskid-pages FOLDER\n");
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  const auto pages = zs::cli::verb_pages();
  bool whole = write(folder / "man/zeroskid.1", zs::cli::man_page(pages));
  whole = write(folder / "man/zs.1", ".so man1/zeroskid.1\n") && whole;  // its short name
  for (const auto& page : zs::cli::all_verb_pages())
    whole = write(folder / "man" / (zs::cli::man_name(page.table) + ".1"), zs::cli::man_page(page)) && whole;
  whole = write(folder / "completions/zeroskid.bash", zs::cli::bash_completion(pages)) && whole;
  whole = write(folder / "completions/_zeroskid", zs::cli::zsh_completion(pages)) && whole;
  whole = write(folder / "completions/zeroskid.fish", zs::cli::fish_completion(pages)) && whole;
  return whole ? 0 : 1;
}
