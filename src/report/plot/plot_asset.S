// The script and the style of the plot page (src/report/plot_page/made), as plot_html.cc puts them into every page.
.section .rodata
.globl zs_plot_page_script, zs_plot_page_script_end, zs_plot_page_style, zs_plot_page_style_end
zs_plot_page_script: .incbin "report/plot_page/made/page.js"
zs_plot_page_script_end:
zs_plot_page_style: .incbin "report/plot_page/made/page.css"
zs_plot_page_style_end:
.section .note.GNU-stack, "", @progbits
