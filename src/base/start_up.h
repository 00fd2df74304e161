// The first pages of a program, made present all at once. Where a page fault costs 13 us (virtual machines without
// nested paging in hardware), those of a start are most of what a short command takes.
#pragma once

namespace zs {

/// What malloc gives out first. At the beginning of main(); what comes before it has its own: zs_start, the entry of
/// both programs, makes the pages of their files present and goes on as C programs start.
void populate_heap();

/// What malloc gives out from here on lies in large pages, where the host has some: one fault for 2 MiB. For a process
/// that is about to use many of them.
void use_large_heap_pages();

/// The code and constants of this program's file, in a forked child: a fork leaves out pages of files that nobody has
/// written to.
void populate_code();

}  // namespace zs
