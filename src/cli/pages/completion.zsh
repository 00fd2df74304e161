#compdef zeroskid zs
# zsh completion for zeroskid @VERSION@, made from its options

# The names that `zeroskid list` has.
_zeroskid_names() {
  local what=$1
  local -a names model
  local i
  shift
  for ((i = 2; i < CURRENT - 1; i++)) {
    [[ $words[i] == (--cpu|--model) ]] && model=(--model ${(q)words[i+1]})
  }
  names=(${(f)"$(_call_program names ${(q)_zeroskid_command} list --names $model "$@" 2>/dev/null)"})
  _values -s , $what ${names//:/\\:}
}
_zeroskid_events() { _zeroskid_names event }
_zeroskid_metrics() { _zeroskid_names metric metrics }
_zeroskid_models() {
  local -a names
  names=(${(f)"$(_call_program names ${(q)_zeroskid_command} list models --names 2>/dev/null)"} host)
  _describe -t models 'CPU model' names
}
@FUNCTIONS@

_zeroskid() {
  local _zeroskid_command=$words[1] run
  local -a verbs
  verbs=(@VERBS@ 'help:Say more of one verb')
  if ((CURRENT == 2)); then
    if [[ $PREFIX == -* ]]; then
      _arguments '--help[What there is]' '--version[Which zeroskid this is]'
    else
      _describe -t verbs verb verbs
    fi
    return
  fi
  shift words
  ((CURRENT--))
  if [[ $words[1] == help ]]; then
    ((CURRENT == 2)) && _describe -t verbs verb verbs
    return
  fi
  run=_zeroskid_verb_$words[1]
  (($+functions[$run])) && $run
}

_zeroskid "$@"
