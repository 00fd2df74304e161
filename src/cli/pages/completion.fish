# fish completion for zeroskid @VERSION@, made from its options

set -g __zeroskid_nested@NESTED@

# Options of the verb that take the next word for their value.
function __zeroskid_with_value
    switch "$argv"
@CASES@
    end
end

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

complete -c zs -w zeroskid
complete -c zeroskid -f
@LINES@
