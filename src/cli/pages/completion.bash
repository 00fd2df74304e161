# bash completion for zeroskid @VERSION@, made from its options

_zeroskid_verbs='@VERBS@'

# Sets options, operand and values of the verb $1.
_zeroskid_table() {
  case $1 in
@CASES@
  esac
}

# The names that `zeroskid list` has, of the CPU model that was typed.
_zeroskid_names() {
  local i model=()
  for ((i = 1; i < ${#words[@]} - 2; i++)); do
    [[ ${words[i]} == --cpu || ${words[i]} == --model ]] && model=(--model "${words[i + 1]}")
  done
  "${words[0]/#\~/$HOME}" list --names "${model[@]}" "$@" 2>/dev/null
}

# $1: what is typed so far; $2: the words, or @files and its like, with a comma before it where several are taken
_zeroskid_reply() {
  local typed=$1 offer=$2 before= skipped
  [[ $offer == ,* ]] && before=${typed%"${typed##*,}"} typed=${typed##*,} offer=${offer#,}
  case $offer in
    @files) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$typed"); return ;;
    @commands) mapfile -t COMPREPLY < <(compgen -c -- "$typed" | sort -u; compgen -A directory -S / -- "$typed"); return ;;
    @events)
      if [[ $typed == *:* ]]; then
        offer="${typed%%:*}:p ${typed%%:*}:pp ${typed%%:*}:ppp ${typed%%:*}:u"
      else
        offer=$(_zeroskid_names)
      fi ;;
    @metrics) offer=$(_zeroskid_names metrics) ;;
    @models) offer="$("${words[0]/#\~/$HOME}" list models --names 2>/dev/null) host" ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$offer" -P "$before" -- "$typed")
  # Readline's word begins behind the last ':' or '='.
  skipped=${1%"${1##*[:=]}"}
  [[ $COMP_WORDBREAKS == *:* ]] || skipped=
  [[ -n $skipped ]] && COMPREPLY=("${COMPREPLY[@]#"$skipped"}")
  [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
  return 0
}

# The program and its arguments: as if zeroskid were not there.
_zeroskid_program() {
  local at=$1 i
  if ((at == ${#words[@]} - 1)); then
    _zeroskid_reply "${words[at]}" @commands
    return
  fi
  if declare -F _command_offset >/dev/null; then
    for ((i = at; i <= COMP_CWORD; i++)); do
      [[ ${COMP_WORDS[i]} == "${words[at]}" ]] && { _command_offset "$i"; return; }
    done
  fi
  _zeroskid_reply "${words[-1]}" @files
}

_zeroskid() {
  local line=${COMP_LINE:0:COMP_POINT} words cur verb last i=2 word options= operand= value=
  local -A values=()
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  last=$((${#words[@]} - 1)) cur=${words[-1]} verb=${words[1]-} COMPREPLY=()
  ((last == 1)) && { _zeroskid_reply "$cur" "$_zeroskid_verbs help --help --version"; return; }
  [[ $verb == help ]] && { ((last == 2)) && _zeroskid_reply "$cur" "$_zeroskid_verbs"; return; }
  _zeroskid_table "$verb"
  if [[ $operand == verbs ]]; then
    ((last == 2)) && { _zeroskid_reply "$cur" "$options --help"; return; }
    verb+=" ${words[2]}" i=3 options= operand=
    _zeroskid_table "$verb"
  fi
  for (( ; i < last; i++)); do
    word=${words[i]}
    case $word in
      --) [[ $operand == @program ]] && { _zeroskid_program $((i + 1)); return; } ;;
      -*=*) ;;
      -?*)
        [[ -n ${values[$word]+known} ]] || continue
        ((++i == last)) && { _zeroskid_reply "$cur" "${values[$word]}"; return; } ;;
      *) [[ $operand == @program ]] && { _zeroskid_program "$i"; return; } ;;
    esac
  done
  if [[ $cur == --*=* ]]; then
    word=${cur%%=*} value=${values[$word]-${values[$word=]-}}
    cur=${cur#*=}
    _zeroskid_reply "$cur" "$value"
  elif [[ $cur == -* ]]; then
    _zeroskid_reply "$cur" "$options"
  elif [[ $operand == @program ]]; then
    _zeroskid_program "$last"
  elif [[ -n $operand ]]; then
    _zeroskid_reply "$cur" "$operand"
  fi
}

complete -F _zeroskid zeroskid zs
