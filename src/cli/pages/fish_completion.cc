#include "cli/command/words.h"
#include "cli/pages/written_pages.h"

namespace zs::cli {
namespace {

constexpr const char* kFunctions = R"fish(
# The verb, and behind it, once the program has begun, the place of its word.
function __zeroskid_place
    set -l words (commandline -opc)
    set -q words[2]; or return
    set -l verb $words[2]
    set -l i 3
    if contains -- $verb $__zeroskid_nested
        set -q words[3]; or return
        set verb "$verb $words[3]"
        set i 4
    end
    echo $verb
    set -l with_value (__zeroskid_with_value $verb)
    while test $i -le (count $words)
        switch $words[$i]
            case --
                echo (math $i + 1)
                return
            case '-*=*'
            case '-*'
                contains -- $words[$i] $with_value; and set i (math $i + 1)
            case '*'
                echo $i
                return
        end
        set i (math $i + 1)
    end
end

function __zeroskid_needs_verb
    test (count (commandline -opc)) -eq 1
end

function __zeroskid_needs_verb_of
    set -l words (commandline -opc)
    test (count $words) -eq 2 -a "$words[2]" = $argv[1]
end

# Options of a verb: until its program begins. $argv: the verb, and `program` if it runs one
function __zeroskid_at
    set -l place (__zeroskid_place)
    test "$place[1]" = $argv[1]; or return
    not set -q place[2]; or test "$argv[2]" != program
end

function __zeroskid_program
    set -l place (__zeroskid_place)
    set -l words (commandline -opc) (commandline -ct)
    set -l at (count $words)
    if set -q place[2]
        set at $place[2]
    else if string match -q -- '-*' $words[-1]
        return
    end
    complete -C "$words[$at..-1]"
end

# The words of a list separated by commas, each behind what stands before the last comma.
function __zeroskid_list
    set -l before (string replace -r '^--[^=]*=' '' -- (commandline -ct) | string match -r '^.*,')
    set -q before[1]; or set before ''
    printf '%s\n' $before$argv
end

function __zeroskid_names
    set -l words (commandline -opc)
    set -l model
    for i in (seq 2 (math (count $words) - 1))
        contains -- $words[$i] --cpu --model; and set model --model $words[(math $i + 1)]
    end
    $words[1] list --names $model $argv 2>/dev/null
end

function __zeroskid_models
    set -l words (commandline -opc)
    $words[1] list --names models 2>/dev/null
end

)fish";

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out + "'";
}

/// What `complete` is told of a value.
std::string arguments_of(const Offer& offer) {
  static constexpr const char* kTexts[] = {"-x",
                                           "-x -a ",
                                           "-r -F",
                                           "-x -a '(__zeroskid_list (__zeroskid_names))'",
                                           "-x -a '(__zeroskid_list (__zeroskid_names metrics))'",
                                           "-x -a '(__zeroskid_models) host'"};  // by Offer::Kind
  std::string text = kTexts[static_cast<std::size_t>(offer.kind)];
  const std::string words = joined(offer.words);
  if (offer.kind != Offer::Kind::Words) return text;
  return text + quoted(offer.list ? "(__zeroskid_list " + words + ")" : words);
}

/// complete -c zeroskid -n '__zeroskid_at ...'
std::string line_for(const std::string& condition) { return "complete -c zeroskid -n " + quoted(condition) + " "; }

std::string lines_of(const VerbPage& page) {
  const OptionTable& table = page.table;
  std::string text;
  for (const VerbPage& part : page.parts) {
    text += line_for("__zeroskid_needs_verb_of " + table.verb) + "-a " + part.verb->name + " -d " +
            quoted(part.verb->summary) + "\n";
  }
  const bool program = table.operand == "PROGRAM";
  const std::string at = "__zeroskid_at \"" + table.verb + "\"";
  const std::string condition = at + (program ? " program" : "");
  for (const OptionRow& row : table.options) {
    text += line_for(condition);
    for (const std::string& name : row.names)
      text += name.starts_with("--") ? "-l " + name.substr(2) + " " : "-s " + name.substr(1) + " ";
    if (!row.value.empty() && !row.value_may_be_left_out) text += arguments_of(offer_for(table, row.value)) + " ";
    text += "-d " + quoted(row.help) + "\n";
  }
  if (program) {
    text += line_for(at) + "-a '(__zeroskid_program)'\n";
  } else if (const Offer offer = offer_for(table, table.operand); offer.kind == Offer::Kind::Files) {
    text += line_for(at) + "-F\n";
  } else if (offer.kind == Offer::Kind::Events) {
    text += line_for(at) + "-a '(__zeroskid_names) metrics models'\n";
  }
  return text;
}

std::string with_value_case(const VerbPage& page) {
  std::vector<std::string> names;
  for (const OptionRow& row : page.table.options) {
    if (!row.value.empty() && !row.value_may_be_left_out) names.insert(names.end(), row.names.begin(), row.names.end());
  }
  if (names.empty()) return "";
  return "        case '" + page.table.verb + "'\n            printf '%s\\n' " + joined(names) + "\n";
}

}  // namespace

std::string fish_completion(const std::vector<VerbPage>& pages) {
  std::string lines, cases, nested;
  for (const VerbPage& page : pages) {
    lines += line_for("__zeroskid_needs_verb") + "-a " + page.verb->name + " -d " + quoted(page.verb->summary) + "\n";
    if (!page.parts.empty()) nested += std::string(" ") + page.verb->name;
  }
  for (const VerbPage& page : pages)
    lines += line_for("__zeroskid_needs_verb_of help") + "-a " + page.verb->name + "\n";
  lines += line_for("__zeroskid_needs_verb") + "-a help -d 'Say more of one verb'\n";
  lines += line_for("__zeroskid_needs_verb") + "-l help -d 'What there is'\n";
  lines += line_for("__zeroskid_needs_verb") + "-l version -d 'Which zeroskid this is'\n";
  for (const VerbPage& page : pages) {
    for (const VerbPage& part : page.parts) {
      lines += lines_of(part);
      cases += with_value_case(part);
    }
    lines += lines_of(page);
    cases += with_value_case(page);
  }
  return "# fish completion for zeroskid " ZEROSKID_VERSION ", made from its options\n\nset -g __zeroskid_nested" +
         nested +
         "\n\n# Options of the verb that take the next word for their value.\nfunction __zeroskid_with_value\n" +
         "    switch \"$argv\"\n" + cases + "    end\nend\n" + kFunctions +
         "complete -c zs -w zeroskid\ncomplete -c zeroskid -f\n" + lines;
}

}  // namespace zs::cli
