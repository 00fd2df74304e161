// libZydis, as it lies on the machine that builds. ZEROSKID_ZYDIS names the file (zydis/dependencies.cmake).
.section .rodata
.globl zs_zydis, zs_zydis_end
.balign 16
zs_zydis: .incbin ZEROSKID_ZYDIS
zs_zydis_end:
.section .note.GNU-stack, "", @progbits
