// The scripts of completions, one behind the other, as verb_pages.cc fills them.
.section .rodata
.globl zs_completion_bash, zs_completion_fish, zs_completion_zsh, zs_completion_end
zs_completion_bash: .incbin "cli/pages/completion.bash"
zs_completion_fish: .incbin "cli/pages/completion.fish"
zs_completion_zsh: .incbin "cli/pages/completion.zsh"
zs_completion_end:
.section .note.GNU-stack, "", @progbits
